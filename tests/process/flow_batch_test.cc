// Several messages for one call: in delivery order, each with a lease of its own.

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct BatchBoard {
  Event go;
};

class FlowBatch : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowBatch);

std::vector<std::string> texts_of(std::span<const Message> messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) texts.emplace_back(message.text());
  return texts;
}
using Texts = std::vector<std::string>;

// Two agents of this thread, and the receiver as the other one sees it.
struct Pair {
  std::optional<Agent> agent;
  std::optional<Agent> other;
  Peer to;
};

void attach_pair(Pair& pair) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  auto other = attach("other");
  ASSERT_TRUE(other);
  pair.to = peer_of(*other, "receiver");
  pair.agent = std::move(*agent);
  pair.other = std::move(*other);
}

// The cause that a message from one agent to the other carries now; 0 if none comes.
MessageId cause_of_next(Agent& from, Peer to, Agent& receiver) {
  EXPECT_TRUE(from.send(to, "y"));
  auto message = receiver.receive({.timeout = kPatience});
  EXPECT_TRUE(message);
  const MessageId cause = message ? message->cause() : 0;
  if (message) message->done();
  return cause;
}

// Sends three messages of each of two ranks, and one more when the test lets it.
BEELINE_ROLE(batch_sender) {
  auto& board = context.board<BatchBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (const char* text : {"a", "b", "c"}) ASSERT_TRUE(agent->send(to, text, {.rank = kNormal}));
  for (const char* text : {"A", "B", "C"}) ASSERT_TRUE(agent->send(to, text, {.rank = kHigh}));
  ASSERT_TRUE(board.go.await(1, patience()));
  ASSERT_TRUE(agent->send(to, "last"));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowBatch, HoldsTheNextMessagesInDeliveryOrderAndNoMoreThanThereAre) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  const std::size_t sender = troupe().start("batch_sender");
  await_drained(*agent, 6);
  std::array<Message, 4> batch;
  auto count = agent->receive_batch(batch, {.timeout = kPatience});
  ASSERT_TRUE(count) << count.error().text;
  ASSERT_EQ(*count, 4U);
  EXPECT_EQ(texts_of(batch), (Texts{"A", "B", "C", "a"})) << "HK-010";
  EXPECT_EQ(agent->counters().leased, 4U);
  for (Message& message : batch) message.done();
  EXPECT_EQ(agent->try_receive_batch(batch), 2U);
  EXPECT_EQ(texts_of(std::span(batch).first(2)), (Texts{"b", "c"}));
  EXPECT_FALSE(batch[2].valid());
  batch[1].done();  // in any order
  batch[0].done();
  EXPECT_EQ(agent->try_receive_batch(batch), 0U);
  board<BatchBoard>().go.raise();
  count = agent->receive_batch(batch, {.timeout = kPatience});
  ASSERT_TRUE(count) << "it waits for the first: " << count.error().text;
  EXPECT_EQ(*count, 1U);
  EXPECT_EQ(batch[0].text(), "last");
  batch[0].done();
  EXPECT_EQ(agent->counters().done, 7U);
  troupe().wait(sender, patience());
}

TEST_P(FlowBatch, TheFirstThatHasNotEndedIsTheOneThatIsHandled) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(attach_pair(pair));
  auto& [agent, other, to] = pair;
  const Peer back = peer_of(*agent, "other");
  std::vector<MessageId> ids;
  for (int i = 0; i < 3; ++i) {
    const SendResult sent = other->send(to, "x");
    ASSERT_TRUE(sent);
    ids.push_back(sent.id);
  }
  await_drained(*agent, 3);
  std::array<Message, 3> batch;
  ASSERT_EQ(agent->try_receive_batch(batch), 3U);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(cause_of_next(*agent, back, *other), ids[i]);
    batch[i].done();
  }
  EXPECT_EQ(cause_of_next(*agent, back, *other), 0U);
}

