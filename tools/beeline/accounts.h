#pragma once

// The balance of every inbox of a hive, seen from outside: what senders have published for it, and
// where each of those messages is now. Copies of segments are read, nothing is mapped, taken or
// written, and an agent need not have a process.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/registry.h>
#include <beeline/result.h>

#include "src/control/client.h"
#include "tools/shm_dump/source.h"

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
  std::uint64_t aside = 0;   ///< of the queued: answers that nobody waits for, orders to cancel
  /// When the oldest message was sent, on CLOCK_MONOTONIC: of those that wait to be handed out, and
  /// of those that are handed out. No segment says when a message was handed out.
  std::optional<std::int64_t> oldest_waiting_ns;
  std::optional<std::int64_t> oldest_in_hand_ns;
  std::string unreadable;  ///< why no number of it can be read from here; empty: they are read
  bool moving = false;     ///< it does not add up because it changed during each of many looks

  [[nodiscard]] std::uint64_t accounted() const noexcept {
    return in_lanes + queued + leased + done + dead + purged;
  }
  [[nodiscard]] bool is_readable() const noexcept { return unreadable.empty(); }
  [[nodiscard]] bool balanced() const noexcept { return is_readable() && accepted == accounted(); }
  /// Those that nobody has been handed yet, in the lanes and in the inbox.
  [[nodiscard]] std::uint64_t waiting() const noexcept { return in_lanes + queued - aside; }
  friend bool operator==(const Account&, const Account&) = default;
};

struct HiveAccounts {
  std::vector<Account> inboxes;  ///< by pid; of the finally dead until they are taken over
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;        ///< allocated, not merely addressed
  std::map<Pid, std::uint64_t> bytes_of;  ///< of them: in segments that the agent owns
  std::string hidden;  ///< why not every segment is visible from here; empty: all are

  [[nodiscard]] std::size_t unreadable() const noexcept;
  /// Why accounts or segments cannot be read from here; empty: all can.
  [[nodiscard]] std::string why_unreadable() const;
  /// Null if that agent has no inbox.
  [[nodiscard]] const Account* find(Pid pid) const noexcept;
};

/// How long a look at accounts may take.
struct Patience {
  int looks = 16;  ///< that found every segment, until every account adds up
  std::chrono::nanoseconds missing = dump::kKeeperPatience;  ///< for a segment that is not found
};

/// Looks until every account adds up: one look at a running agent is not of one instant. A segment
/// that the coordinator knows of and the keeper does not hold yet is waited for. An agent of which
/// a segment stays missing, or is damaged, is unreadable. Errors: kNoCoordinator, kDenied (segments
/// of another user or another pid namespace), kSystem, and those of every call of the client.
[[nodiscard]] Result<HiveAccounts> read_accounts(control::Client& client, std::string_view hive,
                                                 const Patience& patience = {});

/// The accounts of agents where no segment can be read: all are unreadable for that reason.
[[nodiscard]] HiveAccounts unreadable_accounts(const std::vector<control::ListedAgent>& agents,
                                               const std::string& reason);

}  // namespace beeline::cli
