// The fields of a message beside its payload, and those that it inherits from its cause.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct EnvelopeBoard {
  Event attached;
};

class FlowEnvelope : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowEnvelope);

TraceContext some_trace() {
  TraceContext trace;
  for (std::size_t i = 0; i < trace.trace_id.size(); ++i) {
    trace.trace_id[i] = static_cast<std::uint8_t>(i + 1);
  }
  trace.span_id = {0xa, 0xb, 0xc, 0xd, 0xe, 0xf, 0x10, 0x11};
  trace.flags = 1;
  return trace;
}

constexpr std::size_t kLengths[] = {0, 1, 15, 16, 17, 64, 65, 1024, 100'000};

// Sends one message of each length with every field set, and one with none.
BEELINE_ROLE(full_sender) {
  (void)context;
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  SendOptions options;
  options.rank = kHigh;
  options.type = "task_request";
  options.channel = "news";
  options.reply_to = 77;
  options.ttl_ms = 100'000;
  options.cause = 4711;
  options.trace = some_trace();
  options.requires_ack = true;
  options.hops = 2;
  for (const std::size_t length : kLengths) {
    const std::string text(length, 'x');
    ASSERT_TRUE(agent->send_until(to, text, patience(), options)) << length;
    auto loan = agent->loan(to, length);
    ASSERT_TRUE(loan);
    std::memset(loan->bytes().data(), 'x', length);
    ASSERT_TRUE(agent->send_until(*loan, patience(), options)) << length;
  }
  ASSERT_TRUE(agent->send(to, "bare"));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// As the sender filled it in.
void expect_full(Message& message, std::size_t length) {
  EXPECT_EQ(message.relation(), Relation::kSibling);
  EXPECT_EQ(message.rank(), kHigh);
  EXPECT_EQ(message.type(), "task_request");
  EXPECT_EQ(message.channel(), "news");
  EXPECT_EQ(message.reply_to(), 77U);
  EXPECT_EQ(message.ttl_ms(), 100'000U);
  EXPECT_EQ(message.cause(), 4711U);
  EXPECT_EQ(message.hops(), 2U);
  EXPECT_EQ(message.trace(), some_trace());
  EXPECT_GT(message.sent_ns(), 0);
  EXPECT_TRUE(message.requires_ack());
  EXPECT_EQ(message.attempts(), 0U);
  EXPECT_EQ(message.text(), std::string(length, 'x'));
}

TEST_P(FlowEnvelope, HK_001_TheReceiverReadsEveryField) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("full_sender");
  constexpr std::size_t kFull = 2 * std::size(kLengths);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kFull + 1));
  const std::vector<InboxItem> listed = agent->inbox();
  ASSERT_EQ(listed.size(), kFull + 1);
  const Pid from = peer_of(*agent, "sender").pid;
  MessageId last = 0;
  for (std::size_t i = 0; i < kFull; ++i) {
    const InboxItem& item = listed[i];
    const std::size_t length = kLengths[i / 2];
    EXPECT_EQ(item.from, from);
    EXPECT_EQ(item.from_name, "sender");
    EXPECT_EQ(item.reply_to, 77U);
    EXPECT_EQ(item.rank, kHigh);
    EXPECT_EQ(item.ttl_ms, 100'000U);
    EXPECT_EQ(item.cause, 4711U);
    EXPECT_EQ(item.hops, 2U);
    EXPECT_TRUE(item.requires_ack);
    EXPECT_EQ(item.length, length);
    EXPECT_EQ(item.type, "task_request");
    EXPECT_EQ(item.channel, "news");
    EXPECT_EQ(item.preview, std::string(std::min<std::size_t>(length, 64), 'x'));
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.id(), item.id);
    EXPECT_NE(message.id(), last) << "C-04";
    last = message.id();
    EXPECT_EQ(message.from(), from);
    EXPECT_EQ(message.from_name(), "sender");
    EXPECT_EQ(message.sent_ns(), item.sent_ns) << "HK-011";
    EXPECT_EQ(message.to(), agent->pid());
    ASSERT_NO_FATAL_FAILURE(expect_full(message, length));
    message.done();
  }
  Message bare = next_message(*agent);
  ASSERT_TRUE(bare.valid());
  EXPECT_EQ(bare.text(), "bare");
  EXPECT_EQ(bare.rank(), kNormal) << "HK-005";
  EXPECT_EQ(listed.back().rank, kNormal) << "HK-005";
  EXPECT_EQ(bare.type(), "");
  EXPECT_EQ(bare.cause(), 0U);
  EXPECT_FALSE(bare.requires_ack());
  EXPECT_TRUE(bare.trace().empty());
  bare.done();
  troupe().wait_all(patience());
  expect_balance(*agent);
}

BEELINE_ROLE(brief_sender) {
  (void)context;
  AttachOptions options = named("mayfly");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send(peer_of(*agent, "receiver"), "last words"));
}

TEST_P(FlowEnvelope, HK_001_TheNameOfASenderOutlivesIt) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("brief_sender");
  troupe().wait_all(patience());
  next_message(*agent).requeue();
  const std::vector<InboxItem> listed = agent->inbox();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].from_name, "mayfly");
  agent.reset();
  agent = attach_again(named("receiver"));
  ASSERT_TRUE(agent);
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  EXPECT_EQ(message.from_name(), "mayfly") << "it is announced again";
  EXPECT_EQ(agent->info(message.from()).value_or(AgentInfo{}).state, State::kDead);
  message.done();
  expect_balance(*agent);
}

