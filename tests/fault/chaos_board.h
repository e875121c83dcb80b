#pragma once
// Who acts in the chaos test, and what its agents and their director share.
//
//   queen 0 - leads 1..4 - workers 5..16 (three of each lead) - tasks 17..31 (one or two of each)
//
// Parent and child write to each other, so do siblings but the tasks; each worker writes to the
// queen and to a worker of another branch as well.

#include <array>

#include "tests/fault/ledger.h"
#include "tests/support/payload.h"

namespace beeline::test {

inline constexpr std::uint32_t kAgents = 32;
inline constexpr std::uint32_t kFirstLead = 1;
inline constexpr std::uint32_t kFirstWorker = 5;
inline constexpr std::uint32_t kFirstTask = 17;
static_assert(kAgents <= kMaxPlayers);

// They are stopped but never killed: what grows in an agent shows in them.
inline constexpr std::array<std::uint32_t, 3> kElders{2, 8, 20};

[[nodiscard]] constexpr const char* role_of(std::uint32_t agent) {
  if (agent < kFirstLead) return "agent";
  if (agent < kFirstWorker) return "lead";
  return agent < kFirstTask ? "worker" : "task";
}

// REQUIRES: it is not the queen.
[[nodiscard]] constexpr std::uint32_t parent_of(std::uint32_t agent) {
  if (agent < kFirstWorker) return 0;
  if (agent < kFirstTask) return kFirstLead + (agent - kFirstWorker) / 3;
  return kFirstWorker + (agent - kFirstTask) % (kFirstTask - kFirstWorker);
}

[[nodiscard]] constexpr bool writes(std::uint32_t from, std::uint32_t to) {
  if (from == to) return false;
  if (from != 0 && parent_of(from) == to) return true;
  if (to != 0 && parent_of(to) == from) return true;
  if (from == 0 || to == 0) return to == 0 && from < kFirstTask;
  if (from >= kFirstTask || to >= kFirstTask) return false;
  if (parent_of(from) == parent_of(to)) return true;
  constexpr std::uint32_t kWorkers = kFirstTask - kFirstWorker;
  return from >= kFirstWorker && to == kFirstWorker + (from - kFirstWorker + 3) % kWorkers;
}

// Links between agents that have all opened what they write to: a pair has one each way.
[[nodiscard]] constexpr std::size_t links_of_all() {
  std::size_t count = 0;
  for (std::uint32_t a = 0; a < kAgents; ++a) {
    for (std::uint32_t b = 0; b < kAgents; ++b) count += writes(a, b) || writes(b, a) ? 1 : 0;
  }
  return count;
}

inline constexpr std::int32_t kRanks = 4;

// What a message is follows from its number, so that its receiver knows it too.
[[nodiscard]] constexpr std::int32_t rank_of(std::uint64_t sequence) {
  const std::uint64_t random = mix(sequence);
  return random % 16 == 0 ? 0 : 1 + static_cast<std::int32_t>((random >> 8) % (kRanks - 1));
}

// Durations that several processes write down.
class Samples {
 public:
  void add(std::int64_t ns) {
    us_[count_.fetch_add(1) % kKept].store(static_cast<std::uint32_t>(ns / 1'000));
  }
  [[nodiscard]] std::vector<std::uint32_t> us() const {
    const std::uint64_t kept = count_.load() < kKept ? count_.load() : kKept;
    return {us_, us_ + kept};
  }

 private:
  static constexpr std::size_t kKept = 1 << 17;
  std::atomic<std::uint64_t> count_;
  std::atomic<std::uint32_t> us_[kKept];
};

struct ChaosBoard {
  std::uint64_t seed;
  std::atomic<std::uint32_t> lives;
  std::atomic<std::uint32_t> rest;  // 0: act; else nobody sends, and who has nothing left says so
  std::atomic<std::uint32_t> over;
  // So many messages may be sent by now from each to each: the load lasts as long as the kills.
  std::atomic<std::uint64_t> allowance;
  std::atomic<std::uint32_t> rests[kAgents];   // the rest for which it has nothing left
  std::atomic<std::uint32_t> joined[kAgents];  // since it was killed
  std::atomic<std::uint32_t> pids[kAgents];    // in the hive, 0 = has never joined
  std::atomic<std::int64_t> killed_ns[kAgents];
  Samples restarts;  // from the kill to the end of the successor's attach
  std::atomic<std::uint64_t> questions;
  std::atomic<std::uint64_t> answers;  // accepted
  std::atomic<std::uint64_t> copies;
  std::atomic<std::uint64_t> rejected;
  std::atomic<std::uint64_t> put_back;
  // 1 + the highest number of a rank that was handed out for the first time. Written by the
  // receiver.
  std::atomic<std::uint64_t> in_order[kAgents][kAgents][kRanks];
  Ledger ledger;
};

}  // namespace beeline::test
