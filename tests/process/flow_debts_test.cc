// Debts of an agent to peers without room in their links: acknowledgements, and orders to cancel.

#include <string>
#include <utility>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {
namespace {

struct DebtsBoard {
  Event attached;
  Event owes;  // the debtor has filled the asker's lane, and has sent something that finds no room
  Event go;
  Event taken;
  Event cancelled;
  std::atomic<pid_t> os_pid;
  std::atomic<Pid> pid;
};

class FlowDebts : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowDebts);

enum DebtorKind : std::uint32_t { kInReceive = 0, kOnFd = 1 };

constexpr std::size_t kSmallest = 64U << 10;  // of max_payload_bytes

// Treats each message as its type says. "fill": leaves no room for its own acknowledgement.
class Debtor {
 public:
  Debtor(DebtsBoard& board, DebtorKind kind) : board_(board), kind_(kind), agent_(attach(how())) {
    EXPECT_TRUE(agent_);
    board_.pid.store(agent_->pid());
    board_.os_pid.store(::getpid());
    board_.attached.raise();
  }
  void run() {
    for (std::string what; what != "stop" && what != "leave";) {
      Message message = next();
      ASSERT_TRUE(message.valid());
      what = message.type();
      if (what == "long") {
        message.done(std::string(100'000, 'r'));
        continue;
      }
      const bool fills = what == "fill" || what == "leave" || what == "leave in vain";
      if (fills) fill();
      message.done("at last");
      if (fills) board_.owes.raise();
      if (what == "leave in vain") {
        EXPECT_EQ(agent_->detach(after(1ms)), filled_ + 1) << "the acknowledgement counts";
        EXPECT_EQ(agent_->counters().acks_dropped, 1U);
        return;
      }
    }
    EXPECT_EQ(agent_->detach(patience()), 0U);
    expect_balance(*agent_);
  }

 private:
  static AttachOptions how() {
    AttachOptions options = named("debtor");
    options.max_payload_bytes = kSmallest;
    return options;
  }
  Message next() {
    if (kind_ == kInReceive) return next_message(*agent_);
    const int fd = agent_->fd();
    auto message = agent_->try_receive();
    while (!message) {
      if (!os::wait_readable(fd, kPatience)) return {};
      message = agent_->try_receive();
    }
    return std::move(*message);
  }
  void fill() {
    const Peer asker = peer_of(*agent_, "asker");
    filled_ = 0;
    while (agent_->send(asker, "in the way", {.inherit = false})) ++filled_;
  }

  DebtsBoard& board_;
  DebtorKind kind_;
  std::optional<Agent> agent_;
  std::uint64_t filled_ = 0;
};

BEELINE_ROLE(debtor) {
  Debtor(context.board<DebtsBoard>(), static_cast<DebtorKind>(context.number)).run();
}

void finish_all(Agent& agent) {
  while (auto message = agent.try_receive()) message->done();
}

TEST_P(FlowDebts, AnAcknowledgementGoesAsSoonAsThereIsRoomHoweverItsSenderWaits) {
  for (const std::uint32_t kind : {kInReceive, kOnFd}) {
    auto& shared = board<DebtsBoard>();
    const std::uint32_t before = shared.owes.count();
    auto agent = attach("asker");
    ASSERT_TRUE(agent);
    troupe().start("debtor", kind);
    ASSERT_TRUE(shared.attached.await(kind + 1, patience()));
    const Peer debtor = peer_of(*agent, "debtor");
    const auto sent = agent->send(debtor, "", {.type = "fill", .requires_ack = true});
    ASSERT_TRUE(sent);
    ASSERT_TRUE(shared.owes.await(before + 1, patience()));
    {
      // From here on only a ring wakes it.
      const StatusProbe probe(hive().name(), shared.os_pid.load(), shared.pid.load());
      ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
    }
    const auto ack = agent->await_ack(debtor, sent.id, patience());
    ASSERT_TRUE(ack) << ack.error().text;
    EXPECT_EQ(ack->reply, "at last");
    finish_all(*agent);
    ASSERT_TRUE(agent->send(debtor, "", {.type = "stop"}));
    troupe().wait_all(patience());
    expect_balance(*agent);
  }
}

TEST_P(FlowDebts, AReplyThatIsTooLongForItsSenderIsCutAndNotLost) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("debtor");
  const Peer debtor = peer_of(*agent, "debtor");
  const auto ack = agent->send_acked(debtor, "", patience(), {.type = "long"});
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kAccepted);
  EXPECT_TRUE(ack->is_cut);
  EXPECT_EQ(ack->reply, std::string(kSmallest, 'r'));
  const auto stopped = agent->send_acked(debtor, "", patience(), {.type = "stop"});
  ASSERT_TRUE(stopped);
  EXPECT_FALSE(stopped->is_cut);
  troupe().wait_all(patience());
}

