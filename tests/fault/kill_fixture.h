#pragma once
// Common parts of the sweeps of kills: an agent that stays, its conversation partner, which lives
// again after each kill, and the look for losses and leftovers.

#include <iostream>
#include <optional>
#include <string>

#include "tests/fault/kill_sweep.h"
#include "tests/fault/leak_watch.h"
#include "tests/fault/ledger_mail.h"
#include "tests/fault/victim.h"
#include "tests/support/hive_test.h"
#include "tests/support/soak.h"

namespace beeline::test {

class KillFixture : public HiveTest {
 protected:
  // Attaches `far_`, which waits on its eventfd.
  void start_kills() {
    start(World::kProcesses, is_soak() ? 3000s : 600s, sizeof(VictimBoard));
    if (HasFatalFailure()) return;
    coordinator_ = coordinator_now();
    far_ = attach("far");
    ASSERT_TRUE(far_);
    far_fd_ = far_->fd();
  }
  void TearDown() override {
    near_.reset();
    far_.reset();
    if (HasFailure()) std::cout << "in " << sweep_.where() << '\n' << hive().log();
    HiveTest::TearDown();
  }

  [[nodiscard]] VictimBoard& board() { return memory_.as<VictimBoard>(); }
  [[nodiscard]] Ledger& ledger() { return board().ledger; }
  [[nodiscard]] pid_t coordinator_now() {
    return static_cast<pid_t>(hive().status().coordinator_pid);
  }

  void finish_sweep(std::uint64_t least_kills) {
    std::cout << sweep_.table();
    if (!HasFailure()) {
      EXPECT_GE(sweep_.kills(), least_kills);
    }
  }

  // Asks again until an answer comes, because the coordinator may have died during the question.
  template <typename Question>
  void await_answer(Question&& question) {
    const Deadline deadline = patience();
    for (auto answer = question(); !answer; answer = question()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << answer.error().text;
    }
  }

  // One message goes each way, and all earlier accepted messages are finished. Both use a slab: an
  // agent that has taken a slab has stamps, and so has each later life. So all runs of an operation
  // are alike.
  void expect_conversation() {
    ASSERT_TRUE(send_noted(*far_, ledger(), peer_of(*far_, near_->name()), {kFar, kVictim, 0, 0},
                           kInSlab, patience()));
    ASSERT_TRUE(send_noted(*near_, ledger(), peer_of(*near_, "far"), {kVictim, kFar, 0, 0}, kInSlab,
                           patience()));
    await_all_finished();
    expect_no_fault();
    await_links_of_the_dead_gone();
  }
  // The links of ended lives are drained, and the coordinator has released them: one is left in
  // each direction.
  void await_links_of_the_dead_gone() {
    auto client = hive().client();
    const auto is_over = [&](const Agent& agent) {
      const auto links = client.links_to(agent.pid(), true);
      return links && links->size() <= 1;
    };
    drain_until(*far_, [&] { return is_over(*far_); });
    drain_until(*near_, [&] { return is_over(*near_); });
  }
  void await_all_finished() {
    const Deadline deadline = patience();
    while (!ledger().missing(1).empty() && std::chrono::steady_clock::now() < deadline) {
      for (auto* agent : {&far_, &near_}) {
        if (!*agent) continue;
        (void)(*agent)->receive({.timeout = 1ms, .filter = kNobody});
        (void)take_noted(**agent, ledger(), agent == &far_ ? kFar : kVictim);
      }
    }
    for (const MissingMessage& each : ledger().missing(5)) {
      ADD_FAILURE() << describe(each) << '\n'
                    << ledger().story(each.sender, each.receiver, each.sequence);
    }
  }
  void expect_no_fault() {
    for (const FaultRecord& each : ledger().faults()) {
      ADD_FAILURE() << describe(each) << '\n'
                    << ledger().story(each.sender, each.receiver, each.sequence);
    }
  }

  // Each inbox of the hive adds up. `near_` leaves, and then nothing of the killed process is left.
  void expect_nothing_left() {
    expect_balance(*far_);
    EXPECT_EQ(far_->counters().quarantined_links, 0U);
    expect_balance_of_all(hive());
    near_.reset();
    (void)take_noted(*far_, ledger(), kFar);
    await_as_before();
  }
  void await_as_before() { watch_.await(*far_, hive().keeper(), coordinator_); }

  KillAim aim_;
  KillSweep sweep_{aim_};
  std::optional<Agent> far_;
  std::optional<Agent> near_;
  int far_fd_ = -1;
  pid_t coordinator_ = 0;
  LeakWatch watch_;
};

// For kills in the hive itself: both agents live through all of them, and a third one comes and
// goes.
class KillHiveFixture : public KillFixture {
 protected:
  // REQUIRES: start_kills().
  void start_conversation() {
    watch_.slack = kLastLife;
    near_ = attach("near");
    ASSERT_TRUE(near_);
    expect_conversation();
  }
  void TearDown() override {
    aim_.disarm();
    guest_.reset();
    KillFixture::TearDown();
  }
  // Both go on talking, all inboxes of the hive add up, and nothing is left behind.
  void expect_sound() {
    expect_conversation();
    expect_balance(*far_);
    expect_balance(*near_);
    EXPECT_EQ(far_->counters().quarantined_links, 0U);
    expect_balance_of_all(hive());
    await_as_before();
  }

  std::optional<Agent> guest_;
};

}  // namespace beeline::test
