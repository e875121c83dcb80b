// A parent gives tasks to its children and gets their results.

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

struct ExecuteBoard {
  Event attached;
  Event begun;
  Event go;
  Event cancelled;
};

class FlowExecute : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowExecute);

// Does each task as its description says.
class Worker {
 public:
  explicit Worker(const RoleContext& context)
      : board_(context.board<ExecuteBoard>()),
        agent_(attach("worker-" + std::to_string(context.number), "boss")) {
    if (agent_) agent_->tasks().handle([this](TaskRun& run) { return work(run); });
    board_.attached.raise();
  }
  void run() {
    ASSERT_TRUE(agent_);
    const auto served = agent_->serve([this](Message& message) -> Ack {
      if (message.type() == kShutdownOrder) agent_->stop_serving();
      if (message.text() == "finish" && held_) {
        held_->finish({.output = "held"});
        held_.reset();
      }
      return {AckStatus::kAccepted, std::string(message.text())};
    });
    EXPECT_TRUE(served) << served.error().text;
    EXPECT_EQ(agent_->detach(patience()), 0U);
    expect_balance(*agent_);
  }

 private:
  std::optional<TaskResult> work(TaskRun& run) {
    const Task& task = run.task();
    const std::string& what = task.description;
    if (what == "echo") {
      return TaskResult{.exit_code = task.priority,
                        .output = task.context,
                        .artifacts = task.params,
                        .metadata = {{"id", task.id}, {"parent", task.parent_task}}};
    }
    if (what == "throw") throw std::runtime_error("as it was told");
    if (what == "fail") run.fail("no such file");
    if (what == "nothing") return std::nullopt;
    if (what == "exit 3") return TaskResult{.exit_code = 3, .output = "not found"};
    if (what == "large") return TaskResult{.output = std::string(20 << 20, 'y')};
    if (what == "too large") return TaskResult{.output = std::string(65 << 20, 'y')};
    if (what == "together") {  // answers once all others have begun as well
      board_.begun.raise();
      EXPECT_TRUE(board_.begun.await(10, patience()));
      return TaskResult{.output = agent_->name()};
    }
    if (what == "progress") {
      EXPECT_TRUE(run.update("a third"));
      EXPECT_TRUE(run.log(std::string(2000, 'l')));
      EXPECT_TRUE(run.update("done"));
      return TaskResult{.output = "after all"};
    }
    if (what == "hold") {
      held_ = std::move(run);
      return std::nullopt;
    }
    if (what == "until cancelled") {
      board_.begun.raise();
      while (!run.is_cancelled()) let_pass(1ms);
      board_.cancelled.raise();
      return TaskResult{.output = "too late"};
    }
    if (what == "wait") {
      board_.begun.raise();
      EXPECT_TRUE(board_.go.await(1, patience()));
    }
    return TaskResult{.output = what};
  }

  ExecuteBoard& board_;
  std::optional<Agent> agent_;
  std::optional<TaskRun> held_;
};

BEELINE_ROLE(worker) { Worker(context).run(); }

class Boss {
 public:
  Boss(ExecuteBoard& board, Troupe& troupe, std::uint32_t workers = 1)
      : troupe_(troupe), agent_(attach("boss")), workers_(workers) {
    for (std::uint32_t i = 0; i < workers; ++i) troupe.start("worker", i);
    EXPECT_TRUE(board.attached.await(workers, patience()));
    for (std::uint32_t i = 0; i < workers; ++i) {
      EXPECT_TRUE(agent_->wait_for("worker-" + std::to_string(i), patience()));
    }
  }
  [[nodiscard]] Agent* operator->() { return &*agent_; }
  // The output and the exit code, or the code and text of the error.
  [[nodiscard]] std::string give(const Task& task, Deadline deadline = patience()) {
    const auto result = agent_->tasks().execute("worker-0", task, deadline);
    if (result) return std::to_string(result->exit_code) + ": " + result->output;
    return std::string(to_string(result.error().code)) + ": " + result.error().text;
  }
  [[nodiscard]] std::string run(const std::string& what) { return give({.description = what}); }
  void stop() {
    for (std::uint32_t i = 0; i < workers_; ++i) {
      EXPECT_TRUE(agent_->send_control("worker-" + std::to_string(i), kShutdownOrder));
    }
    troupe_.wait_all(patience());
    const InboxCounters counters = agent_->counters();
    EXPECT_EQ(counters.queued, 0U);
    EXPECT_EQ(counters.leased, 0U);
    expect_balance(*agent_);
  }

 private:
  Troupe& troupe_;
  std::optional<Agent> agent_;
  std::uint32_t workers_;
};

