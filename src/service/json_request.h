#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include <beeline/result.h>

namespace beeline::service {

// A value of JSON takes stack for each level when it is written as text.
inline constexpr int kMaxRequestDepth = 64;
inline constexpr std::size_t kMaxRequestValues = 1'000'000;

// The JSON of a request of this type. No text is an empty object. Errors: kInvalid (no JSON, nested
// too deep, too many values).
[[nodiscard]] Result<nlohmann::json> parse_json_request(std::string_view type,
                                                        std::string_view text);

}  // namespace beeline::service
