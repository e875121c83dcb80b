#pragma once

#include <string>
#include <string_view>

namespace beeline::control {

/// A text for a log line (as a logfmt value) or an error text: in quotes, with quotes, backslashes
/// and control characters escaped. What others have written goes nowhere without it.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace beeline::control
