// Tasks that go wrong: agents that may give none, children that do none, die or have too many, and
// parents that die.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "shm/task_form.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

struct FaultBoard {
  Event attached;
  Event begun;
  Event cancelled;
  Event leave;
};

class FlowExecuteFaults : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowExecuteFaults);
class FlowExecuteDeath : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowExecuteDeath, testing::Values(World::kProcesses), world_name);

const auto kIgnore = [](Result<TaskResult>) {};
// A child that does tasks, with room for 64 messages.
std::optional<Agent> attach_small_child() {
  AttachOptions options = named("child", "boss");
  options.inbox_capacity = 64;
  auto child = attach(options);
  if (child) child->tasks().accept();
  return child;
}

const auto kNoMessages = [](Message&) -> Ack { return {}; };

// Counts the tasks that it begins, and ends each when it is cancelled or told to leave.
BEELINE_ROLE(child) {
  auto& board = context.board<FaultBoard>();
  auto agent = attach("child", "boss");
  ASSERT_TRUE(agent);
  agent->tasks().handle([&](TaskRun& run) {
    board.begun.raise();
    while (!run.is_cancelled() && board.leave.count() == 0) let_pass(1ms);
    if (board.leave.count() == 0) board.cancelled.raise();
    return TaskResult{};
  });
  board.attached.raise();
  while (board.leave.count() == 0) {
    EXPECT_TRUE(agent->serve(kNoMessages, {.until = after(5ms)}));
  }
}

// Reports until it is cancelled.
BEELINE_ROLE(chatterer) {
  auto& board = context.board<FaultBoard>();
  auto agent = attach("child", "boss");
  ASSERT_TRUE(agent);
  agent->tasks().handle([](TaskRun& run) {
    while (!run.is_cancelled()) (void)run.log("I go on");
    return TaskResult{};
  });
  board.attached.raise();
  while (board.leave.count() == 0) {
    EXPECT_TRUE(agent->serve(kNoMessages, {.until = after(5ms)}));
  }
}

// Takes nothing out of its lanes.
BEELINE_ROLE(deaf_child) {
  auto& board = context.board<FaultBoard>();
  auto agent = attach("child", "boss");
  ASSERT_TRUE(agent);
  agent->tasks().accept();
  board.attached.raise();
  ASSERT_TRUE(board.leave.await(1, patience()));
}

BEELINE_ROLE(boss) {
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  context.board<FaultBoard>().attached.raise();
  ASSERT_TRUE(agent->wait_for("child", patience()));
  (void)agent->tasks().execute("child", {.description = "for ever"}, patience());
}

BEELINE_ROLE(without_handler) {
  auto& board = context.board<FaultBoard>();
  auto agent = attach("child", "boss");
  ASSERT_TRUE(agent);
  board.attached.raise();
  while (board.leave.count() == 0) (void)agent->receive({.timeout = 5ms});
  EXPECT_EQ(agent->counters().tasks, 0U);
  EXPECT_EQ(agent->counters().dead, 0U);
  expect_balance(*agent);
}

TEST_P(FlowExecuteFaults, OnlyTheParentMayGiveATask) {
  auto boss = attach("boss");
  auto child = attach("child", "boss");
  auto sibling = attach("sibling", "boss");
  auto grandchild = attach("grandchild", "child");
  ASSERT_TRUE(boss && child && sibling && grandchild);
  child->tasks().accept();
  const auto refused = [](Agent& from, const std::string& to) {
    const auto result = from.tasks().execute(to, {.description = "?"}, after(10s));
    if (result) return std::string("it was done");
    EXPECT_EQ(result.error().code, ErrorCode::kDenied) << from.name() << " to " << to;
    return result.error().text;
  };
  for (Agent* from : {&*sibling, &*grandchild, &*child}) {
    EXPECT_HAS(refused(*from, "child"), "can only execute_on own children") << from->name();
  }
  EXPECT_HAS(refused(*child, "boss"), "execute failed: ");
  EXPECT_HAS(refused(*boss, "grandchild"), "can only execute_on own children");
  const std::vector<Execution> several{{"sibling", {}}, {"boss", {}}};
  for (const auto& result : child->tasks().execute_all(several, after(10s))) {
    EXPECT_EQ(result.error().code, ErrorCode::kDenied);
  }
  EXPECT_EQ(child->tasks().execute_then("sibling", {}, kIgnore).error().code, ErrorCode::kDenied);
  EXPECT_EQ(child->counters().tasks, 0U);
}

TEST_P(FlowExecuteFaults, AChildWithoutAHandlerSaysSoAtOnce) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  troupe().start("without_handler");
  ASSERT_TRUE(board<FaultBoard>().attached.await(1, patience()));
  const auto result = boss->tasks().execute("child", {.description = "?"}, patience());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRejected);
  EXPECT_HAS(result.error().text, "execute failed: ");
  EXPECT_HAS(result.error().text, "the agent has no task handler");
  board<FaultBoard>().leave.raise();
  troupe().wait_all(patience());
}