TEST_P(FlowBatch, UnfinishedMessagesOfABatchGoBackBeforeTheNextBatchIsFilled) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(attach_pair(pair));
  auto& [agent, other, to] = pair;
  for (const char* text : {"a", "b", "c"}) ASSERT_TRUE(other->send(to, text));
  await_drained(*agent, 3);
  std::array<Message, 2> batch;
  ASSERT_EQ(agent->try_receive_batch(batch), 2U);
  batch[0].done();
  ASSERT_EQ(agent->try_receive_batch(batch), 2U);
  EXPECT_EQ(texts_of(batch), (Texts{"b", "c"})) << "in its old place";
  EXPECT_EQ(batch[0].attempts(), 1U);
  EXPECT_EQ(batch[1].attempts(), 0U);
  for (Message& message : batch) message.done();
}

TEST_P(FlowBatch, TakesWhatAFilterMatches) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(attach_pair(pair));
  auto& [agent, other, to] = pair;
  for (const char* text : {"a", "b", "c"}) {
    ASSERT_TRUE(other->send(to, text, {.type = text[0] == 'b' ? "odd" : "even"}));
  }
  std::array<Message, 3> batch;
  const auto count =
      agent->receive_batch(batch, {.timeout = kPatience, .filter = {.type = "even"}});
  ASSERT_TRUE(count) << count.error().text;
  ASSERT_EQ(*count, 2U);
  EXPECT_EQ(texts_of(std::span(batch).first(2)), (Texts{"a", "c"}));
}

TEST_P(FlowBatch, GoesBeforeMessagesThatWereHandedOutBefore) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(attach_pair(pair));
  auto& [agent, other, to] = pair;
  const Peer back = peer_of(*agent, "other");
  const MessageId older = other->send(to, "a").id;
  auto held = agent->receive({.timeout = kPatience});
  ASSERT_TRUE(held);
  const MessageId newer = other->send(to, "b").id;
  std::array<Message, 2> batch;
  ASSERT_EQ(agent->try_receive_batch(batch), 1U);
  for (const MessageId handled : {newer, older}) {
    EXPECT_EQ(cause_of_next(*agent, back, *other), handled);
    batch[0].done();
  }
  held->done();
}

// Each call fetches the messages that this thread has sent, however much came through the link
// before.
TEST_P(FlowBatch, AMessageThatTheSameThreadHasSentIsNeverLeftInItsLane) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(attach_pair(pair));
  auto& [agent, other, to] = pair;
  std::array<Message, 32> batch;
  ASSERT_TRUE(other->send(to, "first"));
  ASSERT_TRUE(agent->receive_batch(batch, {.timeout = kPatience}))
      << "the link is known from then on";
  batch[0].done();
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(other->send(to, "low", {.rank = kLow}));
    ASSERT_TRUE(other->send(to, "high", {.rank = kHigh}));
    ASSERT_EQ(agent->try_receive_batch(batch), 21U);
    ASSERT_EQ(batch[0].text(), "high");
    for (Message& message : batch) message.done();
  }
}

// Nothing but a ring wakes it outside of the library.
TEST_P(FlowBatch, AReceiverThatHasEmptiedItsInboxCanWaitForItsFd) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  const int fd = agent->fd();
  const std::size_t sender = troupe().start("batch_sender");
  board<BatchBoard>().go.raise();
  std::array<Message, 4> batch;
  for (std::size_t taken = 0; taken < 7;) {
    const std::size_t count = agent->try_receive_batch(batch);
    for (Message& message : batch) message.done();
    taken += count;
    if (count != 0) continue;
    ASSERT_TRUE(os::wait_readable(fd, kPatience)) << "nobody rings";
  }
  troupe().wait(sender, patience());
}

TEST_P(FlowBatch, RoomForNoneAndNoMessageAreErrors) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  const auto nothing = agent->receive_batch({});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kInvalid);
  EXPECT_NE(nothing.error().text.find("room for 0 messages"), std::string::npos)
      << nothing.error().text;
  EXPECT_EQ(agent->try_receive_batch({}), 0U);
  std::array<Message, 1> batch;
  const auto late = agent->receive_batch(batch, {.timeout = std::chrono::milliseconds(1)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace beeline::test
