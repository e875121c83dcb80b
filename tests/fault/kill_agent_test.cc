// An agent is killed before each system call and each store into a segment of one action: it wakes
// a peer, sleeps, opens a link, maps one, detaches, releases a link, takes over from its
// predecessor, or comes back to a new coordinator. After each kill its successor takes over: the
// conversation goes on, no message is lost, and nothing is left behind.

#include <signal.h>
#include <sys/wait.h>

#include "src/os/event_fd.h"
#include "src/os/process.h"
#include "tests/fault/fault_test.h"
#include "tests/fault/kill_fixture.h"
#include "tests/support/status_probe.h"
#include "tools/beeline/accounts.h"

namespace beeline::test {
namespace {

class KillAgentTest : public KillFixture {
 protected:
  void SetUp() override {
    start_kills();
    if (HasFatalFailure()) return;
    live_again();  // so that `far_` has a link to it
    near_.reset();
  }

  static AttachOptions victim_options() { return named("victim"); }

  void live_again() {
    near_ = attach_again(victim_options());
    ASSERT_TRUE(near_);
    expect_conversation();
  }
  void await_away(std::uint64_t count) {
    const Deadline deadline = patience();
    while (hive().status().away != count) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the end was not noticed";
    }
  }

  // ---- A victim from its start to its end ----
  std::size_t start_victim(Part part, std::uint64_t at) {
    board().turn.store(++turn_);
    board().at.store(at);
    const KillAim::Setting trapped;
    return troupe().start("victim", static_cast<std::uint32_t>(part));
  }
  // `meanwhile` runs when the victim is ready for its part, `then` when it may have begun.
  void play(Part part, std::uint64_t at, const std::function<void(std::size_t)>& meanwhile = {},
            const std::function<void(std::size_t)>& then = {}) {
    aim_.aim(at);
    const std::size_t place = start_victim(part, at);
    if (part != Part::kSucceed) {
      ASSERT_TRUE(board().ready.await(++ready_, patience())) << "the victim does not get ready";
    }
    if (meanwhile) meanwhile(place);
    board().go.raise();
    if (then) then(place);
    ASSERT_TRUE(os::wait_readable(troupe().pidfd(place), kPatience)) << "it does not end";
    const int status = troupe().reap(place);
    if (aim_.killed() != 0) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitVisited) << status;
    }
  }

  void send_to_victim(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(send_noted(*far_, ledger(), peer_of(*far_, "victim"), {kFar, kVictim, 0, 0},
                             i % 2 == 0 ? kSmall : kInSlab, patience()));
    }
  }

  void sweep(const std::string& name, std::uint64_t least_calls, std::uint64_t least_stores,
             const std::function<void(std::uint64_t)>& act,
             const std::function<void()>& first = {}) {
    if (HasFailure()) return;
    sweep_.run({.name = name,
                .least_calls = least_calls,
                .least_stores = least_stores,
                .act = act,
                .check = [this, first] {
                  if (first) first();
                  live_again();
                  if (HasFailure()) return;
                  expect_nothing_left();
                }});
  }

  // If messages for `far_` lie in the lanes, it was rung.
  void expect_rung() {
    auto client = hive().client();
    const auto accounts = cli::read_accounts(client, hive().name());
    ASSERT_TRUE(accounts) << accounts.error().text;
    const cli::Account* account = accounts->find(far_->pid());
    ASSERT_NE(account, nullptr);
    if (account->in_lanes == 0) return;
    ++found_waiting_;
    EXPECT_TRUE(os::wait_readable(far_fd_, kPatience)) << "a message waits and nobody rang";
  }

  static std::optional<Agent> attach_guest() {
    AttachOptions options = named("guest");
    options.temporary = true;
    return attach(options);
  }
  [[nodiscard]] bool send_to_victim_of(Agent& guest, std::size_t bytes) {
    return send_noted(guest, ledger(), peer_of(guest, "victim"), {kGuest, kVictim, 0, 0}, bytes);
  }
  // Messages of an agent that has ended when the victim takes them.
  void send_and_leave() {
    auto guest = attach_guest();
    ASSERT_TRUE(guest);
    for (int i = 0; i < kFound; ++i) ASSERT_TRUE(send_to_victim_of(*guest, kSmall));
  }
  // The guest reuses each slab that the victim reports as finished. The guest is dead and was read
  // before the victim lives again.
  void fill_and_leave(std::optional<Agent> guest) {
    ASSERT_TRUE(guest);
    while (send_to_victim_of(*guest, kInSlab)) {
    }
    const Pid pid = guest->pid();
    guest.reset();
    auto client = hive().client();
    drain_until(*far_, [&] {
      const auto accounts = cli::read_accounts(client, hive().name());
      return accounts && accounts->find(pid) == nullptr;
    });
  }
  // The coordinator has released the guest's link, or the victim is dead.
  void await_faded(std::size_t place) {
    const Pid victim = far_->peer("victim")->pid;
    auto client = hive().client();
    const auto is_over = [&] {
      const auto links = client.links_to(victim, true);
      return (links && links->size() <= 1) ||
             os::wait_readable(troupe().pidfd(place), std::chrono::nanoseconds(0));
    };
    drain_until(*far_, is_over);
    board().over.store(turn_);
  }

  void await_asleep(std::size_t place, const StatusProbe& probe) {
    while (probe.sleep() == shm::Sleep::kAwake &&
           !os::wait_readable(troupe().pidfd(place), std::chrono::nanoseconds(0))) {
      os::yield();
    }
  }

  std::uint32_t turn_ = 0;
  std::uint32_t ready_ = 0;
  int found_waiting_ = 0;  // kills that left `far_` a message in its lanes
};

