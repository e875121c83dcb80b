// The place of a message in a distributed trace, as a `traceparent` text.

#include <charconv>
#include <cstring>
#include <span>
#include <string_view>

#include "bindings/python/core/send_options.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

// "00-" trace id "-" span id "-" flags
constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kSpanAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kLength = 55;
constexpr char kDigits[] = "0123456789abcdef";

bool read_hex(std::string_view text, std::span<std::uint8_t> into) {
  for (std::size_t at = 0; at < into.size(); ++at) {
    const char* first = text.data() + 2 * at;
    const auto [end, error] = std::from_chars(first, first + 2, into[at], 16);
    if (error != std::errc() || end != first + 2) return false;
  }
  return true;
}

void write_hex(std::span<const std::uint8_t> from, char* into) {
  for (std::size_t at = 0; at < from.size(); ++at) {
    into[2 * at] = kDigits[from[at] >> 4];
    into[2 * at + 1] = kDigits[from[at] & 15];
  }
}

bool parse(std::string_view text, beeline_trace* into) {
  if (text.size() != kLength || !text.starts_with("00-") || text[kSpanAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-') {
    return false;
  }
  return read_hex(text.substr(kTraceAt), into->trace_id) &&
         read_hex(text.substr(kSpanAt), into->span_id) &&
         read_hex(text.substr(kFlagsAt), {&into->flags, 1});
}

}  // namespace

bool read_trace(PyObject* from, beeline_trace* into) {
  const char* text = nullptr;
  std::size_t length = 0;
  if (!read_text(from, "trace", &text, &length)) return false;
  if (length == 0 || parse({text, length}, into)) return true;
  PyErr_Format(PyExc_ValueError,
               "trace is a `traceparent` text, 00-<32 digits>-<16 digits>-<2 digits> in base 16, "
               "not %R",
               from);
  return false;
}

PyObject* trace_text(const beeline_trace& trace) {
  constexpr beeline_trace kNone{};
  if (std::memcmp(trace.trace_id, kNone.trace_id, sizeof kNone.trace_id) == 0) {
    return PyUnicode_FromStringAndSize("", 0);
  }
  char text[] = "00-................................-................-..";
  static_assert(sizeof text == kLength + 1);
  write_hex(trace.trace_id, text + kTraceAt);
  write_hex(trace.span_id, text + kSpanAt);
  write_hex({&trace.flags, 1}, text + kFlagsAt);
  return PyUnicode_FromStringAndSize(text, kLength);
}

}  // namespace beeline::python
