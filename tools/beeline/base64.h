#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace beeline::cli {

[[nodiscard]] std::string to_base64(std::string_view bytes);

// Decodes the output of to_base64(); nothing if `text` cannot be such output.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace beeline::cli