TEST_F(KillAgentTest, ASenderThatWakesAndAReceiverThatIsWoken) {
  sweep(
      "wake: the sender", 2, 12,
      [this](std::uint64_t at) {
        play(Part::kWake, at, [this](std::size_t) { drain_what_fits(*far_); });
      },
      [this] { expect_rung(); });
  EXPECT_GT(found_waiting_, 0) << "no kill left a message in the lanes: nothing was proved";
  sweep("sleep and wake: the receiver", 2, 25, [this](std::uint64_t at) {
    std::optional<StatusProbe> probe;
    play(
        Part::kSleep, at,
        [&](std::size_t place) {
          (void)peer_of(*far_, "victim");
          // While it surely lives.
          probe.emplace(hive().name(), troupe().os_pid(place), far_->peer("victim")->pid);
        },
        [&](std::size_t place) {
          await_asleep(place, *probe);
          send_to_victim(1);
        });
  });
  finish_sweep(40);
}

TEST_F(KillAgentTest, BothEndsOfALinkThatOpens) {
  sweep("open-link: the sender", 8, 28, [this](std::uint64_t at) { play(Part::kOpen, at); });
  sweep("open-link: the receiver", 4, 50, [this](std::uint64_t at) {
    play(Part::kMap, at, [this](std::size_t) { send_to_victim(kFound); });
  });
  finish_sweep(90);
}

TEST_F(KillAgentTest, BothEndsOfALinkThatCloses) {
  sweep("detach: the owner", 3, 0, [this](std::uint64_t at) { play(Part::kDetach, at); });
  sweep("fade: the reader", 8, 60, [this](std::uint64_t at) {
    play(
        Part::kFade, at, [this](std::size_t) { send_and_leave(); },
        [this](std::size_t place) { await_faded(place); });
  });
  finish_sweep(55);
}

// A kill between the stamp that frees a slab and the end of the entry: by now the slab holds
// another message.
TEST_F(KillAgentTest, AReceiverWhoseSenderDiesForGoodNext) {
  sweep("finish: the receiver", 0, 2, [this](std::uint64_t at) {
    std::optional<Agent> guest;
    play(Part::kFinish, at, [&](std::size_t) {
      guest = attach_guest();
      ASSERT_TRUE(guest && send_to_victim_of(*guest, kInSlab));
    });
    ASSERT_NO_FATAL_FAILURE(fill_and_leave(std::move(guest)));
  });
  finish_sweep(2);
}

TEST_F(KillAgentTest, ASuccessorThatTakesOver) {
  sweep("hand-over: the successor", 140, 600, [this](std::uint64_t at) {
    play(Part::kHold, 0, [this](std::size_t) { send_to_victim(4); });
    await_away(1);
    play(Part::kSucceed, at);
  });
  finish_sweep(55);
}

TEST_F(KillAgentTest, AnAgentThatComesBackToANewCoordinator) {
  sweep("coordinator restart: an agent", 40, 18, [this](std::uint64_t at) {
    play(Part::kResume, at, [this](std::size_t) {
      ASSERT_EQ(::kill(coordinator_, SIGKILL), 0);
      coordinator_ = coordinator_now();
      await_answer([this] { return far_->siblings(); });
    });
  });
  finish_sweep(55);
}

}  // namespace
}  // namespace beeline::test
