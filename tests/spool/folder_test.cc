// The effects of each call on the folder. The tests cite the rows that they prove.

#include "tests/spool/spool_fixture.h"

namespace beeline::spool::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// DR-001
TEST_F(SpoolTest, OpeningMakesTheFiveFoldersAndAnAbsolutePath) {
  const fs::path before = fs::current_path();
  fs::current_path(root_);
  options_.dir = "deep/er/box/";
  const Spool spool = open();
  fs::current_path(before);
  options_.dir = root_ + "/deep/er/box";
  EXPECT_EQ(spool.options().dir, options_.dir);
  for (const auto* folder : {"inbox", "processing", "outbox", "failed", ".tmp"}) {
    EXPECT_TRUE(fs::is_directory(path(folder))) << folder;
    EXPECT_EQ(static_cast<unsigned>(fs::status(path(folder)).permissions()) & 0777U, 0755U);
  }
}

// DR-002, DR-006, DR-007, DR-012, DR-015, C-27
TEST_F(SpoolTest, ATaskGoesFromInboxThroughProcessingToOutbox) {
  Spool spool = open();
  put(spool, task("a"));
  EXPECT_EQ(all_files(), Names{"inbox/a.json"});
  EXPECT_EQ(static_cast<unsigned>(fs::status(path("inbox/a.json")).permissions()) & 0777U, 0644U);
  const Task before = *read_task(read("inbox/a.json"));
  EXPECT_NE(before.created_at, 0);
  auto claim = spool.try_claim();
  ASSERT_TRUE(claim) << claim.error().text;
  EXPECT_EQ(all_files(), Names{"processing/a.json"});
  const Task during = *read_task(read("processing/a.json"));
  EXPECT_EQ(during, claim->task());
  EXPECT_EQ(during.status, "claimed");
  EXPECT_EQ(during.claimed_by, "w");
  EXPECT_GE(during.claimed_at, before.created_at);
  EXPECT_EQ(during.attempts, 1);
  EXPECT_EQ(during.updated_at, before.updated_at);
  ASSERT_TRUE(claim->complete({.verdict = "pass", .verdict_reason = "r", .output = "o"}));
  EXPECT_FALSE(claim->valid());
  EXPECT_EQ(all_files(), Names{"outbox/a_result.json"});
  const Completion done = *read_completion(read("outbox/a_result.json"));
  EXPECT_EQ(done.task_id, "a");
  EXPECT_EQ(done.status, "completed");
  EXPECT_EQ(done.output, "o");
  EXPECT_GE(done.duration_ms, 0);
  EXPECT_NE(done.completed_at, 0);
}

// DR-014: the error file has all six keys, and the task is over.
TEST_F(SpoolTest, AFailedTaskLeavesItsErrorAlone) {
  Spool spool = open();
  put(spool, task("a"));
  auto claim = spool.try_claim();
  ASSERT_TRUE(claim);
  ASSERT_TRUE(claim->fail("execution failed: timeout"));
  EXPECT_EQ(all_files(), Names{"failed/a_error.json"});
  const TaskError error = *read_error(read("failed/a_error.json"));
  EXPECT_EQ(error.status, "failed");
  EXPECT_EQ(error.error, "execution failed: timeout");
  EXPECT_EQ(error.attempts, 1);
  EXPECT_NE(error.last_attempt_at, 0);
  EXPECT_NE(error.failed_at, 0);
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
}

