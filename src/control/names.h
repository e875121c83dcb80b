#pragma once

#include <cstddef>
#include <string_view>

#include <beeline/result.h>

namespace beeline::control {

inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxHiveBytes = 48;

/// What means a named queue, as a target; the rest of the text is the name of the queue.
inline constexpr std::string_view kQueuePrefix = "queue:";

/// Whether a text is UTF-8: what is no UTF-8 would be changed on its way to the coordinator. `role`
/// says what the text is. Errors: kInvalid with the first byte that is wrong.
[[nodiscard]] Result<void> check_utf8(std::string_view role, std::string_view text);

/// The name of an agent is 1 to 64 bytes of UTF-8, of characters that can be seen, with blanks
/// between them alone and without '/'. It does not begin as that of a queue, and is no number: that
/// always means a pid. Errors: kInvalid, saying what is wrong with it, with byte and code point.
[[nodiscard]] Result<void> check_agent_name(std::string_view name);

/// Whether a text may mean somebody to send to. Errors: kInvalid (no UTF-8); kNoRoute for a named
/// queue, of which this version has none.
[[nodiscard]] Result<void> check_target(std::string_view target);

/// The name of a hive is 1 to 48 of A-Z a-z 0-9 . _ - and starts with no dot: it names a directory.
/// Errors: kInvalid.
[[nodiscard]] Result<void> check_hive_name(std::string_view name);

}  // namespace beeline::control
