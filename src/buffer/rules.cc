#include "src/buffer/rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace beeline::buffer {
namespace {

constexpr std::array<std::string_view, 3> kDestinationWords = {"main", "spawn", "drop"};

nlohmann::json parsed(const std::string& payload) {
  return nlohmann::json::parse(payload, nullptr, false);
}

bool has_action(const Message& message, const std::string& action) {
  const nlohmann::json payload = parsed(message.payload);
  if (!payload.is_object()) return false;
  const auto found = payload.find("action");
  return found != payload.end() && found->is_string() &&
         found->get_ref<const std::string&>() == action;
}

template <typename Predicate>
bool some(const Group& group, Predicate predicate) {
  return std::ranges::any_of(group.messages, predicate);
}

bool matches(const Match& match, const Group& group) {
  if (match.channel && *match.channel != group.channel) return false;
  if (match.from && *match.from != "*" &&
      !some(group, [&](const Message& message) { return message.sender == *match.from; })) {
    return false;
  }
  if (match.event &&
      !some(group, [&](const Message& message) { return message.payload == *match.event; })) {
    return false;
  }
  return !match.action ||
         some(group, [&](const Message& message) { return has_action(message, *match.action); });
}

// The field of a message that a place in a pattern names.
std::optional<std::string> own_field(std::string_view name, const Message& message) {
  if (name == "id") return std::to_string(message.id);
  if (name == "channel") return message.channel;
  if (name == "sender") return message.sender;
  if (name == "conversation") return message.conversation;
  if (name == "payload") return message.payload;
  if (name == "received_at") return message.received_at;
  if (name == "priority") return std::to_string(message.priority);
  return std::nullopt;
}

std::optional<std::string> payload_field(std::string_view path, const nlohmann::json& payload) {
  const nlohmann::json* at = &payload;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    if (!at->is_object()) return std::nullopt;
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end()) return std::nullopt;
    at = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  if (at->is_string()) return at->get<std::string>();
  // The writer of JSON calls itself for each level, and the sender chose how many there are.
  if (at->is_structured()) return std::nullopt;
  return at->dump();
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

// One {x} or {{x}} at the begin of a text.
struct Place {
  std::string_view whole{};
  std::string_view name{};
};

std::optional<Place> place_at(std::string_view text) {
  const bool is_double = text.starts_with("{{");
  const std::string_view close = is_double ? "}}" : "}";
  const std::size_t open = is_double ? 2 : 1;
  const std::size_t end = text.find(close, open);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view name = text.substr(open, end - open);
  while (is_double && name.starts_with(' ')) name.remove_prefix(1);
  while (is_double && name.ends_with(' ')) name.remove_suffix(1);
  if (!is_name(name)) return std::nullopt;
  return Place{text.substr(0, end + close.size()), name};
}

}  // namespace

std::string_view to_string(Destination destination) noexcept {
  return kDestinationWords[static_cast<std::size_t>(destination)];
}

std::optional<Destination> destination_from(std::string_view word) noexcept {
  const auto found = std::ranges::find(kDestinationWords, word);
  if (found == kDestinationWords.end()) return std::nullopt;
  return static_cast<Destination>(found - kDestinationWords.begin());
}

Decision decide(const Rules& rules, const Group& group) {
  for (std::size_t i = 0; i < rules.routes.size(); ++i) {
    const Route& route = rules.routes[i];
    if (matches(route.match, group)) return {route.action, route.priority, i + 1};
  }
  return {Action{.destination = rules.fallback}, std::nullopt, 0};
}

std::int32_t priority_on(const Decision& decision, const Message& message) noexcept {
  return message.is_explicit ? message.priority : decision.priority.value_or(message.priority);
}

std::string task_text(std::string_view pattern, const Message& first) {
  std::string text;
  std::optional<nlohmann::json> payload;
  while (!pattern.empty()) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    text += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty()) break;
    const auto place = place_at(pattern);
    if (!place) {
      text += pattern.front();
      pattern.remove_prefix(1);
      continue;
    }
    auto value = own_field(place->name, first);
    if (!value) {
      if (!payload) payload = parsed(first.payload);
      value = payload_field(place->name, *payload);
    }
    text += value ? std::string_view(*value) : place->whole;
    pattern.remove_prefix(place->whole.size());
  }
  return text;
}

}  // namespace beeline::buffer
