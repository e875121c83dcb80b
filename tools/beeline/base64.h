#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace beeline::cli {

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Reads what to_base64() wrote; nothing if that cannot have written it.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace beeline::cli
