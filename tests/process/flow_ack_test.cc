// The end that a handler gives a message, and the acknowledgement of it to the sender.

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct AckBoard {
  Event attached;
  Event handled;
};

class FlowAck : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowAck);

// A child of "queen" that treats each message as its type says.
class Servant {
 public:
  explicit Servant(AckBoard& board) : board_(board), agent_(attach("servant", "queen")) {
    board.attached.raise();
  }
  void run() {
    ASSERT_TRUE(agent_);
    const auto served = agent_->serve([this](Message& message) { return handle(message); });
    EXPECT_TRUE(served) << served.error().text;
    EXPECT_EQ(agent_->detach(patience()), 0U);
    expect_balance(*agent_);
  }

 private:
  Ack handle(Message& message) {
    const std::string what(message.type());
    board_.handled.raise();
    if (what == "reject") return {AckStatus::kRejected, "no"};
    if (what == "escalate") return {AckStatus::kEscalate, "ask the queen"};
    if (what == "throw") throw std::runtime_error("as it was told");
    if (what == "take over") {
      jobs_.push_back(std::move(message));
      return {AckStatus::kQueued, "later"};
    }
    if (what == "keep") {
      kept_ = message.id();
      return {AckStatus::kQueued, {}};
    }
    if (what == "finish") finish();
    if (what == "dead letters") return {AckStatus::kAccepted, dead_letters()};
    if (what == "stop") agent_->stop_serving();
    return {AckStatus::kAccepted, "yes"};
  }
  void finish() {
    if (kept_ != 0) jobs_.push_back(agent_->held(kept_).value());
    for (Message& job : jobs_) {
      EXPECT_TRUE(agent_->reply(job, "the result of " + std::string(job.text())));
      EXPECT_EQ(agent_->reply(job, "once more").status, SendStatus::kNoRoute) << "it has ended";
      EXPECT_FALSE(job.valid()) << "C-08: its answer ends it";
      job.done();
    }
    EXPECT_EQ(agent_->counters().leased, 1U) << "the order to finish";
    jobs_.clear();
  }
  std::string dead_letters() {
    std::string list;
    for (const InboxItem& item : agent_->inbox()) {
      if (item.dead) list += item.type + ": " + item.reason + '\n';
    }
    return list;
  }

  AckBoard& board_;
  std::optional<Agent> agent_;
  std::vector<Message> jobs_;
  MessageId kept_ = 0;
};

BEELINE_ROLE(servant) { Servant(context.board<AckBoard>()).run(); }

// The parent of a servant that has attached.
std::optional<Agent> queen_of(AckBoard& board, Troupe& troupe) {
  auto agent = attach("queen");
  troupe.start("servant");
  EXPECT_TRUE(board.attached.await(1, patience()));
  return agent;
}

Acknowledgement told(Agent& agent, Peer to, const std::string& type, const std::string& text = "") {
  const auto ack = agent.send_acked(to, text, patience(), {.type = type});
  EXPECT_TRUE(ack) << ack.error().text;
  return ack.value_or(Acknowledgement{});
}

void stop(Agent& agent, Peer servant, Troupe& troupe) {
  EXPECT_TRUE(agent.send(servant, "", {.type = "stop"}));
  troupe.wait_all(patience());
  expect_balance(agent);
}

TEST_P(FlowAck, HK_053_TheSenderLearnsTheEndOfItsMessage) {
  auto agent = queen_of(board<AckBoard>(), troupe());
  ASSERT_TRUE(agent);
  const Peer servant = peer_of(*agent, "servant");

  const auto sent = agent->send(servant, "x", {.requires_ack = true});
  ASSERT_TRUE(sent);
  const auto accepted = agent->await_ack(servant, sent.id, patience());
  ASSERT_TRUE(accepted) << accepted.error().text;
  EXPECT_EQ(accepted->id, sent.id) << "HK-054";
  EXPECT_EQ(accepted->status, AckStatus::kAccepted);
  EXPECT_EQ(accepted->reply, "yes");

  const Acknowledgement rejected = told(*agent, servant, "reject");
  EXPECT_EQ(rejected.status, AckStatus::kRejected);
  EXPECT_EQ(rejected.reply, "no");
  EXPECT_EQ(told(*agent, servant, "dead letters").reply, "reject: rejected\n") << "C-08";
  stop(*agent, servant, troupe());
}

