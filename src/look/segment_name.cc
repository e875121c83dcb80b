#include "src/look/segment_name.h"

#include <charconv>

namespace beeline::look {
namespace {

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes "-<number>".
template <typename T>
bool take_number(std::string_view& text, T& out) {
  if (!take_prefix(text, "-")) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_number(std::string_view& text, shm::Incarnation& out) {
  std::uint64_t number = 0;
  if (!take_number(text, number)) return false;
  out = shm::Incarnation(number);
  return true;
}

}  // namespace

std::optional<SegmentName> parse_segment_name(std::string_view text, std::string_view hive) {
  if (!take_prefix(text, "beeline-") || !take_prefix(text, hive)) return std::nullopt;
  SegmentName name;
  bool good = false;
  if (take_prefix(text, "-home")) {
    name.kind = shm::SegmentKind::kHome;
    good = take_number(text, name.pid) && take_number(text, name.incarnation);
  } else if (take_prefix(text, "-status")) {
    name.kind = shm::SegmentKind::kStatus;
    good = take_number(text, name.pid) && take_number(text, name.incarnation);
  } else if (take_prefix(text, "-link")) {
    name.kind = shm::SegmentKind::kLink;
    good = take_number(text, name.pid) && take_number(text, name.incarnation) &&
           take_number(text, name.serial) && take_number(text, name.peer_pid);
  } else if (take_prefix(text, "-history")) {
    name.kind = shm::SegmentKind::kHistory;
    good = take_number(text, name.pid) && take_number(text, name.incarnation);
  } else if (take_prefix(text, "-directory")) {
    name.kind = shm::SegmentKind::kDirectory;
    good = take_number(text, name.incarnation);
  }
  if (!good || !text.empty()) return std::nullopt;
  return name;
}

std::string_view short_segment_name(std::string_view name) {
  constexpr std::string_view kPrefix = "beeline-";
  if (!name.starts_with(kPrefix)) return name;
  for (const std::string_view kind : {"-home-", "-status-", "-link-", "-directory-", "-history-"}) {
    const std::size_t at = name.rfind(kind);
    if (at == std::string_view::npos || at < kPrefix.size()) continue;
    const std::string_view hive = name.substr(kPrefix.size(), at - kPrefix.size());
    if (parse_segment_name(name, hive)) return name.substr(at + 1);
  }
  return name;
}

std::string_view memfd_name(std::string_view target) {
  if (!take_prefix(target, "/memfd:")) return {};
  constexpr std::string_view kDeleted = " (deleted)";
  if (target.ends_with(kDeleted)) target.remove_suffix(kDeleted.size());
  return target;
}

}  // namespace beeline::look
