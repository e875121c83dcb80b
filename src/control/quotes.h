#pragma once

#include <string>
#include <string_view>

namespace beeline::control {

// A text for a log line (as a logfmt value) or an error text: in quotes, with quotes and
// backslashes escaped, and everything that a terminal would obey or an editor would hide: control
// characters, marks of direction and formatting, bytes that are not UTF-8. Every text from another
// process must pass through it.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace beeline::control
