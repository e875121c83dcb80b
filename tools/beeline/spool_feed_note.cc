#include "tools/beeline/spool_feed_note.h"

#include <beeline/spool.h>

namespace beeline::cli {

std::string FeedNote::text() const {
  Json json{{"home", home}, {"to", to}, {"after", id_text(after)}};
  if (message != 0) json["message"] = id_text(message);
  return json.dump();
}

std::optional<FeedNote> FeedNote::read(std::string_view text) {
  const Json json = object_in(text);
  if (!json.is_object()) return std::nullopt;
  FeedNote note;
  note.home = text_in(json, "home");
  if (json.contains("to") && json["to"].is_number_unsigned()) note.to = json["to"].get<Pid>();
  note.after = parse_id(text_in(json, "after")).value_or(0);
  note.message = parse_id(text_in(json, "message")).value_or(0);
  return note;
}

Json object_in(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return nullptr;
  bool is_deep = false;
  const auto look = [&is_deep](int depth, Json::parse_event_t, Json&) {
    is_deep = is_deep || depth > static_cast<int>(spool::kMostDepth);
    return !is_deep;
  };
  Json json = Json::parse(text, look, false);
  return is_deep || !json.is_object() ? Json(nullptr) : json;
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace beeline::cli
