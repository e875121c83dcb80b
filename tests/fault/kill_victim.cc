// The agents that are killed at a chosen event. Each does one part of the life of an agent under
// the trap, and ends without a word, as if it were killed after the last event.

#include <unistd.h>

#include "tests/fault/fault_test.h"
#include "tests/fault/kill_aim.h"
#include "tests/fault/ledger_mail.h"
#include "tests/fault/victim.h"

namespace beeline::test {
namespace {

class Victim {
 public:
  explicit Victim(const RoleContext& context)
      : board_(context.board<VictimBoard>()),
        turn_(board_.turn.load()),
        memory_(find_kill_order()),
        order_(memory_.as<KillOrder>()),
        part_(static_cast<Part>(context.number)) {}

  [[noreturn]] void run() {
    if (part_ != Part::kSucceed) prepare();
    order_.armed.store(1);
    play();
    order_.armed.store(0);
    ::_exit(testing::UnitTest::GetInstance()->Failed() ? kExitFailed : kExitVisited);
  }

 private:
  static AttachOptions options() {
    AttachOptions options = named("victim");
    options.start_coordinator = false;
    options.wait = WaitMode::kSleep;
    options.inbox_capacity = 64;
    options.normal_slots = 16;
    options.max_attempts = 255;
    return options;
  }

  void join() {
    agent_ = attach(options());
    if (!agent_) ::_exit(kExitFailed);
  }

  // All work before the part itself, which begins when the director says so.
  void prepare() {
    join();
    if (part_ == Part::kWake || part_ == Part::kDetach || part_ == Part::kResume) {
      open();
      if (part_ != Part::kWake) send(kSmall);
    }
    board_.ready.raise();
    ASSERT_TRUE(board_.go.await(turn_, patience()));
    if (part_ != Part::kFinish) return;
    const Ledger::Receipt receipt = take_in_hand(0);
    // A victim that dies before its first store has not begun to end the message: it comes again.
    if (board_.at.load() != 1) board_.ledger.begin_end(receipt);
  }

  void play() {
    switch (part_) {
      case Part::kWake:
        return send(kSmall);
      case Part::kSleep:
        return take(1);
      case Part::kOpen:
        open();
        send(kSmall);
        return send(kInSlab);
      case Part::kMap:
        return take(kFound);
      case Part::kDetach:
        (void)agent_->detach(Deadline::min());
        return;
      case Part::kFade:
        return fade();
      case Part::kHold:
        return hold();
      case Part::kSucceed:
        return succeed();
      case Part::kResume:
        return resume();
      case Part::kFinish:
        return held_[0].done();
    }
  }

  void open() {
    const auto far = agent_->peer("far");
    ASSERT_TRUE(far) << far.error().text;
    far_ = *far;
  }
  void send(std::size_t bytes) {
    EXPECT_TRUE(send_noted(*agent_, board_.ledger, far_, {kVictim, kFar, 0, 0}, bytes, patience()));
  }
  void take(int count) {
    for (int i = 0; i < count; ++i) {
      finish_noted(board_.ledger, kVictim, next_message(*agent_));
    }
  }
  // The first stays leased, and so does the second, with its payload in a slab. The third is
  // finished and the fourth is queued, so three are left.
  void hold() {
    for (int i = 0; i < 2; ++i) (void)take_in_hand(i);
    take(1);
  }
  Ledger::Receipt take_in_hand(int place) {
    held_[place] = next_message(*agent_);
    return note_receipt(board_.ledger, kVictim, held_[place]);
  }
  void fade() {
    take(kFound);
    const Deadline deadline = patience();
    while (board_.over.load() != turn_ && std::chrono::steady_clock::now() < deadline) {
      (void)agent_->receive({.timeout = 20ms, .filter = kNobody});
    }
  }
  void succeed() {
    join();
    open();
    const std::uint64_t before = agent_->counters().queued;  // two that it held, one in its inbox
    EXPECT_EQ(before, 3U) << "the successor has inherited something else";
    (void)take_noted(*agent_, board_.ledger, kVictim);
    send(kSmall);
  }
  void resume() {
    const Deadline deadline = patience();
    while (!agent_->siblings()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not come back";
    }
    send(kInSlab);
  }

  VictimBoard& board_;
  std::uint32_t turn_;
  SharedMemory memory_;
  KillOrder& order_;
  Part part_;
  std::optional<Agent> agent_;
  Peer far_;
  Message held_[2];
};

BEELINE_ROLE(victim) { Victim(context).run(); }

}  // namespace
}  // namespace beeline::test
