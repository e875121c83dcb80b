#include "src/control/trace_text.h"

#include <charconv>
#include <span>

#include <fmt/format.h>

namespace beeline::control {
namespace {

constexpr std::string_view kVersion = "00";

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Takes a dash and one byte for each of `places`. False if they are missing.
bool take_bytes(std::string_view& text, std::span<std::uint8_t> places) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  for (std::uint8_t& place : places) {
    const char* end = text.data() + 2;
    if (text.size() < 2 || std::from_chars(text.data(), end, place, 16).ptr != end) return false;
    text.remove_prefix(2);
  }
  return true;
}

}  // namespace

std::string to_text(const TraceContext& trace) {
  if (trace.empty()) return {};
  return fmt::format("{}-{}-{}-{:02x}", kVersion, hex_of(trace.trace_id), hex_of(trace.span_id),
                     trace.flags);
}

std::optional<TraceContext> parse_trace(std::string_view text) {
  TraceContext trace;
  if (text.empty()) return trace;
  if (!text.starts_with(kVersion)) return std::nullopt;
  text.remove_prefix(kVersion.size());
  const bool good = take_bytes(text, trace.trace_id) && take_bytes(text, trace.span_id) &&
                    take_bytes(text, std::span(&trace.flags, 1)) && text.empty();
  return good ? std::optional(trace) : std::nullopt;
}

}  // namespace beeline::control
