#pragma once

// A tool's questions about dead letters, over a connection that it holds.

#include <cstdint>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "src/control/client.h"

namespace beeline::control {

// Has letters put back or dropped, and returns how many. Waits for the agent, which answers at its
// next call; after kTimeout the agent does not act on the question any more. Sets `until_ns`.
// Errors beside those of every call: kInvalid (no such letter), kNoAgent, kPeerDead (no process,
// or it ended meanwhile), kDenied (the user), kFull (too many ask at once).
[[nodiscard]] Result<std::uint64_t> ask_letters(Client& client, LettersRequest request);

// All letters that the coordinator holds. Errors: kDenied (the user).
[[nodiscard]] Result<std::vector<KeptLetter>> list_kept_letters(Client& client);

struct WholeLetter : KeptLetter {
  std::string payload;  // the part that was kept
};

// One letter, whole. Errors: kInvalid (no such letter), kDenied (the user).
[[nodiscard]] Result<WholeLetter> read_kept_letter(Client& client,
                                                   const KeptLetterRequest& request);

}  // namespace beeline::control
