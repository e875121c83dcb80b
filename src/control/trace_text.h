#pragma once

// A trace context as it lies in a message, and as text in the form of the W3C header `traceparent`.

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/types.h>

#include "shm/extension.h"

namespace beeline::control {

// The trace context as it lies in a message.
[[nodiscard]] inline TraceContext trace_of(const shm::Extension& extension) {
  static_assert(sizeof(TraceContext) == shm::kTraceBytes);
  TraceContext trace;
  std::memcpy(&trace, extension.trace, sizeof(trace));
  return trace;
}
inline void set_trace(shm::Extension& extension, const TraceContext& trace) {
  std::memcpy(extension.trace, &trace, sizeof(trace));
}

// 00-TRACE-SPAN-FLAGS in hexadecimal digits; empty for an empty one.
[[nodiscard]] std::string to_text(const TraceContext& trace);

// The context that such a text names, an empty one for an empty text; nothing if the text is
// wrong.
[[nodiscard]] std::optional<TraceContext> parse_trace(std::string_view text);

}  // namespace beeline::control
