#pragma once

// The balance of every inbox of a hive, seen from outside: what senders have published for it, and
// where each of those messages is now. Copies of segments are read, nothing is mapped, taken or
// written, and an agent need not have a process.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/registry.h>
#include <beeline/result.h>

#include "src/control/client.h"

namespace beeline::cli {

/// accepted = in lanes + queued + leased + done + dead + purged.
struct Account {
  Pid pid = 0;
  std::string name;
  State state = State::kIdle;
  std::uint64_t accepted = 0;  ///< published by senders, lives before this one included
  std::uint64_t in_lanes = 0;  ///< not taken yet
  std::uint64_t queued = 0;
  std::uint64_t leased = 0;
  std::uint64_t done = 0;
  std::uint64_t dead = 0;    ///< dead letters that are kept
  std::uint64_t purged = 0;  ///< dead letters that were let go
  bool moving = false;       ///< it does not add up because it changed during each of many looks

  [[nodiscard]] std::uint64_t accounted() const noexcept {
    return in_lanes + queued + leased + done + dead + purged;
  }
  [[nodiscard]] bool balanced() const noexcept { return accepted == accounted(); }
  friend bool operator==(const Account&, const Account&) = default;
};

struct HiveAccounts {
  std::vector<Account> inboxes;  ///< by pid; of the finally dead until they are taken over
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;  ///< allocated, not merely addressed

  /// Null if that agent has no inbox.
  [[nodiscard]] const Account* find(Pid pid) const noexcept;
};

/// Looks until every account adds up, at most 16 times: one look at a running agent is not of one
/// instant. A segment that the coordinator knows of and the keeper does not hold yet is waited for,
/// up to 1 s. Errors: kNoCoordinator, kDenied (segments of another user), kSystem, and those of
/// every call of the client.
[[nodiscard]] Result<HiveAccounts> read_accounts(control::Client& client, std::string_view hive);

}  // namespace beeline::cli
