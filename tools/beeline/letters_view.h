#pragma once

// Dead letters seen from outside: those in the homes of agents, and those that the coordinator
// holds for agents that have ended for good.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/client.h"
#include "tools/beeline/accounts.h"
#include "tools/beeline/inbox_view.h"

namespace beeline::cli {

struct LetterView {
  std::uint32_t to = 0;    // pid of the receiver
  std::string agent;       // its name
  bool held = false;       // by the coordinator: the receiver has ended for good
  std::uint32_t kept = 0;  // bytes of the payload that were kept
  InboxLine line;
};

struct Letters {
  std::vector<LetterView> list;
  std::size_t unreadable = 0;  // agents that may hold more, but cannot be read from here
  // Says so for the agents that were asked for, with the reason. Nothing if all were read.
  std::optional<Error> gap;
};

// The dead letters of `agent` (a name or a pid), or of all agents if it is empty. First come the
// letters of agents by pid, then those that the coordinator holds, in order of arrival. Errors:
// kNoAgent, kNoCoordinator, kDenied, kSystem, those of every call of the client.
[[nodiscard]] Result<Letters> find_letters(control::Client& client, std::string_view hive,
                                           const std::string& agent);
// The same, for accounts that were read already.
[[nodiscard]] Result<Letters> find_letters(control::Client& client, std::string_view hive,
                                           const std::string& agent, const HiveAccounts& accounts);

// The payload, as far as it was kept. Errors: kInvalid (it is gone), those of find_letters().
[[nodiscard]] Result<std::string> read_letter(control::Client& client, std::string_view hive,
                                              const LetterView& letter);

}  // namespace beeline::cli