TEST_P(FlowExecute, AllFieldsOfTaskAndResultArrive) {
  Boss boss(board<ExecuteBoard>(), troupe());
  const Task task{.id = "t-1",
                  .description = "echo",
                  .params = {{"a", "1"}, {"b", ""}},
                  .context = std::string("\0\xff", 2),
                  .parent_task = "t-0",
                  .priority = kHigh};
  for (int i = 0; i < 20; ++i) {
    const auto result = boss->tasks().execute("worker-0", task);
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_EQ(result->exit_code, kHigh);
    EXPECT_EQ(result->output, task.context);
    EXPECT_EQ(result->artifacts, task.params);
    EXPECT_EQ(result->metadata,
              (std::map<std::string, std::string>{{"id", "t-1"}, {"parent", "t-0"}}));
  }
  const auto unnamed = boss->tasks().execute("worker-0", {.description = "echo"});
  ASSERT_TRUE(unnamed);
  EXPECT_TRUE(parse_id(unnamed->metadata.at("id"))) << unnamed->metadata.at("id");
  boss.stop();
}

TEST_P(FlowExecute, AnExitCodeIsAResultAndAFailureIsAnError) {
  Boss boss(board<ExecuteBoard>(), troupe());
  EXPECT_EQ(boss.run("exit 3"), "3: not found");
  EXPECT_EQ(boss.run("throw"), "failed: execute failed: task failed: as it was told");
  EXPECT_EQ(boss.run("fail"), "failed: execute failed: task failed: no such file");
  EXPECT_HAS(boss.run("nothing"), "task failed: the handler has returned no result");
  EXPECT_HAS(boss.run("too large"), "task failed: the result has 68157");
  EXPECT_HAS(boss.give({.description = std::string(65 << 20, 'x')}), "too_big: execute failed: ");
  const auto large = boss->tasks().execute("worker-0", {.description = "large"});
  ASSERT_TRUE(large) << large.error().text;
  EXPECT_EQ(large->output, std::string(20 << 20, 'y'));
  EXPECT_EQ(boss.run("plain"), "0: plain") << "the child goes on";
  boss.stop();
}

TEST_P(FlowExecute, TenChildrenWorkAtTheSameTimeAndTheResultsAreInOrder) {
  Boss boss(board<ExecuteBoard>(), troupe(), 10);
  std::vector<std::string> names;
  std::vector<Execution> tasks;
  for (int i = 9; i >= 0; --i) names.push_back("worker-" + std::to_string(i));
  for (const std::string& name : names) tasks.push_back({name, {.description = "together"}});
  const auto results = boss->tasks().execute_all(tasks, patience());
  ASSERT_EQ(results.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().text;
    EXPECT_EQ(results[i]->output, names[i]);
  }
  const std::vector<Execution> mixed{{"worker-0", {.description = "one"}},
                                     {"nobody", {.description = "?"}},
                                     {"worker-1", {.description = "throw"}},
                                     {"worker-0", {.description = "two"}}};
  const auto found = boss->tasks().execute_all(mixed, patience());
  EXPECT_EQ(found[0]->output, "one");
  EXPECT_EQ(found[1].error().code, ErrorCode::kNoAgent);
  EXPECT_HAS(found[1].error().text, "execute failed: ");
  EXPECT_EQ(found[2].error().text, "execute failed: task failed: as it was told");
  EXPECT_EQ(found[3]->output, "two");
  EXPECT_TRUE(boss->tasks().execute_all({}, patience()).empty());
  boss.stop();
}

TEST_P(FlowExecute, ReportsReachTheCallerBeforeTheResult) {
  Boss boss(board<ExecuteBoard>(), troupe());
  std::vector<std::string> said;
  const ProgressHandler hear = [&](const TaskProgress& progress) {
    const bool is_log = progress.kind == TaskProgress::Kind::kLog;
    said.push_back((is_log ? "log " : "update ") + progress.text);
    EXPECT_EQ(progress.child, boss->peer("worker-0")->pid);
  };
  const std::vector<std::string> all{"update a third", "log " + std::string(2000, 'l'),
                                     "update done"};
  const Task task{.description = "progress"};
  EXPECT_EQ(boss->tasks().execute("worker-0", task, patience(), hear)->output, "after all");
  EXPECT_EQ(said, all);
  said.clear();
  const std::vector<Execution> tasks{{"worker-0", task, hear}};
  EXPECT_EQ(boss->tasks().execute_all(tasks, patience())[0]->output, "after all");
  EXPECT_EQ(said, all);
  said.clear();
  const auto then = [&](Result<TaskResult> result) {
    said.push_back(result ? result->output : result.error().text);
    boss->stop_serving();
  };
  ASSERT_TRUE(boss->tasks().execute_then("worker-0", task, then, hear));
  EXPECT_TRUE(boss->serve([](Message&) -> Ack { return {}; }, {.until = patience()}));
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said.back(), "after all");
  EXPECT_EQ(boss.run("progress"), "0: after all") << "nobody listens";
  EXPECT_TRUE(boss->drain_pending_results().empty()) << "a report is no result";
  EXPECT_TRUE(boss->inbox().empty());
  boss.stop();
}

