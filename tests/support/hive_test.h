#pragma once
// The fixture of tests that run a whole hive: a scratch hive, a board in shared memory, a troupe
// that plays roles as threads or as processes, and a watchdog.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "tests/support/roles.h"
#include "tests/support/scratch_hive.h"
#include "tests/support/shared_memory.h"
#include "tests/support/troupe.h"
#include "tests/support/watchdog.h"

namespace beeline::test {

using namespace std::chrono_literals;

// For waits that end as soon as an event comes. Generous, because it only bounds a failure.
inline constexpr auto kPatience = 60s;
[[nodiscard]] inline Deadline patience() { return after(kPatience); }

[[nodiscard]] AttachOptions named(const std::string& name, const std::string& parent = "");
// Attaches, or fails the test and returns nothing.
[[nodiscard]] std::optional<Agent> attach(const AttachOptions& options);
[[nodiscard]] std::optional<Agent> attach(const std::string& name, const std::string& parent = "");
// Attaches as soon as a coordinator runs that knows of the end of the last life.
[[nodiscard]] std::optional<Agent> attach_again(const AttachOptions& options);
// The peer of that name as soon as it has attached. Fails the test at the deadline.
[[nodiscard]] Peer peer_of(Agent& agent, const std::string& name);
// Matches no message; a look for it takes messages from the lanes into the inbox.
inline constexpr Filter kNobody{.reply_to = ~0ULL};
// Looks repeatedly until `is_over` is true. The looks take messages from the lanes into the inbox
// and read announcements, but hand nothing out. Fails the test at the deadline, or if the agent has
// left.
void drain_until(Agent& agent, const std::function<bool()>& is_over);
// Looks until that many messages were taken from the lanes, earlier lives included.
void await_drained(Agent& agent, std::uint64_t count);
// Looks until a look takes no more, because the lanes are empty or there is no room.
void drain_what_fits(Agent& agent);
// Looks until that many messages wait in the inbox.
void await_queued(Agent& agent, std::uint64_t count);
// Takes and ends all waiting messages, and returns their texts in the order of delivery.
[[nodiscard]] std::vector<std::string> take_texts(Agent& agent, const Filter& filter = {});
// Waits until the coarse clock, which stamps messages, is past `duration` from now.
void let_pass(std::chrono::nanoseconds duration);
// The next message within the patience of a test; an invalid one fails the test.
[[nodiscard]] Message next_message(Agent& agent, const Filter& filter = {});
// drained = queued + leased + done + dead + purged.
void expect_balance(const Agent& agent);

// For every inbox of the hive, seen from outside as `beeline status` does it: accepted = in lanes +
// queued + leased + done + dead + purged. Its agents may run, be away or dead. A closed hive has no
// inbox.
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
  // Ends a player that waits for `leave`: a process by SIGKILL, a thread by raising the event.
  void kill_or_release(std::size_t place, Event& leave, std::uint32_t by = 1);
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
