// The keeper is killed before each system call of one action: it starts the next coordinator and
// keeps its records. Then the hive has ended. The first client starts a new one under its name.
// Agents come back to it, no accepted message is lost, and nothing is left behind.

#include <signal.h>

#include <algorithm>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "tests/fault/kill_fixture.h"
#include "tests/support/program.h"

namespace beeline::test {
namespace {

class KillKeeperTest : public KillHiveFixture {
 protected:
  void SetUp() override {
    start_kills();
    if (HasFatalFailure()) return;
    start_conversation();
  }

  // A coordinator dies, and the next one serves a life from attach to detach.
  void lose_keeper(std::uint64_t at) {
    const auto keeper = os::open_pidfd(hive().keeper());
    const auto coordinator = os::open_pidfd(coordinator_);
    ASSERT_TRUE(keeper && coordinator);
    send(*far_, "near", {kFar, kVictim, 0, 0});
    send(*near_, "far", {kVictim, kFar, 0, 0});
    aim_.aim(at, hive().keeper());
    aim_.arm();
    ASSERT_TRUE(os::send_signal(coordinator->get(), SIGKILL));
    await_in_hive([this] { return attach_guest(); });
    await_served();
    send(*guest_, "far", {kGuest, kFar, 0, 0});
    await_all_taken();
    aim_.disarm();
    if (aim_.killed() != 0) {
      EXPECT_EQ(aim_.killed(), hive().keeper());
      EXPECT_TRUE(os::wait_readable(keeper->get(), kPatience));
    }
    // If a life was lost together with its hive, nobody knows whether it comes back to the next
    // one, so its peers keep their links. So this one comes back before it leaves, to a hive that
    // stays: a keeper that was to die has died.
    await_in_hive([this] { return guest_->siblings(); });
    guest_.reset();
  }
  Result<void> attach_guest() {
    AttachOptions options = named("passer-by");
    options.temporary = true;
    auto agent = Agent::attach(options);
    if (!agent) return tl::unexpected(agent.error());
    guest_ = std::move(*agent);
    return {};
  }
  void send(Agent& from, const std::string& to, const PayloadHead& head) {
    await_in_hive([&] { return from.peer(to); });
    if (HasFatalFailure()) return;
    EXPECT_TRUE(send_noted(from, ledger(), *from.peer(to), head, kSmall, patience()));
  }

  void await_all_taken() {
    await_in_hive([this]() -> Result<void> {
      (void)guest_->siblings();
      for (auto* agent : {&far_, &near_}) {
        (void)(*agent)->receive({.timeout = 1ms, .filter = kNobody});
        (void)take_noted(**agent, ledger(), agent == &far_ ? kFar : kVictim);
      }
      const auto missing = ledger().missing(1);
      if (missing.empty()) return {};
      return tl::unexpected(Error{ErrorCode::kTimeout, 0, describe(missing.front())});
    });
  }
  // Both agents have come back.
  void await_served() {
    await_in_hive([this] { return far_->siblings(); });
    await_in_hive([this] { return near_->siblings(); });
  }
  // Asks a hive that is started if there is none: living agents wait for that, and come back to it
  // in a call.
  template <typename Question>
  void await_in_hive(Question&& question) {
    await_answer([&] {
      (void)control::Client::connect();
      for (auto* agent : {&far_, &near_}) (void)(*agent)->siblings();
      return question();
    });
  }

  void expect_whole() {
    await_served();
    hive().find_keeper();
    coordinator_ = coordinator_now();
    expect_one_hive();
    expect_sound();
  }
  // The coordinator of the last hive ends when it sees that its keeper has gone.
  void expect_one_hive() {
    std::vector<pid_t> wanted{hive().keeper(), coordinator_};
    std::sort(wanted.begin(), wanted.end());
    std::vector<pid_t> found;
    const Deadline deadline = patience();
    do {
      found = processes_with("BEELINE_DIR", hive().directory());
      std::sort(found.begin(), found.end());
    } while (found != wanted && std::chrono::steady_clock::now() < deadline);
    EXPECT_EQ(found, wanted) << "processes of a hive that has ended";
  }

  const KillAim::Setting trapped_;
};

TEST_F(KillKeeperTest, AKeeperThatStartsACoordinatorAndKeepsItsRecords) {
  sweep_.run({.name = "keeper: restart, records",
              .least_calls = 60,
              .least_stores = 0,  // it maps no segment
              .act = [this](std::uint64_t at) { lose_keeper(at); },
              .check = [this] { expect_whole(); },
              .short_kills = 25});
  finish_sweep(15);  // of the kills that were aimed; up to a third may find it doing something else
}

}  // namespace
}  // namespace beeline::test