TEST_P(FlowExecuteFaults, ATimeoutEndsATaskThatReportsWithoutEnd) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  troupe().start("chatterer");
  ASSERT_TRUE(board<FaultBoard>().attached.await(1, patience()));
  std::size_t heard = 0;
  const auto result = boss->tasks().execute("child", {.description = "talk", .timeout = 200ms},
                                            patience(), [&](const TaskProgress&) {
                                              ++heard;
                                              let_pass(5ms);
                                            });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
  EXPECT_GT(heard, 0U);
  board<FaultBoard>().leave.raise();
  troupe().wait_all(patience());
}

TEST_P(FlowExecuteFaults, ATaskThatFindsNoRoomInItsTimeHoldsUpNoOther) {
  AttachOptions options = named("boss");
  options.normal_slots = 8;
  auto boss = attach(options);
  auto able = attach("able", "boss");
  ASSERT_TRUE(boss && able);
  troupe().start("deaf_child");
  ASSERT_TRUE(board<FaultBoard>().attached.await(1, patience()));
  while (boss->send("child", "filling")) {
  }
  std::thread worker([&] {
    able->tasks().handle([](TaskRun&) { return TaskResult{.output = "done"}; });
    EXPECT_TRUE(able->serve(kNoMessages, {.until = patience(), .most = 1}));
  });
  const std::vector<Execution> both{{"child", {.timeout = 100ms}}, {"able", {}}};
  const auto results = boss->tasks().execute_all(both, Deadline::max());
  worker.join();
  ASSERT_FALSE(results[0]);
  ASSERT_TRUE(results[1]) << results[1].error().text;
  EXPECT_EQ(results[1]->output, "done");
  board<FaultBoard>().leave.raise();
  troupe().wait_all(patience());
}

// Each of many tasks ends once, and a child keeps no more of them than it may.
TEST_P(FlowExecuteFaults, AHundredThousandTasksAreRefusedAndNothingGrows) {
  auto boss = attach("boss");
  auto child = attach_small_child();
  ASSERT_TRUE(boss && child);
  std::map<std::string, std::size_t> ends;
  std::size_t open = 0;
  const auto then = [&](Result<TaskResult> result) {
    --open;
    if (result) {
      ++ends["done"];
    } else {
      ++ends[std::string(to_string(result.error().code))];
      EXPECT_HAS(result.error().text, "too many tasks wait already");
    }
  };
  std::size_t full = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto id = boss->tasks().execute_then("child", {.description = "?"}, then);
    if (id) {
      ++open;
    } else {
      ++full;
      ASSERT_EQ(id.error().code, ErrorCode::kFull) << id.error().text;
    }
    if (i % 64 != 0) continue;
    EXPECT_FALSE(child->try_receive());
    ASSERT_TRUE(boss->run_answers());
    ASSERT_LE(child->tasks().waiting(), 16U);
  }
  EXPECT_EQ(child->tasks().waiting(), 16U);
  while (auto run = child->tasks().next()) run->finish({});
  const Deadline deadline = patience();
  while (open != 0 && std::chrono::steady_clock::now() < deadline) {
    EXPECT_FALSE(child->try_receive());
    while (auto run = child->tasks().next()) run->finish({});
    ASSERT_TRUE(boss->run_answers());
  }
  EXPECT_EQ(open, 0U);
  EXPECT_GE(ends["done"], 16U);
  EXPECT_GT(ends["rejected"], 1000U);
  EXPECT_EQ(ends["done"] + ends["rejected"] + full, 100'000U);
  expect_balance(*child);
  expect_balance(*boss);
}

// Messages that fill the inbox do not keep a task out.
TEST_P(FlowExecuteFaults, AFullInboxStillTakesATask) {
  auto boss = attach("boss");
  auto child = attach_small_child();
  ASSERT_TRUE(boss && child);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(boss->send("child", "a message"));
  await_drained(*child, 60);
  ASSERT_TRUE(boss->tasks().execute_then("child", {.description = "now"}, kIgnore));
  drain_until(*child, [&] { return child->tasks().waiting() == 1; });
  EXPECT_EQ(child->counters().queued, 60U);
  expect_balance(*child);
}

// ---- Lies ---------------------------------------------------------------------------------------

// The shared memory of this process, which it may write and others read, where this text lies. Null
// if it is nowhere.
char* find_shared(std::string_view text) {
  std::ifstream maps("/proc/self/maps");
  const os::UniqueFd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" rw-s ") == std::string::npos) continue;
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    std::string page(4096, 0);
    for (; begin < end; begin += page.size()) {
      const ssize_t got =
          ::pread(memory.get(), page.data(), page.size(), static_cast<off_t>(begin));
      const std::size_t at = got > 0 ? page.find(text) : std::string::npos;
      if (at != std::string::npos) return reinterpret_cast<char*>(begin + at);
    }
  }
  return nullptr;
}

