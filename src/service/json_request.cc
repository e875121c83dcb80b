#include "src/service/json_request.h"

#include <fmt/format.h>

#include "src/control/json_values.h"

namespace beeline::service {

Result<nlohmann::json> parse_json_request(std::string_view type, std::string_view text) {
  if (text.empty()) return nlohmann::json::object();
  const control::JsonShape shape = control::shape_of_json(text, kMaxRequestDepth);
  if (shape.depth > kMaxRequestDepth) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: the request nests deeper than {} levels; send such a value as a "
                            "text",
                            type, kMaxRequestDepth));
  }
  if (shape.commas >= kMaxRequestValues) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: the request has {} values, at most {}; send them as a text", type,
                            shape.commas + 1, kMaxRequestValues));
  }
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: the request is no JSON", type));
  }
  return json;
}

}  // namespace beeline::service
