#pragma once

// A trace context as text, in the form of the W3C header `traceparent`.

#include <optional>
#include <string>
#include <string_view>

#include <beeline/types.h>

namespace beeline::control {

/// 00-TRACE-SPAN-FLAGS in hexadecimal digits; empty for an empty one.
[[nodiscard]] std::string to_text(const TraceContext& trace);

/// The context that such a text names, an empty one for an empty text; nothing if it names none.
[[nodiscard]] std::optional<TraceContext> parse_trace(std::string_view text);

}  // namespace beeline::control