class FlowExecuteLies : public HiveTest {
 protected:
  void SetUp() override {
    HiveTest::SetUp();
    boss_ = attach("boss");
    child_ = attach("child", "boss");
    ASSERT_TRUE(boss_ && child_);
    child_->tasks().accept();
  }
  void TearDown() override {
    boss_.reset();
    child_.reset();
    HiveTest::TearDown();
  }
  // Gives a task of which `spoil` writes over the bytes. The boss hears what became of it.
  template <typename Spoil>
  std::string give(Spoil&& spoil) {
    std::string end;
    const auto then = [&](Result<TaskResult> result) {
      end = result ? result->output : result.error().text;
    };
    const std::string mark = "mark-" + std::to_string(++number_);
    const Task task{.id = mark, .description = "count", .params = {{"a", "b"}}};
    EXPECT_TRUE(boss_->tasks().execute_then("child", task, then));
    char* const id = find_shared(mark);
    EXPECT_NE(id, nullptr);
    if (id != nullptr) spoil(id - sizeof(std::uint32_t) - sizeof(shm::TaskHead));
    EXPECT_FALSE(child_->try_receive());
    if (auto run = child_->tasks().next()) run->finish({.output = run->task().description});
    const Deadline deadline = patience();
    while (end.empty() && std::chrono::steady_clock::now() < deadline) {
      EXPECT_TRUE(boss_->run_answers());
      EXPECT_FALSE(child_->try_receive());
    }
    return end;
  }
  std::optional<Agent> boss_;
  std::optional<Agent> child_;
  int number_ = 0;
};
INSTANTIATE_TEST_SUITE_P(As, FlowExecuteLies, testing::Values(World::kThreads), world_name);

TEST_P(FlowExecuteLies, ATaskWithLyingLengthsAndCountsFailsAlone) {
  EXPECT_EQ(give([](char*) {}), "count");
  constexpr std::size_t kHead = sizeof(shm::TaskHead);
  for (const std::size_t at : {offsetof(shm::TaskHead, form), offsetof(shm::TaskHead, texts),
                               offsetof(shm::TaskHead, pairs), offsetof(shm::TaskHead, pairs) + 4,
                               offsetof(shm::TaskHead, reserved), kHead}) {
    for (const std::uint32_t lie : {3U, 0x7fffffffU, 0xffffffffU}) {
      const std::string end = give([&](char* form) { std::memcpy(form + at, &lie, sizeof(lie)); });
      EXPECT_HAS(end, "execute failed: task failed: the ");
      EXPECT_HAS(end, "are no task");
    }
  }
  EXPECT_EQ(give([](char*) {}), "count") << "the link goes on";
  EXPECT_EQ(child_->counters().quarantined_links, 0U);
  EXPECT_EQ(child_->counters().leased, 0U);
  expect_balance(*child_);
  expect_balance(*boss_);
}

TEST_P(FlowExecuteLies, NobodyElseAnswersATaskAndASecondAnswerIsNone) {
  auto other = attach("other", "boss");
  ASSERT_TRUE(other);
  std::vector<std::string> ends;
  const auto then = [&](Result<TaskResult> result) {
    ends.push_back(result ? result->output : result.error().text);
  };
  const auto id = boss_->tasks().execute_then("child", {.description = "?"}, then);
  ASSERT_TRUE(id);
  ASSERT_TRUE(other->send("boss", "forged", {.reply_to = *id}));
  EXPECT_FALSE(child_->try_receive());
  auto run = child_->tasks().next();
  ASSERT_TRUE(run);
  run->finish({.output = "right"});
  ASSERT_TRUE(child_->send("boss", "once more", {.reply_to = *id}));
  await_drained(*boss_, 3);
  ASSERT_TRUE(boss_->run_answers());
  EXPECT_EQ(ends, std::vector<std::string>{"right"});
  EXPECT_EQ(take_texts(*boss_), std::vector<std::string>{"forged"}) << "an ordinary message";
  EXPECT_TRUE(boss_->drain_pending_results().empty()) << "nobody fetches a second result";
  EXPECT_EQ(boss_->counters().late_replies, 1U);
  // A child may answer its own task with anything.
  const auto next = boss_->tasks().execute_then("child", {.description = "?"}, then);
  ASSERT_TRUE(next && child_->send("boss", "no result at all", {.reply_to = *next}));
  await_drained(*boss_, 4);
  ASSERT_TRUE(boss_->run_answers());
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_HAS(ends[1], "execute failed: the 16 bytes are no result");
}

