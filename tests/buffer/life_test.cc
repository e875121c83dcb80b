// Tasks, retention, status, the threshold, jobs: KO-015, KO-022 to KO-025, KO-028, KO-029, C-19.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/buffer/json.h"
#include "tests/buffer/buffer_fixture.h"

namespace beeline::buffer {
namespace {

class BufferLife : public BufferTest {
 protected:
  BufferLife() {
    config_.rules.routes.push_back(
        {{.channel = "work"}, {Destination::kSpawn, "t", "do {id}"}, {}});
  }
  Task task_of(TaskId id) { return ledger_->queries().task(id)->value(); }
  // Removes everything older than some days; the messages that went.
  std::uint64_t prune(std::int64_t days, std::uint32_t most = kPruneRows) {
    PruneStep step{.before_unix_ms = now_ms_ - days * kDayMs, .most = most};
    std::uint64_t messages = 0;
    for (;;) {
      const auto answer = ask<PruneAnswer>(step);
      messages += answer.messages;
      step.from = answer.next;
      if (!answer.has_more) return messages;
    }
  }
};

TEST_F(BufferLife, ATaskKeepsItsStepsAndItsResult) {  // KO-015, KO-025
  open();
  put("a", std::nullopt, "work");
  route();
  EXPECT_EQ(ledger_->queries().tasks("waiting", 10)->size(), 1U);
  const TaskId id = begin_task()->id;
  ask<NoAnswer>(PostponeTask{id, "no steward"});
  EXPECT_EQ(begin_task()->id, id);
  ask<NoAnswer>(RunTask{id, 12});
  open();
  EXPECT_EQ(ledger_->queries().tasks("running", 10)->front().pid, 12);
  ask<NoAnswer>(RunTask{id, 12});  // the spawn was asked for again
  EXPECT_TRUE(ask<AckAnswer>(TaskEnd{id, false, 0, "fine"}).was_open);
  EXPECT_FALSE(ask<AckAnswer>(TaskEnd{id, true, 1, "late"}).was_open);
  const Task task = task_of(id);
  EXPECT_EQ(task.status, "completed");
  EXPECT_EQ(task.result, "fine");
  EXPECT_EQ(task.exit_code, 0);
  std::string steps;
  for (const TaskStep& step : task.history) steps += step.status + "(" + step.detail + ") ";
  EXPECT_EQ(steps,
            "waiting() starting() waiting(no steward) starting() running(pid 12) completed() ");
  EXPECT_EQ(ledger_->open_messages(), 0U);
  EXPECT_EQ(words(next()), "none") << "the main agent is not told";
}

TEST_F(BufferLife, AStepThatATaskCannotTakeIsRefused) {
  open();
  put("a", std::nullopt, "work");
  route();
  EXPECT_NE(error_of(RunTask{1, 5}).text.find("task 1 is waiting, it must be starting"),
            std::string::npos);
  EXPECT_NE(error_of(PostponeTask{1, ""}).text.find("is waiting"), std::string::npos);
  EXPECT_NE(error_of(TaskEnd{1}).text.find("is waiting"), std::string::npos);
  EXPECT_NE(error_of(TaskEnd{9}).text.find("there is no task 9"), std::string::npos);
  EXPECT_EQ(task_of(1).history.size(), 1U);
}

TEST_F(BufferLife, OldMessagesGoUnlessTheyAreUnroutedOrOpen) {  // KO-022
  open();
  Put keyed = message("done");
  keyed.key = "k";
  ask<PutAnswer>(keyed);
  route();
  ack(next()->id);
  put("leased");
  route();
  (void)next();
  put("waiting");
  put("task", std::nullopt, "work");
  route();
  put("unrouted");
  now_ms_ += 7 * kDayMs;
  EXPECT_EQ(prune(7), 0U) << "exactly seven days are not older than seven days";
  ++now_ms_;
  EXPECT_EQ(prune(7), 1U);
  EXPECT_EQ(sql("SELECT group_concat(conversation) FROM (SELECT * FROM buffer ORDER BY id)"),
            "leased,waiting,task,unrouted");
  EXPECT_EQ(sql("SELECT count(*) FROM buffer_origins"), "0");
  ASSERT_TRUE(begin_task());
  ask<AckAnswer>(TaskEnd{1});
  EXPECT_EQ(prune(7), 1U) << "its task has ended";
  EXPECT_EQ(sql("SELECT count(*) FROM buffer_tasks"), "1") << "the task ended today";
  now_ms_ += 8 * kDayMs;
  EXPECT_EQ(prune(7), 0U);
  EXPECT_EQ(sql("SELECT (SELECT count(*) FROM buffer_tasks) + (SELECT count(*) FROM "
                "buffer_task_history)"),
            "0");
  EXPECT_EQ(sql("SELECT count(*) FROM buffer_batches"), "2");
}

TEST_F(BufferLife, RetentionGoesInSteps) {
  open();
  for (int i = 0; i < 25; ++i) {
    put("a" + std::to_string(i));
    if (i % 5 != 0) continue;
    route();
    (void)next();  // it stays open
  }
  route();
  for (auto batch = next(); batch; batch = next()) ack(batch->id);
  now_ms_ += 30 * kDayMs;
  EXPECT_EQ(prune(7, 4), 20U);
  EXPECT_EQ(sql("SELECT count(*) FROM buffer"), "5");
  EXPECT_EQ(sql("SELECT count(*) FROM buffer_batches"), "5");
}

TEST_F(BufferLife, AClockThatIsSetBackHarmsNothing) {
  open();
  put("a");
  now_ms_ -= 365 * kDayMs;
  put("b");
  EXPECT_EQ(ledger_->queries().status(now_ms_)->channels[0].oldest_age_ms, 0);
  route();
  EXPECT_EQ(words(next()), "a: 1");
  EXPECT_EQ(words(next()), "b: 2");
  EXPECT_EQ(prune(7), 0U);
}

TEST_F(BufferLife, TheStatusSaysHowMuchWaitsWhereAndHowLong) {  // KO-024
  open();
  put("a");
  put("w", std::nullopt, "work");
  route();
  (void)next();
  put("b");
  route();
  put("c");
  now_ms_ += 1500;
  put("d", std::nullopt, "tg");
  put("e", std::nullopt, "tg");
  const auto status =
      nlohmann::json::parse(status_json(ledger_->queries().status(now_ms_).value()));
  EXPECT_EQ(status.dump(),
            R"({"channels":[{"channel":"gh","oldest_age_ms":1500,"unrouted":1},)"
            R"({"channel":"tg","oldest_age_ms":0,"unrouted":2}],"leased_batches":1,)"
            R"("leased_messages":1,"oldest_age_ms":1500,"open_tasks":0,"unrouted":3,)"
            R"("waiting_batches":1,"waiting_messages":1,"waiting_tasks":1})");
  EXPECT_EQ(ledger_->open_messages(), 6U);
  const auto batches = ledger_->queries().batches(10);
  ASSERT_EQ(batches->size(), 2U);
  EXPECT_EQ(batches->front().holder, "main");
  EXPECT_EQ(ledger_->queries().unrouted(2)->size(), 2U);
}

TEST_F(BufferLife, EachCrossingOfTheThresholdIsSaidOnce) {  // KO-023, C-19
  config_.warn_threshold = 100;
  open();
  const auto warned = [&] { return ask<PutAnswer>(message("a")).warned; };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(warned(), 0U);
  EXPECT_EQ(warned(), 101U);
  EXPECT_EQ(warned(), 0U);
  open();
  EXPECT_EQ(warned(), 0U) << "a restart is no crossing";
  route();
  ack(next()->id);
  while (warned() == 0) {
  }
  EXPECT_EQ(ledger_->open_messages(), 101U);
}

TEST_F(BufferLife, ABatchHasItsProvenanceAsJson) {  // KO-008, KO-028
  open();
  Put put = message("dm", 10, "tg");
  put.payload = "{\"text\":\"\\u00e4\"}";
  put.received_unix_ms = now_ms_ - 250;
  ask<PutAnswer>(put);
  route();
  const auto batch = next();
  EXPECT_EQ(batch_json(*batch),
            R"({"id":1,"channel":"tg","conversation":"dm","redelivered":false,"messages":[)"
            R"({"id":1,"channel":"tg","sender":"ann","conversation":"dm",)"
            R"("payload":"{\"text\":\"\\u00e4\"}","received_at":"2026-01-31 11:59:59.750",)"
            R"("priority":10}]})");
  const auto details =
      nlohmann::json::parse(batch_details_json(ledger_->queries().batch(batch->id)->value()));
  EXPECT_EQ(details["holder"], "main");
  EXPECT_EQ(details["messages"].size(), 1U);
  EXPECT_EQ(message_json(ledger_->queries().message(1)->value()).substr(0, 9), R"({"id":1,")");
  EXPECT_FALSE(ledger_->queries().message(2)->has_value());
  EXPECT_FALSE(ledger_->queries().batch(2)->has_value());
  EXPECT_FALSE(ledger_->queries().task(2)->has_value());
}

TEST_F(BufferLife, AJobFiresOnceAlsoWhenItIsLate) {  // KO-029, KO-001
  open();
  const auto add = [&](std::int64_t in_ms, const std::string& agent_template) {
    return ask<JobId>(AddJob{{0, now_ms_ + in_ms, agent_template, "text"}});
  };
  add(1000, "");
  add(2000, "t");
  const JobId cancelled = add(1500, "");
  EXPECT_EQ(ask<FireAnswer>(FireJobs{}).next_due_unix_ms, now_ms_ + 1000);
  EXPECT_EQ(words(next()), "none");
  ask<NoAnswer>(CancelJob{cancelled});
  EXPECT_NE(error_of(CancelJob{cancelled}).text.find("does not wait"), std::string::npos);
  open();
  now_ms_ += 60'000;
  const auto fired = ask<FireAnswer>(FireJobs{});
  EXPECT_EQ(fired.messages, 1U);
  EXPECT_EQ(fired.tasks, 1U);
  EXPECT_FALSE(fired.next_due_unix_ms);
  open();
  EXPECT_EQ(ask<FireAnswer>(FireJobs{}).messages, 0U);
  EXPECT_NE(error_of(CancelJob{1}).text.find("has fired"), std::string::npos);
  route();
  EXPECT_EQ(words(next()), "job 1: 1");
  EXPECT_EQ(words(next()), "none");
  const auto task = begin_task();
  EXPECT_EQ(task->text, "text");
  EXPECT_EQ(task->messages.front().sender, "system");
  const auto json = nlohmann::json::parse(task_json(task_of(task->id)));
  EXPECT_EQ(json["history"].size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(tasks_json(*ledger_->queries().tasks("", 5))).size(), 1U);
  EXPECT_EQ(nlohmann::json::parse(batches_json(*ledger_->queries().batches(5))).size(), 1U);
}

}  // namespace
}  // namespace beeline::buffer
