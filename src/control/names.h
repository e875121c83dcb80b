#pragma once

#include <cstddef>
#include <string_view>

#include <beeline/result.h>

namespace beeline::control {

inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxHiveBytes = 48;

// Marks a named queue as a target; the rest of the text is the name of the queue.
inline constexpr std::string_view kQueuePrefix = "queue:";

// Checks that a text is UTF-8; any other text would be changed on its way to the coordinator.
// `role` says which text it is. Errors: kInvalid with the first wrong byte.
[[nodiscard]] Result<void> check_utf8(std::string_view role, std::string_view text);

// The name of an agent is 1 to 64 bytes of UTF-8. Its characters are visible, with blanks only
// between them and without '/'. It does not begin like that of a queue, and is not a number,
// because a number always means a pid. Errors: kInvalid, naming the fault with its byte and code
// point.
[[nodiscard]] Result<void> check_agent_name(std::string_view name);

// Checks that a text may mean an agent to send to. Errors: kInvalid (no UTF-8); kNoRoute for a
// named queue, because this version has none.
[[nodiscard]] Result<void> check_target(std::string_view target);

// The name of a hive is 1 to 48 of A-Z a-z 0-9 . _ - and starts with no dot: it names a directory.
// Errors: kInvalid.
[[nodiscard]] Result<void> check_hive_name(std::string_view name);

}  // namespace beeline::control