TEST_P(FlowAck, AnAcknowledgementThatNobodyAwaitsYetIsKeptAndNotHandedOut) {
  auto agent = queen_of(board<AckBoard>(), troupe());
  ASSERT_TRUE(agent);
  const Peer servant = peer_of(*agent, "servant");
  const auto first = agent->send(servant, "x", {.requires_ack = true});
  const auto second = agent->send(servant, "y", {.type = "reject", .requires_ack = true});
  ASSERT_TRUE(first && second);
  // An answer that comes after both of them shows that both have arrived.
  EXPECT_EQ(told(*agent, servant, "x").status, AckStatus::kAccepted);
  EXPECT_FALSE(agent->try_receive());
  EXPECT_TRUE(agent->drain_pending_results().empty());
  EXPECT_EQ(agent->await_ack(servant, second.id, patience())->status, AckStatus::kRejected);
  EXPECT_EQ(agent->await_ack(servant, first.id, patience())->status, AckStatus::kAccepted);
  const auto none = agent->await_ack(servant, first.id, after(1ms));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(agent->counters().queued, 0U);
  stop(*agent, servant, troupe());
}

TEST_P(FlowAck, C_08_QueuedKeepsTheLeaseUntilTheAnswerComes) {
  auto agent = queen_of(board<AckBoard>(), troupe());
  ASSERT_TRUE(agent);
  const Peer servant = peer_of(*agent, "servant");
  const Acknowledgement moved = told(*agent, servant, "take over", "A");
  EXPECT_EQ(moved.status, AckStatus::kQueued);
  EXPECT_EQ(moved.reply, "later");
  const Acknowledgement kept = told(*agent, servant, "keep", "B");
  EXPECT_EQ(kept.status, AckStatus::kQueued);
  EXPECT_FALSE(agent->try_receive()) << "the answers come later";
  EXPECT_EQ(told(*agent, servant, "finish").status, AckStatus::kAccepted);
  Message a = next_message(*agent, {.reply_to = moved.id});
  Message b = next_message(*agent, {.reply_to = kept.id});
  ASSERT_TRUE(a.valid() && b.valid());
  EXPECT_EQ(a.text(), "the result of A");
  EXPECT_EQ(b.text(), "the result of B");
  EXPECT_EQ(a.hops(), 0U);
  a.done();
  b.done();
  // No second acknowledgement came when the two were done.
  EXPECT_FALSE(agent->await_ack(servant, moved.id, after(1ms)));
  stop(*agent, servant, troupe());
}

