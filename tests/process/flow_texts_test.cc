// More types and channels than the table of a link has places: messages carry their texts.

#include <cstring>
#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class FlowTexts : public HiveTest {
 protected:
  // Uses up the places that are not kept for types of the engine.
  static void fill_table(Agent& from, Agent& to) {
    const Peer peer = peer_of(from, to.name());
    for (int i = 0; i < 260; ++i) {
      ASSERT_TRUE(from.send(peer, "", {.type = "filler " + std::to_string(i)}));
      Message message = next_message(to);
      ASSERT_EQ(message.type(), "filler " + std::to_string(i));
      message.done();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(As, FlowTexts, testing::Values(World::kProcesses), world_name);

TEST_P(FlowTexts, NoTypeAndNoChannelIsOneTooMany) {
  auto sink = attach("sink");
  auto agent = attach("talker");
  ASSERT_TRUE(sink && agent);
  const Peer to = peer_of(*agent, "sink");
  TraceContext trace;
  trace.trace_id[0] = 7;
  const std::size_t lengths[] = {0, 1, 64, 65, 960, 961, 1024, 5000, 70'000};
  for (int i = 0; i < 600; ++i) {
    SendOptions options;
    const std::string type = std::string(i % 3 == 0 ? 20 : 0, 't') + std::to_string(i);
    const std::string channel = std::string(20, 'c') + std::to_string(i);
    options.type = type;
    if (i % 2 == 0) options.channel = channel;
    if (i % 5 == 0) options.rank = kCritical;
    if (i % 7 == 0) options.trace = trace;
    const std::string payload(lengths[i % std::size(lengths)], static_cast<char>('a' + i % 26));
    const SendResult sent = agent->send(to, payload, options);
    ASSERT_TRUE(sent) << sent.text();
    Message message = next_message(*sink);
    EXPECT_EQ(message.type(), type);
    EXPECT_EQ(message.channel(), options.channel);
    EXPECT_TRUE(message.text() == payload) << i;
    message.done();
  }
}

TEST_P(FlowTexts, ALoanOfTheLargestPayloadHasRoomForThem) {
  auto sink = attach("sink");
  AttachOptions options = named("talker");
  options.max_payload_bytes = 64U << 10;
  auto agent = attach(options);
  ASSERT_TRUE(sink && agent);
  ASSERT_NO_FATAL_FAILURE(fill_table(*agent, *sink));
  const Peer to = peer_of(*agent, "sink");
  for (const std::size_t length : {std::size_t{900}, std::size_t{1024}, std::size_t{64} << 10}) {
    for (int i = 0; i < 3; ++i) {
      auto loan = agent->loan(to, length);
      ASSERT_TRUE(loan) << loan.error().text;
      std::memset(loan->bytes().data(), 'a' + i, length);
      ASSERT_TRUE(agent->send(*loan, {.type = "lent"}));
      EXPECT_FALSE(loan->valid());
      Message message = next_message(*sink);
      EXPECT_EQ(message.type(), "lent");
      EXPECT_EQ(message.text(), std::string(length, static_cast<char>('a' + i)));
      message.done();
    }
  }
}

TEST_P(FlowTexts, AFilterAndTheNextLifeReadThem) {
  auto sink = attach("sink");
  auto agent = attach("talker");
  ASSERT_TRUE(sink && agent);
  ASSERT_NO_FATAL_FAILURE(fill_table(*agent, *sink));
  const Peer to = peer_of(*agent, "sink");
  for (const char* const text : {"first", "second", "third"}) {
    ASSERT_TRUE(agent->send(to, text, {.type = text, .channel = "work"}));
  }
  next_message(*sink, {.type = "second", .channel = "work"}).done();
  // One was taken and is not finished; the other is only queued.
  EXPECT_EQ(next_message(*sink).type(), "first");
  sink.reset();
  ASSERT_TRUE(agent->send(to, "fourth", {.type = "fourth", .channel = "work"}));
  sink = attach("sink");
  ASSERT_TRUE(sink);
  for (const char* const text : {"first", "third", "fourth"}) {
    Message message = next_message(*sink);
    EXPECT_EQ(message.type(), text);
    EXPECT_EQ(message.channel(), "work");
    EXPECT_EQ(message.text(), text);
    message.done();
  }
}

TEST_P(FlowTexts, TheTypesOfTheEngineKeepTheirPlace) {
  auto queen = attach("queen");
  auto child = attach("child", "queen");
  ASSERT_TRUE(queen && child);
  ASSERT_NO_FATAL_FAILURE(fill_table(*child, *queen));
  ASSERT_TRUE(child->send(peer_of(*child, "queen"), "calm", {.rank = kHigh, .type = "carried"}));
  ASSERT_TRUE(child->escalate("help"));
  const SendResult doomed = child->send(peer_of(*child, "queen"), "", {.type = "doomed"});
  ASSERT_TRUE(doomed);
  ASSERT_TRUE(child->cancel(peer_of(*child, "queen"), doomed.id));
  for (const char* const type : {"carried", "escalation"}) {
    Message message = next_message(*queen);
    EXPECT_EQ(message.type(), type);
    EXPECT_EQ(message.rank(), kHigh);
    message.done();
  }
  EXPECT_FALSE(queen->try_receive()) << "it was taken back";
}

TEST_P(FlowTexts, AParentSeesThemInCopies) {
  auto queen = attach("queen");
  auto talker = attach("talker", "queen");
  auto listener = attach("listener", "queen");
  ASSERT_TRUE(queen && talker && listener);
  const Peer to = peer_of(*talker, "listener");
  for (int i = 0; i < 200; ++i) {  // a copy leaves half of the table for messages
    const std::string type = std::to_string(i);
    ASSERT_TRUE(talker->send(to, "psst", {.type = type}));
    next_message(*listener).done();
    Message copy = next_message(*queen);
    EXPECT_EQ(copy.type(), std::string(kSiblingTraffic) + type);
    EXPECT_EQ(copy.text(), "psst");
    copy.done();
  }
}

}  // namespace
}  // namespace beeline::test