// DR-005, C-22
TEST_F(SpoolTest, AnIdIsPutOnceWhateverTheNumberOfProducers) {
  Spool spool = open();
  {
    std::vector<Child> producers;
    for (int i = 0; i < 8; ++i) {
      producers.emplace_back([&] {
        Spool own = open();
        Task mine = task("same");
        mine.description = std::string(20'000, static_cast<char>('a' + i));
        const auto put = own.put(mine);
        if (!put) expect_code(put.error(), Code::kTaskExists);
        ::_exit(put ? 10 : 0);
      });
    }
    int winners = 0;
    for (Child& producer : producers) winners += WEXITSTATUS(producer.wait()) == 10 ? 1 : 0;
    EXPECT_EQ(winners, 1);
  }
  EXPECT_EQ(all_files(), Names{"inbox/same.json"});
  EXPECT_EQ(read_task(read("inbox/same.json"))->description.size(), 20'000U);
  // Not while it is worked on, either; but when it has ended.
  auto claim = spool.try_claim();
  ASSERT_TRUE(claim);
  expect_code(spool.put(task("same")).error(), Code::kTaskExists);
  ASSERT_TRUE(claim->complete());
  EXPECT_TRUE(spool.put(task("same")));
}

// DR-008, C-25
TEST_F(SpoolTest, ClaimsGoByPriorityThenAgeThenSequence) {
  const auto fill = [](Spool& spool) {
    const auto add = [&](const char* id, std::int64_t priority, std::int64_t created,
                         std::int64_t sequence) {
      Task made = task(id, priority);
      made.created_at = created;
      made.sequence_number = sequence;
      put(spool, made);
    };
    add("task_10", 1, 100, 0);
    add("task_2", 9, 300, 0);
    add("task_1", 1, 200, 0);
    add("task_0", 1, 200, 1);
  };
  const auto order = [](Spool& spool) {
    std::string ids;
    for (int i = 0; i < 4; ++i) ids += claimed_id(spool) + " ";
    return ids;
  };
  Spool warm = open();
  EXPECT_EQ(claimed_id(warm), "ErrNoTasks");
  fill(warm);
  const auto listed = warm.list(Folder::kInbox);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->front().id, "task_2");
  EXPECT_EQ(order(warm), "task_2 task_10 task_1 task_0 ");
  options_.dir += "2";
  options_.order = ClaimOrder::kFifo;
  Spool cold = open();
  fill(cold);
  EXPECT_EQ(order(cold), "task_10 task_1 task_0 task_2 ");
}

// DR-009
TEST_F(SpoolTest, RacingWorkersGetEachTaskOnce) {
  constexpr int kTasks = 400;
  Spool spool = open();
  for (int i = 0; i < kTasks; ++i) put(spool, task("t" + std::to_string(i)));
  std::vector<Child> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&, i] {
      options_.worker = std::to_string(i);
      Spool own = open();
      for (;;) {
        auto claim = own.try_claim();
        if (!claim) {
          expect_code(claim.error(), Code::kNoTasks);
          return;
        }
        std::ofstream(root_ + "/" + claim->task().id, std::ios::app) << 'x';
        EXPECT_TRUE(claim->complete());
      }
    });
  }
  for (Child& worker : workers) EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(names("outbox").size(), static_cast<std::size_t>(kTasks));
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(fs::file_size(root_ + "/t" + std::to_string(i)), 1U);
}

// DR-013, C-23
TEST_F(SpoolTest, OnlyItsWorkerEndsATask) {
  Spool spool = open();
  expect_code(spool.held("nope").error(), Code::kTaskNotFound);
  put(spool, task("a"));
  auto claim = spool.try_claim();
  ASSERT_TRUE(claim);
  options_.worker = "other";
  Spool other = open();
  expect_code(other.held("a").error(), Code::kTaskNotFound);
  options_.worker = "w";
  auto again = spool.held("a");
  ASSERT_TRUE(again);
  ASSERT_TRUE(again->complete());
  const auto twice = claim->fail("late");
  ASSERT_FALSE(twice);
  expect_code(twice.error(), Code::kTaskNotFound);
  EXPECT_EQ(all_files(), Names{"outbox/a_result.json"});
}

// DR-022, C-27: three runs for a maximum of three.
TEST_F(SpoolTest, ARetriedTaskWaitsAgainUntilItsAttemptsAreUsedUp) {
  Spool spool = open();
  put(spool, task("a"));
  for (int run = 1; run <= 3; ++run) {
    auto claim = spool.try_claim();
    ASSERT_TRUE(claim) << claim.error().text;
    EXPECT_EQ(claim->task().attempts, run);
    const auto waits = claim->retry("e" + std::to_string(run));
    ASSERT_TRUE(waits);
    EXPECT_EQ(*waits, run < 3);
    if (run == 3) break;
    const Task back = *read_task(read("inbox/a.json"));
    EXPECT_EQ(back.status, "ready");
    EXPECT_EQ(back.claimed_by, "");
    EXPECT_EQ(back.claimed_at, 0);
    EXPECT_EQ(back.last_error, "e" + std::to_string(run));
    EXPECT_TRUE(back.metadata.extra.empty());
  }
  EXPECT_EQ(all_files(), Names{"failed/a_error.json"});
  EXPECT_EQ(read_error(read("failed/a_error.json"))->error, "e3");
  put(spool, task("b"));
  { EXPECT_TRUE(spool.try_claim()); }  // a claim that is dropped goes back
  EXPECT_EQ(names("inbox"), Names{"b.json"});
}

