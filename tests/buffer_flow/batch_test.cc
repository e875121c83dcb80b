// Batches: grown while the agent is busy, the best first, again after a kill.

#include "src/buffer/times.h"
#include "src/os/clock.h"
#include "tests/buffer_flow/flow_fixture.h"

namespace beeline::test {
namespace {

json batch_of(const Message& message) { return json::parse(message.text(), nullptr, false); }

// KO-011, KO-019, C-31: the router ticks between them, and they are one batch all the same.
TEST_F(BufferFlow, FiveMessagesOfOneConversationAreOneBatchForABusyAgent) {
  start_ready();
  Agent agent = attach("main");
  for (int i = 0; i < 5; ++i) {
    (void)put(agent, "github", "pr-7", "webhook " + std::to_string(i));
    await_routed(agent);
  }
  (void)put(agent, "github", "pr-8", "another");
  await_routed(agent);
  ask_for_batches(agent, 2);
  Message first = next(agent);
  EXPECT_EQ(first.type(), "buffer.batch");
  EXPECT_TRUE(first.requires_ack());
  const json batch = batch_of(first);
  ASSERT_EQ(batch.at("messages").size(), 5U);
  EXPECT_EQ(batch.at("messages")[4].at("payload"), "webhook 4");
  EXPECT_EQ(batch.at("conversation"), "pr-7");
  EXPECT_EQ(batch.at("redelivered"), false);
  Message second = next(agent);
  EXPECT_EQ(batch_of(second).at("messages").size(), 1U);
  EXPECT_EQ(ask(agent, "buffer.status").at("leased_messages"), 6);
  first.done();
  second.done();
  await([&] { return ask(agent, "buffer.status").at("leased_batches") == 0; });
}

// KO-018, C-30: a message that came later goes first if it is more urgent.
TEST_F(BufferFlow, TheBestBatchIsHandedOutFirst) {
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "github", "", "webhook", {{"priority", 50}});
  await_routed(agent);
  (void)put(agent, "telegram", "", "note");
  (void)put(agent, "telegram", "ann", "hello", {{"priority", 10}});
  await_routed(agent);
  ask_for_batches(agent, 3);
  for (const char* const payload : {"hello", "webhook", "note"}) {
    Message message = next(agent);
    EXPECT_EQ(batch_of(message).at("messages")[0].at("payload"), payload);
    message.done();
  }
}

// KO-006: a credit waits for the batch that comes.
TEST_F(BufferFlow, ACreditIsServedWhenABatchComesAlsoByTheNextLifeOfTheBuffer) {
  start_ready();
  Agent agent = attach("main");
  ask_for_batches(agent, 2);
  (void)put(agent, "c", "", "one");
  Message one = next(agent);
  EXPECT_EQ(batch_of(one).at("messages")[0].at("payload"), "one");
  one.done();
  await([&] { return ask(agent, "buffer.status").at("leased_batches") == 0; });
  (void)stop(SIGKILL);
  start();
  (void)put(agent, "c", "", "two");
  Message two = next(agent);
  EXPECT_EQ(batch_of(two).at("messages")[0].at("payload"), "two");
  two.done();
  await([&] { return ask(agent, "buffer.status").at("leased_batches") == 0; });
  (void)stop();
}

// KO-014, C-11: the successor of a killed agent has the batch, flagged.
TEST_F(BufferFlow, AKilledMainAgentGetsItsBatchAgain) {
  start_ready();
  Agent agent = attach("putter");
  (void)put(agent, "c", "", "x");
  Program first = actor("hold", "main");
  first.wait_for("1 false");
  first.signal(SIGKILL);
  (void)first.wait();
  Agent successor = attach("main");
  Message message = next(successor);
  EXPECT_TRUE(message.redelivered());
  EXPECT_EQ(batch_of(message).at("id"), 1);
  message.done();
  await([&] { return ask(agent, "buffer.status").at("leased_batches") == 0; });
}

// An agent that is finally dead gives its batch back.
TEST_F(BufferFlow, TheBatchOfAnAgentThatIsGoneComesToTheNextThatAsks) {
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "c", "", "x");
  Program gone = actor("hold", "other", "temporary");
  gone.wait_for("1 false");
  gone.signal(SIGKILL);
  (void)gone.wait();
  ask_for_batches(agent, 1);
  Message message = next(agent);
  EXPECT_EQ(batch_of(message).at("id"), 1);
  EXPECT_EQ(batch_of(message).at("redelivered"), true);
  message.done();
}

// C-36: it comes again in the next hive.
TEST_F(BufferFlow, ABatchOfAHiveThatHasEndedComesAgain) {
  start_ready();
  {
    Agent agent = attach("main");
    (void)put(agent, "c", "", "x");
    ask_for_batches(agent, 1);
    EXPECT_EQ(batch_of(next(agent)).at("redelivered"), false);
    (void)good({"down"});
  }
  EXPECT_EQ(buffer_->wait().code, 3);
  start_ready();
  Agent agent = attach("main");
  ask_for_batches(agent, 1);
  Message message = next(agent);
  EXPECT_EQ(batch_of(message).at("messages")[0].at("payload"), "x");
  EXPECT_EQ(batch_of(message).at("redelivered"), true);
  message.done();
  await([&] { return ask(agent, "buffer.status").at("leased_batches") == 0; });
}

