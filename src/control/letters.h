#pragma once

// Dead letters as tools ask for them. Those of an agent lie in its home, which it alone writes: a
// question is passed on to it and waits for its word. Those of agents that ended for good are held
// here.

#include <cstdint>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

/// Questions that wait for one agent at one time.
inline constexpr std::size_t kMaxLetterTickets = 8;

/// Passes the question on, or answers it at once where it is about letters that are held here.
/// Errors: kInvalid, kNoAgent, kPeerDead, kDenied, kFull.
[[nodiscard]] Result<void> ask_letters(Hive& hive, const Caller& caller, std::uint64_t seq,
                                       const LettersRequest& request);

/// An agent says what it did: answers the tool that waits for it, if it still does.
void finish_letters(Hive& hive, const Caller& caller, const LettersDoneRequest& request);

/// A connection has ended, or speaks for no agent any more: whoever asked over it waits no longer,
/// and whoever waits for an agent behind it is told.
void forget_session(Hive& hive, std::uint64_t session);

/// Errors: kDenied.
[[nodiscard]] Result<void> list_kept_letters(Hive& hive, const Caller& caller, std::uint64_t seq,
                                             const KeptLettersRequest& request);
/// Errors: kDenied, kInvalid (no such letter), kSystem.
[[nodiscard]] Result<void> show_kept_letter(Hive& hive, const Caller& caller, std::uint64_t seq,
                                            const KeptLetterRequest& request);

}  // namespace beeline::control
