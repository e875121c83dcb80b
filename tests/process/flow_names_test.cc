// Each call with a receiver takes a peer, a pid or a name for it, and a text or bytes to send.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class FlowNames : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowNames);

// Answers every message until it is told to stop.
BEELINE_ROLE(helper) {
  auto agent = attach("helper");
  ASSERT_TRUE(agent);
  const auto handle = [&](Message& message) -> Ack {
    if (message.type() == kShutdownOrder) agent->stop_serving();
    return {AckStatus::kAccepted, "got " + std::string(message.text())};
  };
  EXPECT_TRUE(agent->serve(handle));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Makes every call to one receiver; each must reach it.
void use_all_calls(Agent& agent, const To& to) {
  const std::vector<std::byte> bytes(3, std::byte{'b'});
  EXPECT_TRUE(agent.send(to, "a text"));
  EXPECT_TRUE(agent.send(to, bytes, {.rank = kHigh}));
  EXPECT_TRUE(agent.send_until(to, std::string("a text"), patience()));
  EXPECT_TRUE(agent.fire_and_forget(to, bytes));
  const auto answer = agent.request(to, "1", patience());
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->text(), "got 1");
  EXPECT_TRUE(agent.request(to, bytes));
  const auto acknowledged = agent.send_acked(to, bytes, patience());
  ASSERT_TRUE(acknowledged) << acknowledged.error().text;
  EXPECT_EQ(acknowledged->reply, "got bbb");
  const auto asked = agent.send(to, "2", {.requires_ack = true});
  ASSERT_TRUE(asked);
  EXPECT_TRUE(agent.await_ack(to, asked.id, patience()));
  EXPECT_TRUE(agent.send_control(to, kSteerOrder, bytes));
  EXPECT_TRUE(agent.cancel(to, asked.id));
  auto loan = agent.loan(to, 100);
  ASSERT_TRUE(loan) << loan.error().text;
  EXPECT_TRUE(agent.send(*loan));
  loan = agent.loan_until(to, 100, patience());
  ASSERT_TRUE(loan) << loan.error().text;
  EXPECT_TRUE(agent.send_until(*loan, patience()));
  std::optional<std::string> later;
  const auto then = [&](const Result<Message>& reply) {
    later = reply ? std::string(reply->text()) : reply.error().text;
    agent.stop_serving();
  };
  ASSERT_TRUE(agent.request_then(to, "3", patience(), then));
  EXPECT_TRUE(agent.serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_EQ(later, "got 3");
  const auto all = agent.request_all({{to, "4"}, {to, bytes}}, patience());
  ASSERT_TRUE(all[0] && all[1]);
  EXPECT_EQ(all[1]->text(), "got bbb");
}

TEST_P(FlowNames, EachCallThatHasAReceiverTakesAPeerAPidOrAName) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("helper");
  const Peer peer = peer_of(*agent, "helper");
  use_all_calls(*agent, peer);
  use_all_calls(*agent, peer.pid);
  use_all_calls(*agent, "helper");
  use_all_calls(*agent, std::string_view("helper"));
  use_all_calls(*agent, std::to_string(peer.pid));
  EXPECT_TRUE(agent->send_control("helper", kShutdownOrder));
  troupe().wait_all(patience());
  while (auto message = agent->try_receive()) message->done();
  for (Message& answer : agent->drain_pending_results()) answer.done();
  expect_balance(*agent);
}

TEST_P(FlowNames, ANameOfOneThatHasDiedMeansTheNextOfThatName) {
  auto agent = attach("asker");
  AttachOptions options = named("mayfly");
  options.temporary = true;
  auto first = attach(options);
  ASSERT_TRUE(agent && first);
  ASSERT_TRUE(agent->send("mayfly", "to the first"));
  const Peer gone = peer_of(*agent, "mayfly");
  first.reset();
  EXPECT_EQ(agent->send("mayfly", "to nobody").status, SendStatus::kNoAgent);
  EXPECT_EQ(agent->request("mayfly", "?", patience()).error().code, ErrorCode::kNoAgent);
  auto second = attach(options);
  ASSERT_TRUE(second);
  ASSERT_TRUE(agent->send_until("mayfly", "to the second", patience()));
  EXPECT_EQ(next_message(*second).text(), "to the second");
  EXPECT_EQ(agent->send(gone, "to the first").status, SendStatus::kPeerDead);
}

TEST_P(FlowNames, AnAcknowledgementOfOneThatHasDiedIsFoundByItsNumber) {
  auto agent = attach("asker");
  AttachOptions options = named("mayfly");
  options.temporary = true;
  auto mayfly = attach(options);
  ASSERT_TRUE(agent && mayfly);
  const Pid gone = peer_of(*agent, "mayfly").pid;
  const auto sent = agent->send(gone, "x", {.requires_ack = true});
  ASSERT_TRUE(sent);
  next_message(*mayfly).done("seen");
  ASSERT_TRUE(mayfly->send("asker", "behind it"));
  next_message(*agent).done();
  mayfly.reset();
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] { return !agent->peer(gone); }));
  const auto ack = agent->await_ack(gone, sent.id, after(1ms));
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->reply, "seen");
  EXPECT_EQ(agent->await_ack(gone, sent.id, after(1ms)).error().code, ErrorCode::kPeerDead);
}

TEST_P(FlowNames, ANameThatNobodyHasIsNamedByEachCall) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const auto names_it = [](const std::string& text) {
    EXPECT_NE(text.find("no agent named \"nobody\""), std::string::npos) << text;
  };
  names_it(agent->send("nobody", "x").text());
  names_it(agent->send_until("nobody", "x", patience()).text());
  names_it(agent->send_control("nobody", kSteerOrder).text());
  names_it(agent->fire_and_forget("nobody", "x").text());
  names_it(agent->cancel("nobody", 1).text());
  names_it(agent->request("nobody", "x", patience()).error().text);
  names_it(agent->loan("nobody", 1).error().text);
  EXPECT_EQ(agent->send(Pid{4711}, "x").status, SendStatus::kNoAgent);
  EXPECT_EQ(agent->send("", "x").status, SendStatus::kNoRoute);
}

}  // namespace
}  // namespace beeline::test
