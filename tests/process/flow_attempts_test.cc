// How often a message is handed out, when that counts as an attempt, and the attempts that the next
// life finds.

#include <stdexcept>
#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct AttemptBoard {
  Event attached;
  Event asked;
  Event taken;
};

class FlowAttempts : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowAttempts);

// Waits for the end of its message.
BEELINE_ROLE(persistent_sender) {
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const auto ack = agent->send_acked(peer_of(*agent, "receiver"), "x", patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kRejected);
  EXPECT_EQ(ack->reply, "exhausted") << "C-07";
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowAttempts, C_08_AsManyAttemptsAsTheReceiverAllows) {
  std::uint64_t dead = 0;
  for (const std::uint32_t most : {1U, 5U}) {
    AttachOptions options = named("receiver");
    options.max_attempts = most;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    const std::size_t sender = troupe().start("persistent_sender");
    std::uint32_t attempts = 0;
    const auto fail = [&](Message& message) -> Ack {
      EXPECT_EQ(message.attempts(), attempts++);
      EXPECT_EQ(message.redelivered(), attempts != 1);
      throw std::runtime_error("as it was told");
    };
    ASSERT_TRUE(agent->serve(fail, {.until = patience(), .most = most}));
    EXPECT_EQ(attempts, most);
    // The look that finds the message exhausted hands nothing out.
    EXPECT_FALSE(agent->try_receive());
    EXPECT_EQ(agent->counters().dead, ++dead) << most;
    EXPECT_EQ(agent->inbox().back().attempts, most);
    EXPECT_FALSE(agent->next_notice());  // a look like this one also tells its end
    troupe().wait(sender, patience());
    EXPECT_EQ(agent->detach(patience()), 0U);
  }
}

TEST_P(FlowAttempts, AMessageThatIsPutBackComesAgainAtItsPlaceAsIfItWereNew) {
  AttachOptions options = named("receiver");
  options.max_attempts = 2;
  options.retry_pause = std::chrono::hours(1);
  auto agent = attach(options);
  auto sender = attach("sender");
  ASSERT_TRUE(agent && sender);
  ASSERT_TRUE(sender->send("receiver", "first", {.requires_ack = true}));
  ASSERT_TRUE(sender->send("receiver", "second"));
  for (int i = 0; i < 5; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), "first");
    EXPECT_EQ(message.attempts(), 0U);
    EXPECT_FALSE(message.redelivered());
    message.put_back();
    EXPECT_FALSE(message.valid());
    message.put_back();  // does nothing: the message has ended
  }
  // Spent attempts stay spent.
  Message message = next_message(*agent);
  message.reject();
  ASSERT_TRUE(agent->requeue_dead(agent->inbox().back().id));
  EXPECT_EQ(agent->counters().requeued, 5U);
  next_message(*agent).done();
  next_message(*agent).done();
  EXPECT_EQ(agent->counters().leased, 0U);
}

TEST_P(FlowAttempts, APutBackMessageThatWasTakenBackMeanwhileIsADeadLetter) {
  auto agent = attach("receiver");
  auto sender = attach("sender");
  ASSERT_TRUE(agent && sender);
  const Peer receiver = peer_of(*sender, "receiver");
  const SendResult sent = sender->send(receiver, "x");
  Message message = next_message(*agent);
  ASSERT_TRUE(sender->cancel(receiver, sent.id));
  ASSERT_TRUE(message.cancelled());
  message.put_back();
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->inbox().back().reason, "cancelled");
}

// ---- A next life --------------------------------------------------------------------------------

class FlowNextLife : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowNextLife, testing::Values(World::kProcesses), world_name);

// Accepts the first delivery and never ends it; answers a second one.
BEELINE_ROLE(holder) {
  auto& board = context.board<AttemptBoard>();
  auto agent = attach("holder");
  ASSERT_TRUE(agent);
  board.attached.raise();
  const auto handle = [&](Message& message) -> Ack {
    if (message.type() == "stop") {
      agent->stop_serving();
      return {};
    }
    if (!message.redelivered()) return {AckStatus::kQueued, "later"};
    EXPECT_EQ(message.attempts(), 1U);
    EXPECT_TRUE(agent->reply(message, "by the next life"));
    return {};
  };
  EXPECT_TRUE(agent->serve(handle));
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

// Asks the holder once, and waits through its death.
BEELINE_ROLE(asker_of_holder) {
  auto& board = context.board<AttemptBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const Peer holder = peer_of(*agent, "holder");
  std::string answer;
  const auto then = [&](Result<Message> reply) {
    answer = reply ? std::string(reply->text()) : reply.error().text;
    if (reply) reply->done();
    agent->stop_serving();
  };
  const auto asked =
      agent->request_then(holder, "hold this", patience(), then, {.requires_ack = true});
  ASSERT_TRUE(asked) << asked.error().text;
  const auto first = agent->await_ack(holder, *asked, patience());
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->status, AckStatus::kQueued);
  EXPECT_EQ(first->reply, "later");
  board.taken.raise();
  ASSERT_TRUE(agent->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_EQ(answer, "by the next life");
  const auto second = agent->await_ack(holder, *asked, patience());
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_EQ(second->status, AckStatus::kAccepted) << "of the life that handled it";
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

void stop_holder(Troupe& troupe) {
  auto agent = attach("stopper");
  ASSERT_TRUE(agent);
  EXPECT_TRUE(agent->send(peer_of(*agent, "holder"), "", {.type = "stop"}));
  troupe.wait_all(patience());
}

TEST_P(FlowNextLife, C_08_AMessageThatAHolderHadTakenOverComesToItsNextLifeAsAnotherAttempt) {
  auto& shared = board<AttemptBoard>();
  const std::size_t holder = troupe().start("holder");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const std::size_t asker = troupe().start("asker_of_holder");
  ASSERT_TRUE(shared.taken.await(1, patience()));
  troupe().kill(holder);
  troupe().restart(holder);
  troupe().wait(asker, patience());
  stop_holder(troupe());
}

// Answers every message.
BEELINE_ROLE(restarted) {
  auto& board = context.board<AttemptBoard>();
  auto agent = attach("restarted");
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    if (!last) {
      EXPECT_TRUE(agent->reply(message, message.text()));
    }
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(patient_asker) {
  auto& board = context.board<AttemptBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "restarted");
  board.asked.raise();
  ASSERT_TRUE(board.taken.await(1, patience()));  // the agent has no process now
  const auto then = [&](Result<Message> reply) {
    ASSERT_TRUE(reply) << reply.error().text;
    EXPECT_EQ(reply->text(), "are you there");
    reply->done();
    agent->stop_serving();
  };
  ASSERT_TRUE(agent->request_then(to, "are you there", patience(), then));
  board.asked.raise();
  EXPECT_TRUE(agent->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_TRUE(agent->send(to, "", {.type = "stop"}));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowNextLife, HK_062_ARequestWhileItsReceiverHasNoProcessIsAnsweredByTheNextLife) {
  auto& shared = board<AttemptBoard>();
  const std::size_t receiver = troupe().start("restarted");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("patient_asker");
  ASSERT_TRUE(shared.asked.await(1, patience()));
  troupe().kill(receiver);
  shared.taken.raise();
  ASSERT_TRUE(shared.asked.await(2, patience()));
  troupe().restart(receiver);
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