// The new life of a buffer gives back what was handed out, and a batch may be ended by its number.
TEST_F(BufferFlow, ABatchThatWasTakenIsEndedByItsNumberOrComesAgain) {
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "c", "a", "x");
  (void)put(agent, "c", "b", "y");
  await_routed(agent);
  const json one = ask(agent, "buffer.take").at("batch");
  const json two = ask(agent, "buffer.take", {{"timeout_ms", 1000}}).at("batch");
  EXPECT_EQ(ask(agent, "buffer.take").at("batch"), json());
  EXPECT_EQ(ask(agent, "buffer.take", {{"timeout_ms", 1}}).at("batch"), json());
  EXPECT_EQ(ask(agent, "buffer.ack", {{"batch", one.at("id")}}).at("was_open"), true);
  EXPECT_EQ(ask(agent, "buffer.give_back", {{"batch", two.at("id")}}), json::object());
  EXPECT_EQ(ask(agent, "buffer.take").at("batch").at("redelivered"), true);
  (void)stop(SIGKILL);
  start();
  EXPECT_EQ(ask(agent, "buffer.ack", {{"batch", one.at("id")}}).at("was_open"), false);
  const json again = ask(agent, "buffer.take", {{"timeout_ms", 60'000}}).at("batch");
  EXPECT_EQ(again.at("id"), two.at("id"));
  EXPECT_EQ(again.at("redelivered"), true);
  EXPECT_EQ(ask(agent, "buffer.ack", {{"batch", two.at("id")}}).at("was_open"), true);
}

// KO-016, C-32: dropped by a rule, or because no rule matches; the log has both.
TEST_F(BufferFlow, ADroppedBatchIsInTheLogAndNowhereElse) {
  configure(
      "routes:\n"
      "- {match: {channel: keep}, action: {forward: main-agent}}\n"
      "- {match: {channel: spam}, action: {drop: true}}\n"
      "defaultRoute: drop");
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "spam", "s", "x");
  (void)put(agent, "other", "", "y");
  (void)put(agent, "keep", "", "z");
  await_routed(agent);
  EXPECT_EQ(ask(agent, "buffer.take").at("batch").at("channel"), "keep");
  EXPECT_EQ(ask(agent, "buffer.take").at("batch"), json());
  const std::string log = stop();
  EXPECT_TRUE(contains(log, "level=info")) << log;
  EXPECT_TRUE(contains(log, "event=dropped")) << log;
  EXPECT_TRUE(contains(log, "channel spam, conversation s, by route 2")) << log;
  EXPECT_TRUE(contains(log, "channel other, conversation (none), by defaultRoute")) << log;
}

// KO-029: a job fires once, also if it was due while no buffer ran.
TEST_F(BufferFlow, AJobFiresOnceOverRestarts) {
  start_ready();
  Agent agent = attach("main");
  EXPECT_EQ(ask(agent, "buffer.job", {{"at", "2099-01-01T00:00:00Z"}, {"text", "wake up"}}),
            (json{{"id", 1}}));
  EXPECT_EQ(ask(agent, "buffer.job", {{"at", "2099-01-01T00:00:00Z"}, {"text", "later"}}),
            (json{{"id", 2}}));
  (void)stop(SIGKILL);
  EXPECT_EQ(sql("UPDATE buffer_jobs SET due_at = '2020-01-01 00:00:00.000' WHERE id = 1"), "");
  for (int life = 0; life < 2; ++life) {
    start();
    await([&] { return count("buffer_jobs WHERE state = 'fired'") == 1; });
    await_routed(agent);
    (void)stop(SIGKILL);
  }
  start();
  EXPECT_EQ(ask(agent, "buffer.cancel_job", {{"id", 2}}), json::object());
  EXPECT_TRUE(ask(agent, "buffer.cancel_job", {{"id", 1}}).contains("error"));
  // One that is due while the buffer runs.
  const std::string due = buffer::format_time(os::realtime_ns() / 1'000'000 + 50);
  EXPECT_EQ(ask(agent, "buffer.job", {{"at", due}, {"text", "again"}}), (json{{"id", 3}}));
  for (const char* const text : {"wake up", "again"}) {
    const json batch = ask(agent, "buffer.take", {{"timeout_ms", 60'000}}).at("batch");
    ASSERT_EQ(batch.at("messages").size(), 1U);
    EXPECT_EQ(batch.at("messages")[0].at("payload"), text);
    EXPECT_EQ(batch.at("channel"), "cron");
  }
  EXPECT_EQ(count("buffer"), 2);
  EXPECT_EQ(count("buffer_jobs WHERE key IS NOT NULL"), 3) << "a request that comes again";
}

// Its message is a dead letter after three attempts. C-11: it leaves the queue when it is
// acknowledged.
TEST_F(BufferFlow, ABatchWhoseHoldersAreKilledComesAgainAsOftenAsTheyAre) {
  start_ready();
  Agent agent = attach("putter");
  const std::int64_t row = put(agent, "c", "v", "hello");
  for (int life = 0; life < 5; ++life) {
    Program holder = actor("hold", "main");
    holder.wait_for(life == 0 ? "1 false\n" : "1 ");
    holder.signal(SIGKILL);
    EXPECT_EQ(holder.wait().code, 128 + SIGKILL);
  }
  const json shown = ask(agent, "buffer.show", {{"message", row}}).at("message");
  EXPECT_EQ(shown.at("payload"), "hello");
  const json status = ask(agent, "buffer.status");
  EXPECT_EQ(status.at("waiting_batches").get<int>() + status.at("leased_batches").get<int>(), 1);
}

}  // namespace
}  // namespace beeline::test
