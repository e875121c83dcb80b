#pragma once
// The fixture of tests that run a whole hive: a scratch hive, a board in shared memory, a troupe
// that plays roles as threads or as processes, and a watchdog.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <beeline/agent.h>

#include "tests/support/roles.h"
#include "tests/support/scratch_hive.h"
#include "tests/support/shared_memory.h"
#include "tests/support/troupe.h"
#include "tests/support/watchdog.h"

namespace beeline::test {

using namespace std::chrono_literals;

// For waits that end as soon as something happens. Generous, because it only bounds a failure.
inline constexpr auto kPatience = 60s;
[[nodiscard]] inline Deadline patience() { return after(kPatience); }

[[nodiscard]] AttachOptions named(const std::string& name, const std::string& parent = "");
// Attaches, or fails the test and returns nothing.
[[nodiscard]] std::optional<Agent> attach(const AttachOptions& options);
[[nodiscard]] std::optional<Agent> attach(const std::string& name, const std::string& parent = "");
// The peer of that name as soon as it is there. Fails the test at the deadline.
[[nodiscard]] Peer peer_of(Agent& agent, const std::string& name);
// The next message within the patience of a test; an invalid one fails the test.
[[nodiscard]] Message next_message(Agent& agent, const Filter& filter = {});
// drained = queued + leased + done + dead + purged.
void expect_balance(const Agent& agent);

// For every inbox of the hive, seen from outside as `beeline status` does it: accepted = in lanes +
// queued + leased + done + dead + purged. Its agents may run, be away or dead. A hive that is
// closed has no inbox.
void expect_balance_of_all(const ScratchHive& hive);

class HiveTest : public testing::TestWithParam<World> {
 protected:
  void start(World world, std::chrono::seconds limit, std::size_t board_bytes);
  void SetUp() override { start(GetParam(), 300s, 1U << 20); }
  // Ends the troupe, checks the balance of all inboxes and takes the hive down. REQUIRES: the
  // agents of the test itself are gone.
  void TearDown() override;

  [[nodiscard]] ScratchHive& hive() { return *hive_; }
  [[nodiscard]] Troupe& troupe() { return *troupe_; }
  template <typename T>
  [[nodiscard]] T& board() {
    static_assert(sizeof(T) <= 1U << 20);
    return memory_.as<T>();
  }
  SharedMemory memory_;

 private:
  std::optional<ScratchHive> hive_;
  std::optional<Troupe> troupe_;
  std::optional<Watchdog> watchdog_;
};

[[nodiscard]] std::string world_name(const testing::TestParamInfo<World>& info);

#define BEELINE_BOTH_WORLDS(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(                                                              \
      As, suite,                                                                         \
      testing::Values(beeline::test::World::kThreads, beeline::test::World::kProcesses), \
      beeline::test::world_name)

}  // namespace beeline::test
