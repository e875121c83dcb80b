#pragma once

// The balance of every inbox of a hive, seen from outside: how many messages senders have published
// for it, and where each of them is now. It only reads copies of segments. It maps, takes and
// writes nothing, and an agent need not have a process.

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
#include "src/look/source.h"

namespace beeline::cli {

// accepted = in lanes + queued + tasks + leased + done + dead + purged.
struct Account {
  Pid pid = 0;
  std::string name;
  State state = State::kIdle;
  std::uint64_t accepted = 0;  // published by senders, earlier incarnations included
  std::uint64_t in_lanes = 0;  // not taken yet
  std::uint64_t queued = 0;
  std::uint64_t tasks = 0;  // tasks that wait
  std::uint64_t leased = 0;
  std::uint64_t done = 0;
  std::uint64_t dead = 0;    // dead letters that are kept
  std::uint64_t purged = 0;  // dead letters that the agent purged
  std::uint64_t aside = 0;   // of the queued: late answers, and orders to cancel
  // When the oldest message was sent, on CLOCK_MONOTONIC: the oldest that waits to be handed out,
  // and the oldest that is handed out. No segment records when a message was handed out.
  std::optional<std::int64_t> oldest_waiting_ns;
  std::optional<std::int64_t> oldest_in_hand_ns;
  std::string unreadable;  // why its figures cannot be read from here; empty: they can be read
  bool moving = false;     // it does not add up because it changed during each of several looks

  [[nodiscard]] std::uint64_t accounted() const noexcept {
    return in_lanes + queued + tasks + leased + done + dead + purged;
  }
  [[nodiscard]] bool is_readable() const noexcept { return unreadable.empty(); }
  [[nodiscard]] bool balanced() const noexcept { return is_readable() && accepted == accounted(); }
  // The messages that no handler has got yet, in the lanes and in the inbox.
  [[nodiscard]] std::uint64_t waiting() const noexcept { return in_lanes + queued - aside; }
  friend bool operator==(const Account&, const Account&) = default;
};

struct HiveAccounts {
  std::vector<Account> inboxes;  // sorted by pid; a dead agent is listed until its takeover ends
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;        // allocated, not merely addressed
  std::map<Pid, std::uint64_t> bytes_of;  // the part of them in segments that the agent owns
  std::string hidden;  // why some segments are not visible from here; empty: all are visible

  [[nodiscard]] std::size_t unreadable() const noexcept;
  // Why accounts or segments cannot be read from here; empty: all can be read.
  [[nodiscard]] std::string why_unreadable() const;
  // Null if that agent has no inbox.
  [[nodiscard]] const Account* find(Pid pid) const noexcept;
};

// How long a look at accounts may take.
struct Patience {
  int looks = 16;  // looks that found every segment, until every account adds up
  std::chrono::nanoseconds missing = look::kKeeperPatience;  // for a segment that is missing
};

// Looks until every account adds up, because one look at a running agent spans several instants.
// Waits for a segment that the coordinator knows and the keeper does not hold yet. An agent is
// unreadable if one of its segments stays missing or is damaged. Errors: kNoCoordinator, kDenied
// (segments of another user or another pid namespace), kSystem, and those of every call of the
// client.
[[nodiscard]] Result<HiveAccounts> read_accounts(control::Client& client, std::string_view hive,
                                                 const Patience& patience = {});

// The accounts of agents if no segment can be read: all are unreadable for that reason.
[[nodiscard]] HiveAccounts unreadable_accounts(const std::vector<control::ListedAgent>& agents,
                                               const std::string& reason);

}  // namespace beeline::cli
