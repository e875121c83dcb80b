// The error texts of sends and waits: the problem, the limit, the value, the next step.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class FlowErrorText : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowErrorText);

void expect_words(const Error& error, ErrorCode code,
                  std::initializer_list<std::string_view> words) {
  EXPECT_EQ(error.code, code) << error.text;
  for (const std::string_view word : words) {
    EXPECT_NE(error.text.find(word), std::string::npos) << word << " is not in: " << error.text;
  }
}

template <typename T>
void expect_error(const Result<T>& result, ErrorCode code,
                  std::initializer_list<std::string_view> words) {
  ASSERT_FALSE(result);
  expect_words(result.error(), code, words);
}

AttachOptions narrow() {
  AttachOptions options = named("asker");
  options.max_payload_bytes = 64U << 10;
  options.max_hops = 0;
  return options;
}

TEST_P(FlowErrorText, ARequestThatIsNotSentSaysWhyWithLimitAndValue) {
  auto agent = attach(narrow());
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "asker");
  const std::string large(70'000, 'x');
  const std::string type(52, 't');
  expect_error(agent->request(to, large, patience()), ErrorCode::kTooBig,
               {"payload", "70000 bytes", "65536", "nothing was sent"});
  expect_error(agent->request(to, "", patience(), {.type = type}), ErrorCode::kTooBig,
               {"the type has 52 bytes", "the limit is 31"});
  expect_error(agent->request(to, "", patience(), {.channel = type}), ErrorCode::kTooBig,
               {"the channel has 52 bytes", "the limit is 31"});
  expect_error(agent->request(to, "", Deadline::max()), ErrorCode::kInvalid,
               {"to agent " + std::to_string(to.pid) + ":", "needs a deadline"});

  ASSERT_TRUE(agent->send(to, "begin"));
  Message begin = next_message(*agent);
  ASSERT_TRUE(begin.valid());
  expect_error(agent->request(to, "", patience()), ErrorCode::kLoop,
               {"hops() would be 1", "max_hops = 0", "inherit"});
  begin.done();
  expect_balance(*agent);
}

TEST_P(FlowErrorText, AWaitThatEndsSaysHowLongItWasAndWhatToDo) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "asker");
  expect_error(agent->receive({.timeout = 3ms}), ErrorCode::kTimeout,
               {"no message came within 3 ms", "wait longer"});
  expect_error(agent->receive({.timeout = 1ms, .filter = {.type = "none"}}), ErrorCode::kTimeout,
               {"filter", "within 1 ms"});
  expect_error(agent->request(to, "?", after(2ms)), ErrorCode::kTimeout,
               {"no answer within ", " ms;", "is kept as a late answer"});
  expect_error(agent->request(to, "?", after(2ms), {.cancel_on_timeout = true}),
               ErrorCode::kTimeout, {"an order to give the message back was sent"});
  expect_error(agent->await_ack(to, 77, after(2ms)), ErrorCode::kTimeout,
               {"no acknowledgement within ", "it may come later"});
  while (auto message = agent->try_receive()) message->done();
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_error(agent->receive(), ErrorCode::kClosed, {"attach again"});
  expect_error(agent->request(to, "?", patience()), ErrorCode::kNoRoute, {"left", "attach again"});
}

// The error of a request to this peer that is not sent, behind the name of the peer.
std::string refusal_of(Agent& agent, Peer to, std::string_view payload,
                       const SendOptions& options = {}) {
  const auto ignore = [](const Result<Message>&) {};
  const auto refused = agent.request_then(to, payload, patience(), ignore, options);
  if (refused) return "it was sent";
  const std::string whom = "message to agent " + std::to_string(to.pid) + ": ";
  EXPECT_TRUE(refused.error().text.starts_with(whom)) << refused.error().text;
  return refused.error().text.substr(std::min(refused.error().text.size(), whom.size()));
}