// DR-016, C-24: at once if the process is gone, and not at all while it lives.
TEST_F(SpoolTest, AClaimIsTakenBackWhenItsProcessHasEnded) {
  Bell claimed;
  Bell never;
  Child worker([&] {
    Spool own = open();
    put(own, task("a"));
    EXPECT_EQ(claimed_id(own), "a");
    claimed.ring();
    never.wait();
  });
  claimed.wait();
  age("processing/a.json", hours(48));  // a slow worker keeps its task
  Spool spool = open();
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  worker.kill();
  EXPECT_EQ(spool.sweep()->recovered, std::vector<std::string>{"a"});
  EXPECT_EQ(read_task(read("inbox/a.json"))->status, "ready");
  auto again = spool.try_claim();
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->task().attempts, 2);
  again->keep();
}

// DR-016, C-24: for workers that cannot be looked at only their heartbeat counts.
TEST_F(SpoolTest, AClaimOfAnotherHostIsTakenBackWithoutAHeartbeat) {
  options_.process = -1;
  Spool spool = open();
  put(spool, task("a"));
  auto claim = spool.try_claim();
  ASSERT_TRUE(claim);
  age("processing/a.json", minutes(14));
  EXPECT_TRUE(spool.sweep()->recovered.empty());
  auto held = spool.held("a");
  ASSERT_TRUE(held->heartbeat());
  held->keep();
  age("processing/a.json", minutes(16));
  EXPECT_EQ(spool.sweep()->recovered, std::vector<std::string>{"a"});
  const auto late = claim->complete();
  ASSERT_FALSE(late);
  expect_code(late.error(), Code::kTaskNotFound);
  EXPECT_EQ(all_files(), Names{"inbox/a.json"});
}

TEST_F(SpoolTest, AWorkerTakesOverTheClaimsOfItsLastLife) {
  options_.process = -1;
  Child([&] {
    Spool own = open();
    put(own, task("a"));
    auto claim = own.try_claim();
    EXPECT_TRUE(claim->write_note("sent"));
    claim->keep();
  }).wait();
  Spool spool = open();
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  auto claims = spool.take_over();
  ASSERT_TRUE(claims);
  ASSERT_EQ(claims->size(), 1U);
  EXPECT_EQ(claims->front().note(), "sent");
  EXPECT_EQ(claims->front().task().attempts, 1);
  EXPECT_TRUE(claims->front().complete());
}

// A wait ends with a new task, and with the end of a process that has a claim.
TEST_F(SpoolTest, AWaitEndsWhenATaskComesAndWhenAWorkerIsKilled) {
  Spool spool = open();
  const Child producer([&] { put(*std::make_unique<Spool>(open()), task("a")); });
  auto claim = spool.claim(after(std::chrono::minutes(1)));
  ASSERT_TRUE(claim) << claim.error().text;
  ASSERT_TRUE(claim->complete());
  Bell claimed;
  Bell never;
  Child worker([&] {
    Spool own = open();
    put(own, task("b"));
    EXPECT_EQ(claimed_id(own), "b");
    claimed.ring();
    never.wait();
  });
  claimed.wait();
  const pid_t victim = worker.pid();
  const Child killer([victim] { ::kill(victim, SIGKILL); });
  auto second = spool.claim(after(std::chrono::minutes(1)));
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_EQ(second->task().attempts, 2);
  ASSERT_TRUE(second->complete());
  expect_code(spool.claim(after(std::chrono::milliseconds(1))).error(), Code::kNoTasks);
}

// DR-018
TEST_F(SpoolTest, OldFilesAreSweptByTheirAgeAndTasksNever) {
  Spool spool = open();
  put(spool, task("in"));
  for (const auto* name :
       {"outbox/old_result.json", "outbox/new_result.json", "failed/old_error.json",
        "failed/new_error.json", ".tmp/old.json.tmp", ".tmp/new.json.tmp", "outbox/readme.txt"}) {
    write(name, "{}");
  }
  age("inbox/in.json", hours(24 * 90));
  age("outbox/old_result.json", hours(24 * 8));
  age("outbox/readme.txt", hours(24 * 8));
  age("failed/new_error.json", hours(24 * 8));
  age("failed/old_error.json", hours(24 * 31));
  age(".tmp/old.json.tmp", minutes(61));
  const auto swept = spool.sweep();
  ASSERT_TRUE(swept) << swept.error().text;
  EXPECT_EQ(swept->results, 1U);
  EXPECT_EQ(swept->errors, 1U);
  EXPECT_EQ(swept->temps, 1U);
  EXPECT_EQ(all_files(), (Names{"inbox/in.json", "outbox/new_result.json", "outbox/readme.txt",
                                "failed/new_error.json", ".tmp/new.json.tmp"}));
}