TEST_P(FlowDebts, AnAgentThatLeavesSendsItsOwedAnswersFirstAndCountsTheOthers) {
  auto& shared = board<DebtsBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("debtor");
  const Peer debtor = peer_of(*agent, "debtor");
  const auto sent = agent->send(debtor, "", {.type = "leave", .requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(shared.owes.await(1, patience()));
  const auto ack = agent->await_ack(debtor, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->reply, "at last");
  troupe().wait_all(patience());
  finish_all(*agent);

  troupe().start("debtor");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  ASSERT_TRUE(agent->send(debtor, "", {.type = "leave in vain", .requires_ack = true}));
  ASSERT_TRUE(shared.owes.await(2, patience()));
  troupe().wait_all(patience());
  finish_all(*agent);
  expect_balance(*agent);
}

TEST_P(FlowDebts, AcknowledgementsThatNobodyReadsAreCountedWhenTheyAreLetGo) {
  AttachOptions options = named("asker");
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("debtor");
  const Peer debtor = peer_of(*agent, "debtor");
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(agent->send(debtor, "", {.type = "do", .requires_ack = true}));
  }
  EXPECT_TRUE(agent->send_acked(debtor, "", patience(), {.type = "stop"}));
  EXPECT_EQ(agent->counters().acks_unread, 2U) << "a quarter of the inbox is kept";
  EXPECT_EQ(agent->counters().acks_dropped, 0U);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Looks at its lanes only when the test lets it, and then until a message was cancelled.
BEELINE_ROLE(late_reader) {
  auto& board = context.board<DebtsBoard>();
  auto agent = attach("reader");
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  const Deadline deadline = patience();
  const auto is_taken_back = [&] {
    for (const InboxItem& item : agent->inbox()) {
      if (item.dead && item.reason == "cancelled") return true;
    }
    return false;
  };
  while (!is_taken_back() && std::chrono::steady_clock::now() < deadline) {
    EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = {.type = "none"}}));
  }
  EXPECT_TRUE(is_taken_back());
  while (auto message = agent->try_receive()) message->done();
  EXPECT_TRUE(agent->send(peer_of(*agent, "asker"), "seen"));
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

TEST_P(FlowDebts, ARequestIsTakenBackAtItsDeadlineEvenIfThereIsNoRoomForTheOrder) {
  auto& shared = board<DebtsBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("late_reader");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer reader = peer_of(*agent, "reader");
  while (agent->send_control(reader, kSteerOrder)) {
  }
  const auto answer = agent->request(reader, "soon over", after(1ms), {.cancel_on_timeout = true});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
  shared.go.raise();
  Message seen = next_message(*agent);
  ASSERT_TRUE(seen.valid());
  seen.done();
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// ---- The receiver dies --------------------------------------------------------------------------

class FlowDebtsDeath : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowDebtsDeath, testing::Values(World::kProcesses), world_name);

// The first life holds a message that is cancelled, and dies; the second one lives on.
BEELINE_ROLE(holder) {
  auto& board = context.board<DebtsBoard>();
  auto agent = attach("holder");
  ASSERT_TRUE(agent);
  const bool first = board.attached.count() == 0;
  board.attached.raise();
  if (first) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    board.taken.raise();
    while (!message.cancelled()) {
      EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = {.type = "none"}}));
    }
    board.cancelled.raise();
    EXPECT_TRUE(board.go.await(1, patience()));
    return;
  }
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  EXPECT_EQ(message.type(), "stop");
  message.done();
}

TEST_P(FlowDebtsDeath, ASenderThatTookAMessageBackLearnsOfItFromTheSuccessorOfItsHolder) {
  auto& shared = board<DebtsBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const std::size_t holder = troupe().start("holder");
  const Peer to = peer_of(*agent, "holder");
  const auto sent = agent->send(to, "a job", {.requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(shared.taken.await(1, patience()));
  ASSERT_TRUE(agent->cancel(to, sent.id));
  ASSERT_TRUE(shared.cancelled.await(1, patience()));
  troupe().kill(holder);
  troupe().restart(holder);
  const auto ack = agent->await_ack(to, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kRejected);
  EXPECT_EQ(ack->reply, "cancelled");
  ASSERT_TRUE(agent->send(to, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
