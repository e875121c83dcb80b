// A message inherits from the message that its sender names, among several that the sender holds.

#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct AboutBoard {
  Event attached;
};

class FlowAbout : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowAbout);

TraceContext trace_of(std::uint8_t number) {
  TraceContext trace;
  trace.trace_id[0] = number;
  return trace;
}

// Holds two messages at once, and sends about each in each way.
BEELINE_ROLE(holder) {
  auto agent = attach("holder", "boss");
  ASSERT_TRUE(agent);
  context.board<AboutBoard>().attached.raise();
  const Peer boss = peer_of(*agent, "boss");
  Message first = next_message(*agent);
  Message second = next_message(*agent);
  ASSERT_TRUE(first.valid() && second.valid());
  EXPECT_TRUE(agent->send(boss, "of the second"));
  EXPECT_TRUE(agent->send(boss, "of the first", {.about = &first}));
  EXPECT_TRUE(agent->send(boss, "of it all the same", {.inherit = false, .about = &first}));
  auto loan = agent->loan(boss, 3);
  ASSERT_TRUE(loan);
  EXPECT_TRUE(agent->send(*loan, {.about = &first}));
  EXPECT_TRUE(agent->send_control(boss, "steer", "", {.about = &first}));
  EXPECT_TRUE(agent->escalate("help", {.about = &first}));
  EXPECT_TRUE(agent->broadcast(Group::role("agent"), "all", {.about = &first}).at(0).result);
  EXPECT_TRUE(agent->fire_and_forget(boss, "and forget", {.about = &first}));
  EXPECT_TRUE(agent->request(boss, "a request", patience(), {.about = &first}));
  const Request request{.to = boss, .payload = "a request", .options = {.about = &first}};
  EXPECT_TRUE(agent->request_all({request}).at(0));
  EXPECT_TRUE(agent->reply(first, "the end", {.about = &first}));
  first.done();
  second.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowAbout, AMessageInheritsFromTheMessageThatItsSenderNames) {
  AttachOptions options = named("boss");
  options.role = "agent";
  auto boss = attach(options);
  ASSERT_TRUE(boss);
  troupe().start("holder");
  ASSERT_TRUE(board<AboutBoard>().attached.await(1, patience()));
  const Peer holder = peer_of(*boss, "holder");
  const SendResult first = boss->send(holder, "first", {.trace = trace_of(1), .hops = 5});
  const SendResult second = boss->send(holder, "second", {.trace = trace_of(2), .hops = 9});
  ASSERT_TRUE(first && second);
  bool is_over = false;
  int seen = 0;
  while (!is_over) {
    Message message = next_message(*boss);
    ASSERT_TRUE(message.valid());
    const bool of_second = message.text() == "of the second";
    is_over = message.text() == "the end";
    EXPECT_EQ(message.cause(), of_second ? second.id : first.id) << message.text();
    if (!is_over) {
      // An escalation is as far from the origin as what it is about.
      const std::uint32_t of_first = message.text() == "help" ? 5U : 6U;
      EXPECT_EQ(message.hops(), of_second ? 10U : of_first) << message.text();
      EXPECT_EQ(message.trace(), trace_of(of_second ? 2 : 1)) << message.text();
    }
    ++seen;
    message.done("an answer");
  }
  EXPECT_EQ(seen, 11);
  troupe().wait_all(patience());
}

TEST_P(FlowAbout, AMessageThatTheSenderDoesNotHoldIsRefused) {
  auto agent = attach("agent");
  auto other = attach("other");
  ASSERT_TRUE(agent && other);
  const Peer to = peer_of(*agent, "other");
  ASSERT_TRUE(agent->send(to, "held by the other"));
  Message foreign = next_message(*other);
  ASSERT_TRUE(other->send("agent", "?"));
  Message ended = next_message(*agent);
  ASSERT_TRUE(foreign.valid() && ended.valid());
  const MessageId question = ended.id();
  EXPECT_EQ(agent->reply(ended, "!", {.about = &foreign}).status, SendStatus::kNoRoute);
  ended.done();
  for (const Message* wrong : {&foreign, &ended}) {
    const SendOptions about{.reply_to = question, .about = wrong};
    const SendResult sent = agent->send(to, "?", about);
    EXPECT_EQ(sent.status, SendStatus::kNoRoute);
    EXPECT_NE(sent.text().find("SendOptions::about"), std::string::npos) << sent.text();
    EXPECT_EQ(agent->send_control(to, "steer", "", about).status, SendStatus::kNoRoute);
    EXPECT_EQ(agent->escalate("?", about).status, SendStatus::kNoRoute);
    EXPECT_EQ(agent->broadcast(Group::all(), "?", about).at(0).result.status, SendStatus::kNoRoute);
    EXPECT_EQ(agent->fire_and_forget(to, "?", about).status, SendStatus::kNoRoute);
    const auto answer = agent->request(to, "?", patience(), about);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid) << answer.error().text;
  }
  EXPECT_EQ(agent->links().at(0).sent, 1U) << "nothing was sent";
}

TEST_P(FlowAbout, AnotherThreadNamesNoMessage) {
  auto agent = attach("agent");
  ASSERT_TRUE(agent);
  const Peer self = peer_of(*agent, "agent");
  ASSERT_TRUE(agent->send(self, "held"));
  Message held = next_message(*agent);
  ASSERT_TRUE(held.valid());
  SharedSender shared = agent->shared_sender();
  const SendResult sent = shared.send(self, "?", {.about = &held});
  EXPECT_EQ(sent.status, SendStatus::kNoRoute);
  EXPECT_NE(sent.text().find("give cause and trace"), std::string::npos) << sent.text();
  EXPECT_TRUE(agent->send(self, "?", {.about = &held})) << "the agent's own thread may";
}

}  // namespace
}  // namespace beeline::test