TEST_P(FlowExecute, AHandlerMayEndATaskLaterAndMessagesGoOnMeanwhile) {
  Boss boss(board<ExecuteBoard>(), troupe());
  std::vector<std::string> said;
  const auto then = [&](Result<TaskResult> result) {
    said.push_back(result ? result->output : result.error().text);
    if (said.size() == 2) boss->stop_serving();
  };
  ASSERT_TRUE(boss->tasks().execute_then("worker-0", {.description = "hold"}, then));
  EXPECT_EQ(boss->request("worker-0", "hello", patience())->text(), "hello");
  EXPECT_EQ(boss.run("plain"), "0: plain") << "another task goes on too";
  ASSERT_TRUE(boss->tasks().execute_then("worker-0", {.description = "last"}, then));
  EXPECT_TRUE(boss->send("worker-0", "finish"));
  EXPECT_TRUE(boss->serve([](Message&) -> Ack { return {}; }, {.until = patience()}));
  EXPECT_EQ(said.size(), 2U);
  EXPECT_TRUE(said == (std::vector<std::string>{"last", "held"}) ||
              said == (std::vector<std::string>{"held", "last"}));
  boss.stop();
}

TEST_P(FlowExecute, ATimeoutCancelsTheTaskOfTheChild) {
  Boss boss(board<ExecuteBoard>(), troupe());
  const std::string found = boss.give({.description = "until cancelled", .timeout = 50ms});
  EXPECT_HAS(found, "timeout: execute failed: ");
  EXPECT_TRUE(board<ExecuteBoard>().cancelled.await(1, patience()));
  const std::string again = boss.give({.description = "until cancelled"}, after(50ms));
  EXPECT_HAS(again, "timeout: execute failed: ");
  EXPECT_TRUE(board<ExecuteBoard>().cancelled.await(2, patience()));
  EXPECT_EQ(boss.run("plain"), "0: plain");
  boss.stop();
}

TEST_P(FlowExecute, ATaskCanBeTakenBackAndThoseOfLowerPriorityWait) {
  Boss boss(board<ExecuteBoard>(), troupe());
  std::vector<std::string> said;
  const auto then = [&](Result<TaskResult> result) {
    said.push_back(result ? result->output : std::string(to_string(result.error().code)));
    if (said.size() == 4) boss->stop_serving();
  };
  const auto start = [&](const std::string& what, std::int32_t priority) {
    const auto id =
        boss->tasks().execute_then("worker-0", {.description = what, .priority = priority}, then);
    EXPECT_TRUE(id) << id.error().text;
    return id.value_or(0);
  };
  (void)start("wait", kNormal);
  ASSERT_TRUE(board<ExecuteBoard>().begun.await(1, patience()));
  (void)start("later", kLow);
  const MessageId unwanted = start("never", kNormal);
  (void)start("next", kHigh);
  EXPECT_TRUE(boss->tasks().cancel(unwanted));
  EXPECT_FALSE(boss->tasks().cancel(unwanted + 1000));
  board<ExecuteBoard>().go.raise();
  EXPECT_TRUE(boss->serve([](Message&) -> Ack { return {}; }, {.until = patience()}));
  ASSERT_EQ(said.size(), 4U);
  std::erase(said, "rejected");
  EXPECT_EQ(said.size(), 3U) << "the one that was taken back";
  EXPECT_EQ(said[0], "wait");
  boss.stop();
}

// The inbox of a child is no longer for its tasks.
TEST_P(FlowExecute, TasksThatWaitAreNoMessagesOfTheInbox) {
  auto boss = attach("boss");
  auto child = attach("child", "boss");
  ASSERT_TRUE(boss && child);
  child->tasks().accept();
  const auto ignore = [](Result<TaskResult>) {};
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(boss->tasks().execute_then("child", {.description = std::to_string(i)}, ignore));
  }
  ASSERT_TRUE(boss->send("child", "a message"));
  await_drained(*child, 6);
  const InboxCounters counters = child->counters();
  EXPECT_EQ(counters.tasks, 5U);
  EXPECT_EQ(counters.queued, 1U);
  EXPECT_EQ(child->tasks().waiting(), 5U);
  EXPECT_EQ(child->inbox().size(), 1U);
  expect_balance(*child);
  const Readiness found = child->loop().poll();
  EXPECT_EQ(found.messages, 1U);
  EXPECT_EQ(found.tasks, 5U);
  EXPECT_EQ(take_texts(*child), std::vector<std::string>{"a message"});
  for (int i = 0; i < 5; ++i) {
    auto run = child->tasks().next();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->task().description, std::to_string(i));
    EXPECT_EQ(run->from(), boss->pid());
    if (i % 2 == 0) run->finish({.exit_code = i});
  }
  EXPECT_FALSE(child->tasks().next());
  EXPECT_EQ(child->counters().leased, 0U);
  expect_balance(*child);
}

}  // namespace
}  // namespace beeline::test
