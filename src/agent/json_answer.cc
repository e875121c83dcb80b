#include "src/agent/json_answer.h"

#include "src/control/wire.h"

namespace beeline {

// dump() throws where a text is no UTF-8; its words name the byte.
Result<std::string> text_of_request(ServiceCall call, const nlohmann::json& json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: a text of the request is no UTF-8 ({}); nothing was sent",
                            call.type, error.what()));
  }
}

std::optional<Error> refusal_in(ServiceCall call, const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("error")) return std::nullopt;
  const nlohmann::json& error = json["error"];
  const auto text = [&error](const char* key) {
    const bool there = error.is_object() && error.contains(key) && error[key].is_string();
    return there ? error[key].get<std::string>() : std::string();
  };
  std::string words = text("text");
  if (words.empty())
    words = fmt::format("{} refused {} and gave no reason", call.service, call.type);
  return Error{control::error_code_from(text("code")), 0, std::move(words)};
}

void JsonAnswer::read(const char* key, std::string& to) {
  const nlohmann::json* const at = find(key, "a text");
  if (at == nullptr) return;
  if (!at->is_string()) return refuse(key, "a text", at);
  to = *at->get_ptr<const std::string*>();
}

void JsonAnswer::read(const char* key, bool& to) {
  const nlohmann::json* const at = find(key, "true or false");
  if (at == nullptr) return;
  if (!at->is_boolean()) return refuse(key, "true or false", at);
  to = at->get<bool>();
}

const nlohmann::json& JsonAnswer::list(const char* key) {
  static const nlohmann::json none = nlohmann::json::array();
  const nlohmann::json* const at = find(key, "a list");
  if (at == nullptr) return none;
  if (at->is_array()) return *at;
  refuse(key, "a list", at);
  return none;
}

const nlohmann::json* JsonAnswer::find(const char* key, std::string_view wanted) {
  const auto at = json_.is_object() ? json_.find(key) : json_.end();
  if (json_.is_object() && at != json_.end()) return &*at;
  refuse(key, wanted, nullptr);
  return nullptr;
}

void JsonAnswer::refuse(const char* key, std::string_view wanted, const nlohmann::json* found) {
  constexpr std::size_t kMostShown = 40;
  if (!error_.empty()) return;
  std::string shown = "nothing";
  if (found != nullptr && found->is_structured()) {
    // dump() takes stack for each level, and the levels may be a hostile peer's.
    shown = found->is_array() ? "a list" : "an object";
  } else if (found != nullptr) {
    shown =
        found->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, kMostShown);
  }
  error_ = fmt::format("\"{}\" must be {}, it is {}", key, wanted, shown);
}

}  // namespace beeline
