// Routing, batches and the queue of the main agent: KO-006, KO-011, KO-014 to KO-019, C-11, C-29 to
// C-32.

#include "src/buffer/router.h"

#include <gtest/gtest.h>

#include "src/buffer/schema.h"
#include "tests/buffer/buffer_fixture.h"

namespace beeline::buffer {
namespace {

class BufferRouter : public BufferTest {
 protected:
  void add_route(Match match, Action action, std::optional<std::int32_t> priority = std::nullopt) {
    config_.rules.routes.push_back({std::move(match), std::move(action), priority});
  }
};

TEST_F(BufferRouter, AMessageIsRoutedOnceAndComesOnce) {  // KO-006, KO-014, KO-019
  open();
  put("a");
  EXPECT_EQ(words(next()), "none") << "not before the router";
  put("a");
  EXPECT_EQ(route().routed, 2U);
  EXPECT_EQ(route().routed, 0U);
  const auto batch = next();
  EXPECT_EQ(words(batch), "a: 1 2");
  EXPECT_EQ(batch->channel, "gh");
  EXPECT_FALSE(batch->is_redelivered());
  EXPECT_EQ(words(next()), "none");
}

TEST_F(BufferRouter, TheBestBatchOfAllComesFirst) {  // KO-004, KO-010, KO-018, C-30
  open();
  put("webhook", 50);
  put("note");
  route();
  put("dm", 10);  // a tick later
  put("webhook-2", 50);
  route();
  EXPECT_EQ(words(next()), "dm: 3");
  EXPECT_EQ(words(next()), "webhook: 1");
  EXPECT_EQ(words(next()), "webhook-2: 4");
  EXPECT_EQ(words(next()), "note: 2");
}

TEST_F(BufferRouter, WithinABatchMessagesAreInTheOrderOfTheirIds) {  // KO-009, C-30
  open();
  put("a", 50);
  put("b", 20);
  put("a", 10);
  route();
  EXPECT_EQ(words(next()), "a: 1 3") << "its rank is that of its best message";
  EXPECT_EQ(words(next()), "b: 2");
}

TEST_F(BufferRouter, ABatchGrowsUntilItIsPulled) {  // KO-011, C-31
  open();
  for (int i = 0; i < 5; ++i) {  // a busy agent
    put("pr");
    put("pr", std::nullopt, "other-channel");
    now_ms_ += 2000;
    route();
  }
  EXPECT_EQ(words(next()), "pr: 1 3 5 7 9");
  for (int i = 0; i < 2; ++i) {  // an idle one
    const RowId id = put("pr", 1);
    route();
    EXPECT_EQ(words(next()), "pr: " + std::to_string(id));
  }
  EXPECT_EQ(words(next()), "pr: 2 4 6 8 10");
}

TEST_F(BufferRouter, AGrowingBatchTakesTheBetterRank) {
  open();
  put("a");
  put("b", 50);
  route();
  put("a", 10);
  route();
  EXPECT_EQ(words(next()), "a: 1 3");
}

TEST_F(BufferRouter, AFullBatchDoesNotGrow) {
  config_.batch_limits.messages = 2;
  open();
  for (int i = 0; i < 5; ++i) put("a");
  route();
  put("a");
  route();
  EXPECT_EQ(words(next()), "a: 1 2");
  EXPECT_EQ(words(next()), "a: 3 4");
  EXPECT_EQ(words(next()), "a: 5 6");
}

TEST_F(BufferRouter, ABatchThatWasRoutedIsThereAfterAKill) {  // KO-017, C-11
  open();
  put("a");
  route();
  open();
  const auto batch = next();
  EXPECT_EQ(words(batch), "a: 1");
  open();
  EXPECT_EQ(words(next()), "none") << "it is leased, also after a restart of the buffer";
  EXPECT_EQ(ask<std::uint64_t>(GiveBack{99}), 0U);
  EXPECT_EQ(ask<std::uint64_t>(GiveBack{}), 1U);
  put("a");
  route();
  const auto again = next();
  EXPECT_EQ(words(again), "a: 1") << "it comes as it was";
  EXPECT_TRUE(again->is_redelivered());
  EXPECT_EQ(words(next()), "a: 2");
}

TEST_F(BufferRouter, ABatchLeavesTheQueueWhenItIsAcknowledged) {  // C-11
  open();
  put("a");
  route();
  const BatchId batch = next()->id;
  EXPECT_EQ(ask<std::uint64_t>(GiveBack{batch}), 1U);
  EXPECT_TRUE(ack(batch).was_open) << "the word of a holder that was slow";
  EXPECT_FALSE(ack(batch).was_open);
  open();
  EXPECT_FALSE(ack(batch).was_open);
  EXPECT_EQ(words(next()), "none");
  EXPECT_NE(error_of(AckBatch{77}).text.find("there is no batch 77"), std::string::npos);
  put("b");
  route();
  EXPECT_NE(error_of(AckBatch{batch + 1}).text.find("was not handed out"), std::string::npos);
}

TEST_F(BufferRouter, ASpawnIsATaskAndTheMainAgentHearsNothing) {  // KO-015, KO-025
  add_route({.channel = "gh"}, {Destination::kSpawn, "reviewer", "Review {conversation} for {id}"});
  open();
  put("pr");
  put("dm", std::nullopt, "tg");
  EXPECT_EQ(route().tasks, 1U);
  EXPECT_EQ(words(next()), "dm: 2");
  EXPECT_EQ(words(next()), "none");
  put("pr");
  route();
  open();
  const auto task = begin_task();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->agent_template, "reviewer");
  EXPECT_EQ(task->text, "Review pr for 1");
  EXPECT_EQ(task->messages.size(), 2U) << "it grew until it was begun";
  EXPECT_FALSE(begin_task());
  put("pr");
  route();
  EXPECT_EQ(begin_task()->messages.size(), 1U);
  EXPECT_EQ(words(next()), "none");
}

TEST_F(BufferRouter, ADroppedBatchIsSaidAndNeverComesAgain) {  // KO-016, C-32
  add_route({.from = "ann"}, {.destination = Destination::kDrop});
  open();
  put("a");
  put("a");
  const RouteAnswer answer = route();
  ASSERT_EQ(answer.dropped.size(), 1U);
  EXPECT_EQ(answer.dropped[0].messages, 2U);
  EXPECT_EQ(answer.dropped[0].route, 1U);
  EXPECT_EQ(answer.dropped[0].conversation, "a");
  EXPECT_EQ(sql("SELECT count(*) FROM buffer WHERE routed"), "2");
  EXPECT_EQ(words(next()), "none");
  config_.rules = {.routes = {}, .fallback = Destination::kDrop};
  open();
  EXPECT_EQ(route().routed, 0U);
  put("b");
  EXPECT_EQ(route().dropped[0].route, 0U);
  EXPECT_EQ(ledger_->open_messages(), 0U);
}

TEST_F(BufferRouter, ARouteGivesItsPriorityUnlessTheSenderNamedOne) {  // KO-005, C-29
  config_.channels.add("gh", 30);
  add_route({.from = "ann"}, {}, 20);
  open();
  put("channel");
  put("sender", 30);
  put("first", 25);
  route();
  EXPECT_EQ(words(next()), "channel: 1") << "20";
  EXPECT_EQ(words(next()), "first: 3") << "25";
  EXPECT_EQ(words(next()), "sender: 2") << "30";
  EXPECT_EQ(sql("SELECT group_concat(priority) FROM (SELECT * FROM buffer ORDER BY id)"),
            "20,30,25");
}

TEST_F(BufferRouter, AStepIsBounded) {
  open();
  for (int i = 0; i < 5; ++i) put("a");
  const auto first = ask<RouteAnswer>(RouteStep{2});
  EXPECT_EQ(first.routed, 2U);
  EXPECT_TRUE(first.has_more);
  Put large = message("b", 1);
  large.payload = std::string(6 << 20, 'x');
  for (int i = 0; i < 3; ++i) ask<PutAnswer>(large);
  EXPECT_EQ(route().routed, 2U) << "12 MiB are enough for one step";
  EXPECT_FALSE(route().has_more);
  EXPECT_EQ(words(next()), "b: 6");
}

// Messages that are done if they are routed.
void add_rows(Database& database, int rows, const std::string& received_at, bool is_routed) {
  const std::string sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
      std::to_string(rows) +
      ") INSERT INTO buffer (channel, sender, conversation, payload, received_at, routed) "
      "SELECT 'gh', 'ann', 'c' || i % 7, 'p', '" +
      received_at + "', " + (is_routed ? "TRUE" : "FALSE") + " FROM n";
  ASSERT_TRUE(database.run(sql.c_str()));
}

// Instructions of SQLite, which do not depend on the machine.
template <typename Work>
std::uint64_t cost_of(Database& database, const Work& work) {
  std::uint64_t cost = 0;
  const auto count = [](void* to) {
    ++*static_cast<std::uint64_t*>(to);
    return 0;
  };
  sqlite3_progress_handler(database.get(), 1, count, &cost);
  EXPECT_TRUE(database.run("BEGIN"));
  work();
  EXPECT_TRUE(database.run("COMMIT"));
  sqlite3_progress_handler(database.get(), 0, nullptr, nullptr);
  return cost;
}

TEST_F(BufferRouter, AStepCostsTheSameHoweverManyMessagesWait) {  // KO-027
  open();
  ledger_.reset();
  auto database = Database::open(path());
  ASSERT_TRUE(database);
  const Rules rules;
  auto router = Router::open(*database, rules, {});
  ASSERT_TRUE(router);
  const auto step = [&] { EXPECT_EQ(router->route(100, 0)->routed, 100U); };
  add_rows(*database, 1000, "2026-01-31", false);
  const std::uint64_t few = cost_of(*database, step);
  add_rows(*database, 100'000, "2026-01-31", false);
  const std::uint64_t many = cost_of(*database, step);
  EXPECT_LT(many, few + few / 10);
}

TEST_F(BufferRouter, AStepAndRetentionCostTheSameHoweverManyMessagesAreRouted) {  // KO-027
  open();
  ledger_.reset();
  auto database = Database::open(path());
  ASSERT_TRUE(database);
  const Rules rules;
  auto router = Router::open(*database, rules, {});
  auto retention = Retention::open(*database);
  ASSERT_TRUE(router && retention);
  const auto costs = [&](int routed) {
    add_rows(*database, routed, "2026-01-31", true);
    add_rows(*database, 100, "2020-01-01", true);
    add_rows(*database, 100, "2026-01-31", false);
    return std::pair(cost_of(*database, [&] { EXPECT_EQ(router->route(200, 0)->routed, 100U); }),
                     cost_of(*database, [&] {
                       EXPECT_EQ(retention->prune(now_ms_ - kDayMs, {}, 200)->messages, 100U);
                     }));
  };
  const auto few = costs(1000);
  const auto many = costs(100'000);
  EXPECT_LT(many.first, few.first + few.first / 10);
  EXPECT_LT(many.second, few.second + few.second / 10);
}

}  // namespace
}  // namespace beeline::buffer
