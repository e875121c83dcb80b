#pragma once

// Dead letters seen from outside: those in the homes of agents, and those that the coordinator
// holds for agents that have ended for good.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/client.h"
#include "tools/beeline/inbox_view.h"

namespace beeline::cli {

struct LetterView {
  std::uint32_t to = 0;    ///< pid of the receiver
  std::string agent;       ///< its name
  bool held = false;       ///< by the coordinator: the receiver has ended for good
  std::uint32_t kept = 0;  ///< bytes of the payload that are there
  InboxLine line;
};

/// The dead letters of `agent` (a name or a pid), or of everybody where it is empty: agents by pid,
/// then what the coordinator holds in the order in which it came. Errors: kNoAgent, kNoCoordinator,
/// kDenied, kSystem, those of every call of the client.
[[nodiscard]] Result<std::vector<LetterView>> find_letters(control::Client& client,
                                                           std::string_view hive,
                                                           const std::string& agent);

/// The payload, as far as it was kept. Errors: kInvalid (it is gone), those of find_letters().
[[nodiscard]] Result<std::string> read_letter(control::Client& client, std::string_view hive,
                                              const LetterView& letter);

}  // namespace beeline::cli
