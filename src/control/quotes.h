#pragma once

#include <string>
#include <string_view>

namespace beeline::control {

/// A text for a log line (as a logfmt value) or an error text: in quotes, with quotes and
/// backslashes escaped, and all that a terminal would obey or an editor would hide: control
/// characters, marks of direction and formatting, bytes that are no UTF-8. A text that others have
/// written goes nowhere without it.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace beeline::control
