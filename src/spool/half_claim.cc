#include "src/spool/half_claim.h"

#include <charconv>

#include <fmt/format.h>

namespace beeline::spool {
namespace {

constexpr std::string_view kEnd = ".json.";
constexpr std::string_view kTempEnd = ".json.tmp.";

// Takes the part behind the last dot off the text.
std::optional<std::string_view> take_last(std::string_view& text) {
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(dot + 1);
  text = text.substr(0, dot);
  return part;
}

template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const auto part = take_last(text);
  if (!part || part->empty()) return false;
  const auto [end, error] = std::from_chars(part->data(), part->data() + part->size(), number);
  return error == std::errc{} && end == part->data() + part->size();
}

}  // namespace

std::string HalfClaim::name() const {
  return fmt::format("{}{}{}.{}.{}.{}", id, kEnd, host_tag, process.pid, process.start, spool);
}
std::string HalfClaim::temp_name() const {
  return fmt::format("{}{}{}.{}.{}.{}", id, kTempEnd, host_tag, process.pid, process.start, spool);
}

std::optional<HalfClaim> HalfClaim::parse(std::string_view name) { return parse_as(name, kEnd); }
std::optional<HalfClaim> HalfClaim::parse_temp(std::string_view name) {
  return parse_as(name, kTempEnd);
}

std::optional<HalfClaim> HalfClaim::parse_as(std::string_view name, std::string_view end) {
  constexpr std::size_t kTagLength = 8;
  HalfClaim half;
  if (!take_number(name, half.spool) || !take_number(name, half.process.start) ||
      !take_number(name, half.process.pid)) {
    return std::nullopt;
  }
  if (name.size() < kTagLength) return std::nullopt;
  half.host_tag = name.substr(name.size() - kTagLength);
  name.remove_suffix(kTagLength);
  if (!name.ends_with(end)) return std::nullopt;
  half.id = name.substr(0, name.size() - end.size());
  return half;
}

}  // namespace beeline::spool
