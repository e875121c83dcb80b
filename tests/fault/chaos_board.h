#pragma once
// The agents of the chaos test, and the state that they share with their director.
//
// queen 0 - leads 1..4 - workers 5..16 (three of each lead) - tasks 17..31 (one or two of each)
//
// Parent and child write to each other, and so do siblings except tasks. Each worker also writes to
// the queen and to a worker of another branch.

#include <array>

#include "tests/fault/ledger.h"
#include "tests/support/payload.h"

namespace beeline::test {

inline constexpr std::uint32_t kAgents = 32;
inline constexpr std::uint32_t kFirstLead = 1;
inline constexpr std::uint32_t kFirstWorker = 5;
inline constexpr std::uint32_t kFirstTask = 17;
static_assert(kAgents <= kMaxPlayers);

// They are stopped but never killed, so growth in an agent shows in them.
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

// Links after all agents have opened theirs: a pair has one each way.
[[nodiscard]] constexpr std::size_t links_of_all() {
  std::size_t count = 0;
  for (std::uint32_t a = 0; a < kAgents; ++a) {
    for (std::uint32_t b = 0; b < kAgents; ++b) count += writes(a, b) || writes(b, a) ? 1 : 0;
  }
  return count;
}

inline constexpr std::int32_t kRanks = 4;

// The number of a message determines its contents, so that its receiver knows them too.
[[nodiscard]] constexpr std::int32_t rank_of(std::uint64_t sequence) {
  const std::uint64_t random = mix(sequence);
  return random % 16 == 0 ? 0 : 1 + static_cast<std::int32_t>((random >> 8) % (kRanks - 1));
}

// Durations that several processes record.
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
  std::atomic<std::uint32_t> rest;  // 0: act; otherwise send nothing, and report once nothing is
                                    // left
  std::atomic<std::uint32_t> over;
  // How many messages each may have sent to each by now: the load lasts as long as the kills.
  std::atomic<std::uint64_t> allowance;
  std::atomic<std::uint32_t> rests[kAgents];   // the rest in which it had nothing left
  std::atomic<std::uint32_t> joined[kAgents];  // since it was killed
  std::atomic<std::uint32_t> pids[kAgents];    // in the hive, 0 = has never joined
  std::atomic<std::int64_t> killed_ns[kAgents];
  Samples restarts;  // from the kill to the end of the successor's attach
  std::atomic<std::uint64_t> questions;
  std::atomic<std::uint64_t> answers;  // accepted
  std::atomic<std::uint64_t> copies;
  std::atomic<std::uint64_t> rejected;
  std::atomic<std::uint64_t> put_back;
  // 1 + the highest number of a rank that was handed out for the first time. The receiver writes
  // it.
  std::atomic<std::uint64_t> in_order[kAgents][kAgents][kRanks];
  Ledger ledger;
};

}  // namespace beeline::test
