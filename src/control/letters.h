#pragma once

// Dead letters for tools. An agent's letters lie in its home, which only the agent writes: the
// coordinator passes a question on to it and waits for its word. The letters of agents that ended
// for good lie here.

#include <cstdint>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Most questions that may wait for one agent.
inline constexpr std::size_t kMaxLetterTickets = 8;

// Passes the question on, or answers it at once if the letters are held here. Errors: kInvalid,
// kNoAgent, kPeerDead, kDenied, kFull.
[[nodiscard]] Result<void> ask_letters(Hive& hive, const Caller& caller, std::uint64_t seq,
                                       const LettersRequest& request);

// Answers the tool that waits for this agent's word, if it still waits.
void finish_letters(Hive& hive, const Caller& caller, const LettersDoneRequest& request);

// A connection has ended, or speaks for no agent any more: drops its own questions, and tells the
// tools that wait for an agent behind it.
void forget_session(Hive& hive, std::uint64_t session);

// Errors: kDenied.
[[nodiscard]] Result<void> list_kept_letters(Hive& hive, const Caller& caller, std::uint64_t seq,
                                             const KeptLettersRequest& request);
// Errors: kDenied, kInvalid (no such letter), kSystem.
[[nodiscard]] Result<void> show_kept_letter(Hive& hive, const Caller& caller, std::uint64_t seq,
                                            const KeptLetterRequest& request);

}  // namespace beeline::control