TEST_P(FlowAck, C_08_EscalateHandsTheMessageToTheParent) {
  auto& shared = board<AckBoard>();
  auto agent = queen_of(shared, troupe());
  ASSERT_TRUE(agent);
  const Peer servant = peer_of(*agent, "servant");
  const auto sent =
      agent->send(servant, "too hard for a worker",
                  {.rank = kLow, .type = "escalate", .reply_to = 4711, .requires_ack = true});
  ASSERT_TRUE(sent);
  Message escalation = next_message(*agent);
  ASSERT_TRUE(escalation.valid());
  EXPECT_EQ(escalation.type(), kEscalation);
  EXPECT_EQ(escalation.rank(), kHigh);
  EXPECT_EQ(escalation.text(), "too hard for a worker");
  EXPECT_EQ(escalation.reply_to(), 4711U);
  EXPECT_EQ(escalation.cause(), sent.id);
  escalation.done();
  const auto ack = agent->await_ack(servant, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  EXPECT_EQ(ack->reply, "ask the queen");
  EXPECT_EQ(told(*agent, servant, "dead letters").reply, "");
  // Only the coordinator is above the queen; it writes the escalation into its log.
  EXPECT_TRUE(agent->escalate("nobody knows what to do"));
  EXPECT_NE(hive().log().find("nobody knows what to do"), std::string::npos) << "C-02";
  stop(*agent, servant, troupe());
}

TEST_P(FlowAck, AHandlerThatThrowsFailsThreeTimesAndThenItIsADeadLetter) {
  auto& shared = board<AckBoard>();
  auto agent = queen_of(shared, troupe());
  ASSERT_TRUE(agent);
  const Peer servant = peer_of(*agent, "servant");
  const Acknowledgement ack = told(*agent, servant, "throw");
  EXPECT_EQ(shared.handled.count(), 3U);
  EXPECT_EQ(ack.status, AckStatus::kRejected);
  EXPECT_EQ(ack.reply, "exhausted");
  EXPECT_EQ(told(*agent, servant, "dead letters").reply, "throw: exhausted\n");
  stop(*agent, servant, troupe());
}

// Looks only after its messages have expired.
BEELINE_ROLE(late_riser) {
  auto& board = context.board<AckBoard>();
  auto agent = attach("servant", "queen");
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.handled.await(1, patience()));
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  EXPECT_EQ(message.text(), "for ever");
  message.done();
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

TEST_P(FlowAck, C_20_TheSenderOfAnExpiredMessageLearnsOfIt) {
  auto& shared = board<AckBoard>();
  auto agent = attach("queen");
  ASSERT_TRUE(agent);
  troupe().start("late_riser");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer servant = peer_of(*agent, "servant");
  const auto sent = agent->send(servant, "soon over", {.ttl_ms = 1, .requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(agent->send(servant, "for ever"));
  let_pass(20ms);
  shared.handled.raise();
  const auto ack = agent->await_ack(servant, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kRejected);
  EXPECT_EQ(ack->reply, "expired");
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Two agents under "queen" that get one broadcast: the first one rejects it, the second one accepts
// it when the test lets it.
BEELINE_ROLE(voter) {
  auto& board = context.board<AckBoard>();
  auto agent = attach("voter-" + std::to_string(context.number), "queen");
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  if (context.number == 0) {
    message.reject("never");
    board.handled.raise();
  } else {
    EXPECT_TRUE(board.handled.await(2, patience()));
    message.done("at last");
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowAck, C_34_EachTargetOfABroadcastSpeaksForItself) {
  auto& shared = board<AckBoard>();
  auto agent = attach("queen");
  ASSERT_TRUE(agent);
  troupe().start("voter", 0);
  troupe().start("voter", 1);
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const auto sent = agent->broadcast(Group::children(), "vote", {.requires_ack = true});
  ASSERT_EQ(sent.size(), 2U);
  const MessageId id = sent[0].result.id;
  EXPECT_EQ(sent[1].result.id, id);
  ASSERT_TRUE(shared.handled.await(1, patience()));
  // The first one's acknowledgement has come, and does not count for the second one.
  const Peer first = peer_of(*agent, "voter-0");
  const Peer second = peer_of(*agent, "voter-1");
  EXPECT_FALSE(agent->await_ack(second, id, after(1ms)));
  const auto rejected = agent->await_ack(first, id, patience());
  ASSERT_TRUE(rejected);
  EXPECT_EQ(rejected->reply, "never");
  shared.handled.raise();
  const auto accepted = agent->await_ack(second, id, patience());
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->reply, "at last");
  const auto endless = agent->await_ack(second, id, Deadline::max());
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kInvalid);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Asks for more acknowledgements than its link holds, and reads none.
BEELINE_ROLE(silent_asker) {
  auto& board = context.board<AckBoard>();
  AttachOptions options = named("silent");
  options.temporary = true;  // its unread acknowledgements go with it
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "servant");
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(agent->send_until(to, "x", patience(), {.requires_ack = true}));
  }
  board.attached.raise();
  EXPECT_TRUE(board.attached.await(3, patience()));
}

TEST_P(FlowAck, ASenderThatDoesNotReadItsAcknowledgementsHoldsUpNobody) {
  auto& shared = board<AckBoard>();
  auto agent = queen_of(shared, troupe());
  ASSERT_TRUE(agent);
  troupe().start("silent_asker");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer servant = peer_of(*agent, "servant");
  EXPECT_EQ(told(*agent, servant, "x").status, AckStatus::kAccepted);
  shared.attached.raise();
  stop(*agent, servant, troupe());
}

}  // namespace
}  // namespace beeline::test