// DR-020: each of the five. DR-021: nothing outside the folder.
TEST_F(SpoolTest, EachOfTheFiveErrorsComes) {
  Spool spool = open();
  expect_code(spool.try_claim().error(), Code::kNoTasks);
  expect_code(spool.find("x").error(), Code::kTaskNotFound);
  expect_code(spool.put(task("../x")).error(), Code::kInvalidTask);
  Task odd = task("odd");
  odd.extra.emplace_back("k", "{no json");
  expect_code(spool.put(odd).error(), Code::kInvalidTask);
  odd.extra = {{"id", "\"other\""}};
  expect_code(spool.put(odd).error(), Code::kInvalidTask);
  put(spool, task("a"));
  expect_code(spool.put(task("a")).error(), Code::kTaskExists);
  EXPECT_EQ(all_files(), Names{"inbox/a.json"});
  EXPECT_FALSE(fs::exists(root_ + "/x.json"));
  EXPECT_TRUE(Watch::open({.dir = options_.dir}));
  expect_code(Watch::open({.dir = root_ + "/none"}).error(), Code::kMailboxDir);
  expect_code(Spool::open({.dir = root_ + "/none", .read_only = true}).error(), Code::kMailboxDir);
  EXPECT_FALSE(fs::exists(root_ + "/none"));
  write("file", "x");
  options_.dir = path("file");
  expect_code(Spool::open(options_).error(), Code::kMailboxDir);
  fs::remove_all(spool.options().dir);
  expect_code(spool.put(task("b")).error(), Code::kMailboxDir);
  expect_code(spool.try_claim().error(), Code::kMailboxDir);
}

// DR-023
TEST_F(SpoolTest, ProducerAndWorkerNeedNotRunAtTheSameTime) {
  Child([&] {
    Spool own = open();
    put(own, task("a"));
  }).wait();
  Spool spool = open();
  EXPECT_EQ(spool.find("a")->folder, Folder::kInbox);
  EXPECT_EQ(claimed_id(spool), "a");
  EXPECT_EQ(spool.find("a")->folder, Folder::kProcessing);
}

TEST_F(SpoolTest, UnknownKeysSurviveClaimRetryAndRecovery) {
  Spool spool = open();
  write("inbox/a.json", R"({"title":"by hand","x":[1,{"y":2}],"metadata":{"m":"n"}})");
  Child([&] {
    Spool own = open();
    EXPECT_TRUE(own.try_claim()->retry("no"));
    EXPECT_EQ(claimed_id(own), "a");
  }).wait();
  ASSERT_EQ(spool.sweep()->recovered.size(), 1U);
  const Task back = *read_task(read("inbox/a.json"));
  EXPECT_EQ(back.id, "a");
  EXPECT_EQ(back.attempts, 2);
  EXPECT_EQ(back.extra, (std::vector<Extra>{{"x", R"([1,{"y":2}])"}}));
  EXPECT_EQ(back.metadata.extra, (std::vector<Extra>{{"m", "\"n\""}}));
}

TEST_F(SpoolTest, EverySyncPolicyDoesTheSameToTheFolder) {
  for (const Sync sync : {Sync::kNone, Sync::kData, Sync::kFull}) {
    options_.sync = sync;
    Spool spool = open();
    put(spool, task("a"));
    ASSERT_TRUE(spool.try_claim()->retry("again"));
    ASSERT_TRUE(spool.try_claim()->complete());
    EXPECT_EQ(all_files(), Names{"outbox/a_result.json"});
  }
}

TEST_F(SpoolTest, AWatchTellsEachMove) {
  Spool spool = open();
  auto watch = Watch::open(options_);
  ASSERT_TRUE(watch) << watch.error().text;
  put(spool, task("a"));
  ASSERT_TRUE(spool.try_claim()->complete());
  std::string story;
  while (const auto change = watch->next()) {
    story += (change->came ? "+" : "-") + std::string(to_string(change->folder)) + " ";
    EXPECT_EQ(change->id, "a");
  }
  EXPECT_EQ(story.find("+inbox -inbox +processing "), 0U) << story;
  EXPECT_NE(story.find("+outbox -processing "), std::string::npos) << story;
}

}  // namespace
}  // namespace beeline::spool::test
