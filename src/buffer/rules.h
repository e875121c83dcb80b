#pragma once

// The routing rules: pure values and functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/buffer/message.h"

namespace beeline::buffer {

// The place to which a batch goes. The numbers are not stored; the words are.
enum class Destination : std::uint8_t { kMain, kSpawn, kDrop };
[[nodiscard]] std::string_view to_string(Destination destination) noexcept;
[[nodiscard]] std::optional<Destination> destination_from(std::string_view word) noexcept;

// All keys that are set must hold.
struct Match {
  std::optional<std::string> channel{};  // of the batch
  std::optional<std::string> event{};    // some payload is exactly this text
  std::optional<std::string> action{};   // the field `action` of some payload that is JSON
  std::optional<std::string> from{};     // some sender is exactly this; "*" is any
};

// A destination with its words.
struct Action {
  Destination destination = Destination::kMain;
  std::string agent_template{};  // of a spawn
  std::string task{};            // of a spawn: its text, with {places} to fill
  friend bool operator==(const Action&, const Action&) = default;
};

struct Route {
  Match match{};
  Action action{};
  std::optional<std::int32_t> priority{};
};

struct Rules {
  std::vector<Route> routes{};  // the first that matches counts
  Destination fallback = Destination::kMain;
};

struct Decision {
  Action action{};
  std::optional<std::int32_t> priority{};
  std::size_t route = 0;  // counted from 1; 0: no rule matched
};

[[nodiscard]] Decision decide(const Rules& rules, const Group& group);

// The priority of a message on its route: its own, else that of the route, else that of the
// channel, which is stored with it.
[[nodiscard]] std::int32_t priority_on(const Decision& decision, const Message& message) noexcept;

// The text of a task. {x} and {{x}} are replaced by a field of the message (id, channel, sender,
// conversation, payload, received_at, priority), else by a text, a number or a flag of its payload;
// dots lead into objects. Any other one stays as it is.
[[nodiscard]] std::string task_text(std::string_view pattern, const Message& first);

}  // namespace beeline::buffer
