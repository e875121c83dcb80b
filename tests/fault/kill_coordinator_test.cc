// The coordinator is killed before each system call and each store into a segment of one action: it
// starts with a state to restore, serves an agent from attach to detach, handles a death and a
// takeover, or reads the leftovers of a finally dead agent. After each kill the next coordinator
// goes on: agents come back, every request is served in the end, no message is lost, and nothing is
// left behind.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "src/control/letters_client.h"
#include "tests/fault/kill_fixture.h"

namespace beeline::test {
namespace {

AttachOptions mortal_options() {
  AttachOptions options = named("mortal", "far");
  options.start_coordinator = false;
  options.inbox_capacity = 64;
  options.normal_slots = 16;
  return options;
}

// Sends a message, holds one, leaves one in its lanes, and waits for its end.
BEELINE_ROLE(mortal) {
  auto& board = context.board<VictimBoard>();
  auto agent = attach(mortal_options());
  if (!agent) return;
  ASSERT_TRUE(send_noted(*agent, board.ledger, peer_of(*agent, "far"), {kGuest, kFar, 0, 0}, kSmall,
                         patience()));
  board.go.raise();
  const Message held = next_message(*agent);
  (void)note_receipt(board.ledger, kGuest, held);
  board.ready.raise();
  for (;;) ::pause();
}

// A child of "far" that is finally dead when it ends. It finishes a message, holds the next one,
// leaves later ones in its lanes, and waits for its end.
BEELINE_ROLE(mayfly) {
  auto& board = context.board<VictimBoard>();
  AttachOptions options = named("mayfly", "far");
  options.start_coordinator = false;
  options.temporary = true;
  auto agent = attach(options);
  if (!agent) return;
  board.go.raise();
  next_message(*agent).done();
  const Message held = next_message(*agent);
  board.ready.raise();
  for (;;) ::pause();
}

class KillCoordinatorTest : public KillHiveFixture {
 protected:
  void SetUp() override {
    {
      const KillAim::Setting trapped;
      start_kills();
    }
    if (HasFatalFailure()) return;
    // Four between `far_` and `near_`, each seen by both of its ends, and one that `far_` keeps for
    // a third agent that is away. A link that such an agent owned would be one too many.
    watch_.least.links = 5;
    start_conversation();
  }

  void sweep(
      const std::string& name, std::uint64_t least_calls, std::uint64_t least_stores,
      const std::function<void(std::uint64_t)>& act, const std::function<void()>& check = [] {}) {
    sweep_.run({.name = name,
                .least_calls = least_calls,
                .least_stores = least_stores,
                .act =
                    [this, act](std::uint64_t at) {
                      act(at);
                      aim_.disarm();
                    },
                .check =
                    [this, check] {
                      await_served();
                      check();
                      expect_whole();
                    }});
  }

  void expect_whole() {
    if (HasFailure()) return;
    coordinator_ = coordinator_now();
    expect_sound();
  }

  // Both agents have registered with the present coordinator.
  void await_served() {
    await_answer([this] { return far_->siblings(); });
    await_answer([this] { return near_->siblings(); });
  }

  void send(Agent& from, const std::string& to, std::uint32_t sender, std::uint32_t receiver) {
    await_answer([&] { return from.peer(to); });
    if (HasFatalFailure()) return;
    EXPECT_TRUE(
        send_noted(from, ledger(), *from.peer(to), {sender, receiver, 0, 0}, kSmall, patience()));
  }
  // Waits until `guest_` and the two others have taken all.
  void take_all() {
    const Deadline deadline = patience();
    while (!ledger().missing(1).empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << describe(ledger().missing(1)[0]);
      (void)guest_->receive({.timeout = 1ms, .filter = kNobody});
      (void)take_noted(*guest_, ledger(), kGuest);
      (void)take_noted(*near_, ledger(), kVictim);
      (void)take_noted(*far_, ledger(), kFar);
    }
  }

  void restart(std::uint64_t at) {
    send(*far_, "near", kFar, kVictim);
    send(*near_, "far", kVictim, kFar);
    aim_.aim(at, 0, hive().keeper());
    aim_.arm();
    ASSERT_EQ(::kill(coordinator_, SIGKILL), 0);
    await_served();
  }
  void visit(std::uint64_t at) {
    aim_.aim(at, coordinator_);
    aim_.arm();
    guest_ = attach_again(named("guest"));
    ASSERT_TRUE(guest_);
    send(*guest_, "far", kGuest, kFar);
    send(*far_, "guest", kFar, kGuest);
    take_all();
    guest_.reset();
    ASSERT_NO_FATAL_FAILURE(pass_by());
    await_served();
  }
  // An agent attaches and leaves; it is finally dead then, and has only received.
  void pass_by() {
    AttachOptions options = named("passer-by");
    options.temporary = true;
    guest_ = attach_again(options);
    ASSERT_TRUE(guest_);
    send(*far_, "passer-by", kFar, kGuest);
    take_all();
    guest_.reset();
  }
  void death(std::uint64_t at) {
    const std::uint32_t go = board().go.count() + 1;
    const std::uint32_t ready = board().ready.count() + 1;
    const std::size_t place = troupe().start("mortal");
    ASSERT_TRUE(board().go.await(go, patience()));
    send(*far_, "mortal", kFar, kGuest);
    ASSERT_TRUE(board().ready.await(ready, patience()));
    send(*far_, "mortal", kFar, kGuest);
    aim_.aim(at, coordinator_);
    aim_.arm();
    troupe().kill(place);
    await_notice();
    guest_ = attach_again(mortal_options());
    ASSERT_TRUE(guest_);
    take_all();
    await_served();
    expect_told_once(0);
    guest_.reset();
    await_notice();
    await_served();
    expect_told_once(1);
  }
  // The parent has had one notice for each ended life of "mortal" that had taken the name over.
  void expect_told_once(std::size_t not_followed) {
    told_ += count_notices();
    EXPECT_EQ(told_, count_followed("mortal") + not_followed) << "an end was told twice, or never";
  }
  // Lives with successors, as the log names them. A successor counts if its attach was broken off
  // after its takeover, but not if it was broken off before.
  [[nodiscard]] std::size_t count_followed(const std::string& name) {
    const std::string field = " predecessor=";
    std::set<std::string> lives;
    std::istringstream log(hive().log());
    for (std::string line; std::getline(log, line);) {
      const std::size_t at = line.find(field);
      if (at == std::string::npos || line.find(" name=\"" + name + "\"") == std::string::npos)
        continue;
      const std::size_t begin = at + field.size();
      lives.insert(line.substr(begin, line.find(' ', begin) - begin));
    }
    lives.erase("0");  // the first life has no predecessor
    return lives.size();
  }
  // Notices of children's ends that the parent has, including those that it has not read yet.
  [[nodiscard]] std::size_t count_notices() {
    std::size_t count = 0;
    while (const auto notice = far_->next_notice()) {
      if (notice->kind != Notice::Kind::kShutdown) ++count;
    }
    return count;
  }
  // Waits until the parent is told of an end.
  void await_notice() {
    const Deadline deadline = patience();
    std::size_t count = count_notices();
    for (; count == 0; count = count_notices()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nobody was told of the end";
      (void)far_->receive({.timeout = 10ms, .filter = kNobody, .stop_on_notice = true});
    }
    told_ += count;
  }