TEST_P(FlowExecuteDeath, ADeadChildIsAnErrorAtOnceAndItsSuccessorDoesNoTaskAgain) {
  auto& events = board<FaultBoard>();
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  const std::size_t place = troupe().start("child");
  ASSERT_TRUE(events.attached.await(1, patience()));
  std::vector<std::string> errors;
  const auto then = [&](Result<TaskResult> result) {
    ASSERT_FALSE(result);
    errors.push_back(result.error().text);
    EXPECT_EQ(result.error().code, ErrorCode::kPeerDeadTaken) << result.error().text;
    if (errors.size() == 3) boss->stop_serving();
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(boss->tasks().execute_then("child", {.description = "?"}, then));
  }
  ASSERT_TRUE(events.begun.await(1, patience()));
  const Pid pid = boss->peer("child")->pid;
  // The other two wait in its table, or in its lane.
  (void)boss->request("child", "", after(20ms));
  troupe().kill(place);
  ASSERT_TRUE(boss->serve(kNoMessages, {.until = patience()}));
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_HAS(errors[0], "execute failed: ");
  EXPECT_EQ(boss->tasks().execute("child", {}, patience()).error().code, ErrorCode::kPeerDead);
  troupe().restart(place);
  ASSERT_TRUE(events.attached.await(2, patience()));
  // A new task is done by the new life, behind all that it found.
  ASSERT_EQ(boss->peer("child")->pid, pid);
  ASSERT_TRUE(boss->tasks().execute_then("child", {.description = "new"}, kIgnore));
  ASSERT_TRUE(events.begun.await(2, patience()));
  EXPECT_EQ(events.begun.count(), 2U) << "a task was done again";
  events.leave.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(events.begun.count(), 2U) << "a task was done again";
  auto heir = attach_again(named("child", "boss"));
  ASSERT_TRUE(heir);
  std::size_t cancelled = 0;
  for (const InboxItem& item : heir->inbox()) {
    if (!item.dead) continue;
    if (item.reason == "cancelled") ++cancelled;
    EXPECT_EQ(heir->requeue_dead(item.id).error().code, ErrorCode::kInvalid);
  }
  EXPECT_GE(cancelled, 1U);
  expect_balance(*heir);
}

TEST_P(FlowExecuteDeath, ATaskThatWasNotTakenIsNotDoneByASuccessor) {
  auto& events = board<FaultBoard>();
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  const std::size_t place = troupe().start("deaf_child");
  ASSERT_TRUE(events.attached.await(1, patience()));
  std::string error;
  const auto then = [&](Result<TaskResult> result) {
    error = result ? "it was done" : std::string(to_string(result.error().code));
    boss->stop_serving();
  };
  ASSERT_TRUE(boss->tasks().execute_then("child", {.description = "?"}, then));
  troupe().kill(place);
  ASSERT_TRUE(boss->serve(kNoMessages, {.until = patience()}));
  EXPECT_EQ(error, "peer_dead") << "it may be tried again";
  troupe().start("child");
  ASSERT_TRUE(events.attached.await(2, patience()));
  ASSERT_TRUE(boss->tasks().execute_then("child", {.description = "new"}, kIgnore));
  ASSERT_TRUE(events.begun.await(1, patience()));
  events.leave.raise();
  troupe().wait(1, patience());
  EXPECT_EQ(events.begun.count(), 1U);
}

TEST_P(FlowExecuteDeath, TheDeathOfTheParentCancelsTheTask) {
  auto& events = board<FaultBoard>();
  const std::size_t boss = troupe().start("boss");
  ASSERT_TRUE(events.attached.await(1, patience()));
  troupe().start("child");
  ASSERT_TRUE(events.begun.await(1, patience()));
  troupe().kill(boss);
  EXPECT_TRUE(events.cancelled.await(1, patience()));
  events.leave.raise();
  troupe().wait(1, patience());
}

// A parent that is started again gives new tasks; nobody waits for the old ones.
TEST_P(FlowExecuteDeath, ATaskThatWaitsForADeadParentIsNotDone) {
  auto& events = board<FaultBoard>();
  const std::size_t boss = troupe().start("boss");
  ASSERT_TRUE(events.attached.await(1, patience()));
  auto child = attach("child", "boss");
  ASSERT_TRUE(child);
  child->tasks().accept();
  drain_until(*child, [&] { return child->tasks().waiting() == 1; });
  troupe().kill(boss);
  const auto sees_the_end = [&] {
    const auto parent = child->info(child->parent());
    return parent && parent->state == State::kZombie;
  };
  drain_until(*child, sees_the_end);
  EXPECT_FALSE(child->tasks().next());
  ASSERT_EQ(child->counters().dead, 1U);
  EXPECT_EQ(child->inbox()[0].reason, "cancelled");
  expect_balance(*child);
}

}  // namespace
}  // namespace beeline::test