// Passes every message on to the other player, and the last one to the umpire.
BEELINE_ROLE(pingpong) {
  auto& board = context.board<EnvelopeBoard>();
  auto agent = attach("player-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  board.attached.raise();
  const std::string other = "player-" + std::to_string(1 - context.number);
  MessageId handled_by_other = 0;
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    if (!last) {
      if (message.hops() > 1) {
        EXPECT_EQ(message.cause(), handled_by_other);
      }
      const SendResult sent = agent->send(peer_of(*agent, other), "on");
      handled_by_other = sent.id;
      if (sent.status == SendStatus::kLoop) {
        EXPECT_EQ(message.hops(), 32U);
        EXPECT_EQ(message.trace(), some_trace());
        // The umpire's message began the game; an answer to it would have as many hops as this one.
        message.done();
        EXPECT_TRUE(agent->send(peer_of(*agent, "umpire"), "loop"));
        continue;
      }
      EXPECT_TRUE(sent);
    }
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowEnvelope, MessagesThatLeadToEachOtherEndAtTheLimit) {
  auto& shared = board<EnvelopeBoard>();
  auto agent = attach("umpire");
  ASSERT_TRUE(agent);
  troupe().start("pingpong", 0);
  troupe().start("pingpong", 1);
  ASSERT_TRUE(shared.attached.await(2, patience()));
  ASSERT_TRUE(agent->send("player-0", "serve", {.trace = some_trace()}));
  Message end = next_message(*agent);
  ASSERT_TRUE(end.valid());
  EXPECT_EQ(end.text(), "loop");
  EXPECT_EQ(end.hops(), 0U);
  EXPECT_EQ(end.cause(), 0U);
  EXPECT_TRUE(end.trace().empty());
  end.done();
  for (const char* player : {"player-0", "player-1"}) {
    EXPECT_TRUE(agent->send(player, "", {.type = "stop"}));
  }
  troupe().wait_all(patience());
}

// Answers the first of two questions while it holds both, and sends a message that belongs to
// neither.
BEELINE_ROLE(two_leases) {
  auto& board = context.board<EnvelopeBoard>();
  auto agent = attach("answerer");
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message first = next_message(*agent, {.channel = "first"});
  Message second = next_message(*agent, {.channel = "second"});
  ASSERT_TRUE(first.valid() && second.valid());
  EXPECT_TRUE(agent->reply(first, "an answer"));
  const Peer asker = peer_of(*agent, "asker");
  EXPECT_TRUE(agent->send(asker, "led to by the second"));
  EXPECT_TRUE(agent->send(asker, "of itself", {.inherit = false}));
  SharedSender sender = agent->shared_sender();
  EXPECT_TRUE(sender.send(asker, "of a thread"));
  first.done();
  second.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowEnvelope, AnAnswerBelongsToItsQuestionAndOtherSendsToTheHandledMessage) {
  auto& shared = board<EnvelopeBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("two_leases");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer to = peer_of(*agent, "answerer");
  TraceContext other = some_trace();
  other.flags = 9;
  const SendResult first = agent->send(to, "1", {.channel = "first", .trace = some_trace()});
  const SendResult second = agent->send(to, "2", {.channel = "second", .trace = other});
  ASSERT_TRUE(first && second);
  struct Expected {
    const char* text;
    MessageId cause;
    std::uint32_t hops;
    TraceContext trace;
  };
  const Expected all[] = {{"an answer", first.id, 0, some_trace()},
                          {"led to by the second", second.id, 1, other},
                          {"of itself", 0, 0, {}},
                          {"of a thread", 0, 0, {}}};
  for (const Expected& expected : all) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), expected.text);
    EXPECT_EQ(message.cause(), expected.cause) << expected.text;
    EXPECT_EQ(message.hops(), expected.hops) << expected.text;
    EXPECT_EQ(message.trace(), expected.trace) << expected.text;
    message.done();
  }
  troupe().wait_all(patience());
}

// A receiver checks the limit again: its own may be lower than the sender's.
BEELINE_ROLE(strict_about_hops) {
  auto& board = context.board<EnvelopeBoard>();
  AttachOptions options = named("strict");
  options.max_hops = 0;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message first = next_message(*agent);
  ASSERT_TRUE(first.valid());
  EXPECT_EQ(first.text(), "straight");
  first.done();
  const auto items = agent->inbox();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_TRUE(items.front().dead);
  EXPECT_EQ(items.front().reason, "loop");
  expect_balance(*agent);
}

TEST_P(FlowEnvelope, AMessageFromBeyondTheReceiversLimitIsADeadLetter) {
  auto& shared = board<EnvelopeBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("strict_about_hops");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  ASSERT_TRUE(agent->send("sender", "to myself"));
  Message handled = next_message(*agent);
  ASSERT_TRUE(handled.valid()) << "HK-038";
  ASSERT_TRUE(agent->send("strict", "one hop too far"));
  handled.done();
  ASSERT_TRUE(agent->send("strict", "straight"));
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