  // ---- Leftovers of a finally dead agent ----
  void last_reading(std::uint64_t at) {
    const std::uint32_t go = board().go.count() + 1;
    const std::uint32_t ready = board().ready.count() + 1;
    const std::size_t place = troupe().start("mayfly");
    ASSERT_TRUE(board().go.await(go, patience()));
    mayfly_ = peer_of(*far_, "mayfly");
    (void)send_text(std::string(kInSlab, 'f'));
    left_ = {send_text(std::string(kInSlab, 'h'))};
    ASSERT_TRUE(board().ready.await(ready, patience()));
    left_.insert(send_text("in its lane"));
    left_.insert(send_text("in its urgent lane", kCritical));
    ASSERT_EQ(left_.size(), 3U);
    aim_.aim(at, coordinator_);
    aim_.arm();
    troupe().kill(place);
    await_notice();
    await_last_reading();
  }
  [[nodiscard]] MessageId send_text(const std::string& text, std::int32_t rank = kNormal) {
    const SendResult sent = far_->send_until(mayfly_, text, patience(), {.rank = rank});
    EXPECT_TRUE(sent) << to_string(sent.status);
    return sent.id;
  }
  // The coordinator's log shows it: asking the coordinator would give it other work. A coordinator
  // that is killed after the reading does not log it.
  void await_last_reading() {
    const std::string line = "event=taken_over agent=" + std::to_string(mayfly_.pid) + ' ';
    drain_until(*far_,
                [&] { return aim_.killed() != 0 || hive().log().find(line) != std::string::npos; });
  }
  // A coordinator that lives after its reading lists all letters, none twice. They count once,
  // whatever number of coordinators read them.
  void expect_letters() {
    auto client = hive().client();
    drain_until(*far_, [&] {  // the links of the dead go with the last reading
      const auto links = client.links_to(mayfly_.pid, true);
      return links && links->empty();
    });
    const auto kept = control::list_kept_letters(client);
    ASSERT_TRUE(kept) << kept.error().text;
    std::vector<MessageId> listed;
    for (const control::KeptLetter& each : *kept) {
      if (each.to == mayfly_.pid) listed.push_back(each.id);
    }
    const bool lay_with_the_killed = listed.empty() && aim_.killed() != 0;
    if (!lay_with_the_killed) {
      std::sort(listed.begin(), listed.end());
      EXPECT_EQ(listed, std::vector<MessageId>(left_.begin(), left_.end()));
    }
    letters_ += left_.size();
    EXPECT_EQ(hive().status().dead_letters, letters_);
    EXPECT_EQ(std::exchange(told_, 0) + count_notices(), 1U) << "its end was told twice, or never";
  }

  std::size_t told_ = 0;  // notices that a child has ended
  Peer mayfly_;
  std::set<MessageId> left_;   // in the home and the lanes of "mayfly"
  std::uint64_t letters_ = 0;  // that there were in this hive
};

TEST_F(KillCoordinatorTest, ACoordinatorThatStarts) {
  sweep("coordinator: restart", 140, 60, [this](std::uint64_t at) { restart(at); });
  finish_sweep(50);
}

TEST_F(KillCoordinatorTest, ACoordinatorThatServes) {
  sweep("coordinator: attach, open, detach", 100, 55, [this](std::uint64_t at) { visit(at); });
  finish_sweep(50);
}

TEST_F(KillCoordinatorTest, ACoordinatorThatReadsTheHomeOfAFinallyDeadAgent) {
  sweep(
      "coordinator: letters of the dead", 40, 1, [this](std::uint64_t at) { last_reading(at); },
      [this] { expect_letters(); });
  finish_sweep(40);
}

TEST_F(KillCoordinatorTest, ACoordinatorThatHandlesADeathAndAHandOver) {
  sweep("coordinator: death, hand-over", 110, 110, [this](std::uint64_t at) { death(at); });
  finish_sweep(50);
}

}  // namespace
}  // namespace beeline::test