TEST_P(FlowErrorText, EachRefusalOfASendInWhole) {
  auto sink = attach("sink");
  AttachOptions options = named("asker");
  options.max_payload_bytes = 64U << 10;
  options.normal_slots = 2;
  auto agent = attach(options);
  ASSERT_TRUE(sink && agent);
  const Peer to = peer_of(*agent, "sink");
  EXPECT_EQ(refusal_of(*agent, to, std::string(70'000, 'x')),
            "too_big: the payload has 70000 bytes, the limit is 65536; send it in parts, or attach "
            "with a larger max_payload_bytes; nothing was sent");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(agent->send(to, "in the way"));
  EXPECT_EQ(refusal_of(*agent, to, "x"),
            "full: the receiver has not taken 2 of our messages, and there is no room for "
            "more; see in `beeline status` what it is at, and try later, or wait for room "
            "(send_until(), `beeline send --timeout`); nothing was sent");
  while (auto message = sink->try_receive()) message->done();

  options = named("hasty");
  options.send_rate = 0.5;
  options.send_burst = 1;
  auto hasty = attach(options);
  ASSERT_TRUE(hasty);
  const Peer slow = peer_of(*hasty, "sink");
  ASSERT_TRUE(hasty->send(slow, "x"));
  EXPECT_EQ(refusal_of(*hasty, slow, "x"),
            "rate_limited: send_rate allows 0.5 messages per second to each peer; try later; "
            "nothing was sent");
  const auto limit = hasty->loan(slow, 1U << 30);
  ASSERT_FALSE(limit);
  EXPECT_EQ(limit.error().text,
            "loan of 1073741824 bytes for agent " + std::to_string(slow.pid) +
                ": the payload has 1073741824 bytes, the limit of the hive is 67108864; send it in "
                "parts, or raise that with `beeline up --max-payload` when the hive starts");
}

TEST_P(FlowErrorText, ARequestToTheDeadSaysSo) {
  auto agent = attach("asker");
  AttachOptions options = named("mayfly");
  options.temporary = true;
  auto mayfly = attach(options);
  ASSERT_TRUE(agent && mayfly);
  const Peer to = peer_of(*agent, "mayfly");
  mayfly.reset();
  EXPECT_EQ(refusal_of(*agent, to, "x"),
            "peer_dead: the receiver is finally dead; `beeline tree` shows who has its name now, "
            "and Agent::peer() finds it; nothing was sent");
  const auto loan = agent->loan(to, 100);
  expect_error(loan, ErrorCode::kPeerDead, {"loan of 100 bytes", "finally dead", "Agent::peer()"});
}

TEST_P(FlowErrorText, AResultOfASendSaysTheSameAndWhoDidNotGetIt) {
  auto sink = attach("sink");
  AttachOptions options = narrow();
  options.normal_slots = 2;
  auto agent = attach(options);
  ASSERT_TRUE(sink && agent);
  const Peer to = peer_of(*agent, "sink");
  const std::string whom = "message to agent " + std::to_string(to.pid) + " was not sent: ";
  EXPECT_EQ(agent->send(to, std::string(70'000, 'x')).text(),
            whom +
                "too_big: the payload has 70000 bytes, the limit is 65536; send it in parts, or "
                "attach with a larger max_payload_bytes");
  EXPECT_EQ(agent->send(to, "", {.channel = std::string(52, 'c')}).text(),
            whom + "too_big: the channel has 52 bytes, the limit is 31; use a shorter one");
  EXPECT_EQ(agent->send(to, "1").text(), "ok");
  ASSERT_TRUE(agent->send(to, "2"));
  const std::vector<SendResult> full{agent->send(to, "3"), agent->send_until(to, "4", after(1ms)),
                                     agent->broadcast(Group::all(), "5").front().result};
  for (const SendResult& each : full) {
    EXPECT_TRUE(
        each.text().starts_with(whom + "full: the receiver has not taken 2 of our messages"))
        << each.text();
  }
  ASSERT_TRUE(sink->send("asker", "begin"));
  const Message begin = next_message(*agent);
  EXPECT_TRUE(agent->send(to, "6").text().starts_with(whom + "loop: its hops() would be 1"));
  // Each result keeps its own text, until the 17th result after it.
  const SendResult nobody = agent->send("nobody", "x");
  const SendResult number = agent->send("4711", "x");
  EXPECT_TRUE(nobody.text().starts_with(
      "message was not sent: no_agent: no agent named \"nobody\" in hive \"" + hive().name()))
      << nobody.text();
  EXPECT_EQ(number.text(), "message was not sent: no_agent: receiver PID 4711 not found");
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(agent->send("nobody", "x"));
  EXPECT_EQ(nobody.text(),
            "message was not sent: no_agent: nobody has that name or pid; `beeline "
            "tree` shows who is there");
}

TEST_P(FlowErrorText, AResultOfASendThatARuleForbidsNamesThePair) {
  auto lead = attach("lead");
  AttachOptions options = named("chore", "lead");
  options.role = "task";
  auto chore = attach(options);
  auto other = attach("other");
  ASSERT_TRUE(lead && chore && other);
  for (const Delivery& each : chore->broadcast(Group::role("worker"), "x")) {
    if (each.name != "other") continue;
    const std::string pair =
        std::to_string(chore->pid()) + " " + std::to_string(other->pid()) + "`";
    EXPECT_NE(each.result.text().find("`beeline route " + pair), std::string::npos)
        << each.result.text();
  }
  const std::string text = chore->send("other", "x").text();
  EXPECT_NE(text.find("denied: "), std::string::npos) << text;
  EXPECT_NE(text.find("task"), std::string::npos) << "the words of the rule: " << text;
}

TEST_P(FlowErrorText, ACallWithoutAPeerIsToldWhereToTakeOne) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const auto expect_no_peer = [](const auto& result) {
    expect_error(result, ErrorCode::kInvalid, {"no peer: take one from Agent::peer()"});
  };
  expect_no_peer(agent->request(Peer{}, "x", patience()));
  expect_no_peer(agent->send_acked(Peer{}, "x", patience()));
  expect_no_peer(agent->await_ack(Peer{}, 4711, patience()));
  expect_no_peer(agent->loan(Peer{}, 1));
  expect_no_peer(agent->request_then(Peer{}, "x", patience(), [](const Result<Message>&) {}));
  EXPECT_EQ(agent->detach(patience()), 0U);
  for (const auto& error : {agent->peer("asker").error(), agent->peer(Pid{2}).error(),
                            agent->info().error(), agent->loan(Peer{}, 1).error()}) {
    expect_words(error, ErrorCode::kClosed, {"has ended", "attach again"});
  }
}

TEST_P(FlowErrorText, AnAttachThatIsRefusedNamesValueAndLimit) {
  const auto expect_refused = [](auto change, std::initializer_list<std::string_view> words) {
    AttachOptions options = named("asker");
    change(options);
    expect_error(Agent::attach(options), ErrorCode::kInvalid, words);
  };
  expect_refused([](AttachOptions& with) { with.inbox_capacity = 3'000'000'000; },
                 {"inbox_capacity is 3000000000", "16 to 1048576"});
  expect_refused([](AttachOptions& with) { with.max_attempts = 256; },
                 {"max_attempts 256", "between 1 and 255"});
  expect_refused([](AttachOptions& with) { with.normal_slots = 100; },
                 {"normal_slots is 100", "power of two of at most 65536"});
  expect_refused([](AttachOptions& with) { with.role = "bee"; },
                 {"\"bee\"", "none of daemon, agent, architect, lead, worker, task"});
  expect_refused([](AttachOptions& with) { with.name = "a/b"; }, {"'/' at byte 1", "after \"a\""});
  expect_refused([](AttachOptions& with) { with.name = std::string(65, 'n'); },
                 {"65 bytes", "1 to 64"});
}

}  // namespace
}  // namespace beeline::test
