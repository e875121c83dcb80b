// Eight workers go through thousands of tasks while they are killed at random. BEELINE_SOAK=1
// takes 10,000 tasks.

#include <fcntl.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "tests/spool/spool_fixture.h"
#include "tests/support/soak.h"

namespace beeline::spool::test {
namespace {

constexpr std::size_t kWorkers = 8;

// A pipe that keeps each line which a worker wrote, also that of a killed one.
class Ledger {
 public:
  Ledger() {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::fcntl(fd(), F_SETFL, O_NONBLOCK), 0);
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  [[nodiscard]] int fd() const { return ends_[0]; }
  // Whole or not at all, because a line is shorter than PIPE_BUF.
  void note(const Task& task) const {
    const std::string line = task.id + " " + std::to_string(task.attempts) + "\n";
    EXPECT_EQ(::write(ends_[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  // Takes in all new lines, and returns their number.
  std::size_t read() {
    std::string text;
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t got = ::read(fd(), bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(got));
    }
    std::istringstream lines(text);
    std::size_t count = 0;
    std::string id;
    for (std::int64_t attempt = 0; lines >> id >> attempt; ++count) {
      EXPECT_TRUE(runs_[id].insert(attempt).second)
          << id << " was handed out twice as attempt " << attempt;
    }
    return count;
  }
  [[nodiscard]] const std::map<std::string, std::set<std::int64_t>>& runs() const { return runs_; }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::map<std::string, std::set<std::int64_t>> runs_;
};

class SpoolKillTest : public SpoolTest {
 protected:
  static std::string id_of(int number) { return "t" + std::to_string(number); }
  static bool must_fail(const std::string& id) { return id.ends_with('3'); }
  static bool must_retry(const Task& task) { return task.id.ends_with('7') && task.attempts == 1; }

  void produce(int tasks) {
    Spool spool = open();
    for (int i = 0; i < tasks; ++i) {
      Task made = task(id_of(i), i % 5);
      made.max_attempts = 1'000;
      put(spool, made);
    }
  }
  void end(Claim& claim) {
    ledger_.note(claim.task());
    if (must_fail(claim.task().id)) {
      EXPECT_TRUE(claim.fail("as told"));
    } else if (must_retry(claim.task())) {
      EXPECT_TRUE(claim.retry("once more"));
    } else {
      EXPECT_TRUE(claim.complete());
    }
  }
  [[nodiscard]] Child start_worker() {
    return Child([this] {
      options_.worker.clear();
      Spool spool = open();
      while (!HasFailure()) {
        auto claim = spool.claim(after(std::chrono::minutes(5)));
        ASSERT_TRUE(claim) << claim.error().text;
        end(*claim);
      }
    });
  }
  static void kill(Child& worker) {
    ::kill(worker.pid(), SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(worker.wait())) << "a worker has ended by itself";
  }
  // Takes in the ends of tasks that the watch tells of.
  void take_ends(Watch& watch) {
    while (const auto change = watch.next()) {
      if (change->id.empty()) {
        for (const auto* folder : {"outbox", "failed"}) ends_.merge(names(folder));
      } else if (change->came && change->folder == Folder::kOutbox) {
        ends_.insert(change->id + "_result.json");
      } else if (change->came && change->folder == Folder::kFailed) {
        ends_.insert(change->id + "_error.json");
      }
    }
  }

  Ledger ledger_;
  Names ends_;
};

// DR-009, DR-016, DR-017: each task ends once, and another run of it says that it is one.
TEST_F(SpoolKillTest, KilledWorkersLoseNoTaskAndDoNoneTwiceInSilence) {
  const int tasks = beeline::test::is_soak() ? 10'000 : 600;
  Spool spool = open();
  auto watch = Watch::open(options_);
  ASSERT_TRUE(watch) << watch.error().text;
  std::vector<Child> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) workers.push_back(start_worker());
  Child producer([&] { produce(tasks); });

  // The ledger sets the pace: a sleep would kill seldom on a fast machine.
  std::mt19937 random(32);
  std::size_t kills = 0;
  std::size_t lines = 0;
  std::size_t next_kill = 1;
  while (ends_.size() < static_cast<std::size_t>(tasks) && !HasFailure()) {
    std::array<pollfd, 2> fds{pollfd{ledger_.fd(), POLLIN, 0}, pollfd{watch->fd(), POLLIN, 0}};
    ASSERT_GT(::poll(fds.data(), fds.size(), -1), 0);
    lines += ledger_.read();
    take_ends(*watch);
    for (; next_kill <= lines; next_kill += 1 + random() % 40) {
      Child& victim = workers[random() % kWorkers];
      kill(victim);
      victim = start_worker();
      ++kills;
    }
  }
  EXPECT_EQ(producer.wait(), 0);
  for (Child& worker : workers) kill(worker);

  ASSERT_TRUE(spool.sweep());
  while (auto claim = spool.try_claim()) end(*claim);
  (void)ledger_.read();
  EXPECT_TRUE(names("inbox").empty());
  EXPECT_TRUE(names("processing").empty());
  // A killed process leaves at most one.
  EXPECT_LE(names(".tmp").size(), kills + kWorkers);
  std::size_t again = 0;
  for (int i = 0; i < tasks; ++i) {
    const std::string id = id_of(i);
    EXPECT_EQ(fs::exists(path("outbox/" + id + "_result.json")), !must_fail(id)) << id;
    EXPECT_EQ(fs::exists(path("failed/" + id + "_error.json")), must_fail(id)) << id;
    const auto runs = ledger_.runs().find(id);
    ASSERT_NE(runs, ledger_.runs().end()) << id;
    again += runs->second.size() - 1;
  }
  EXPECT_EQ(names("outbox").size() + names("failed").size(), static_cast<std::size_t>(tasks));
  std::cout << tasks << " tasks, " << kills << " kills, " << again << " further runs\n";
  EXPECT_GT(kills, static_cast<std::size_t>(tasks) / 100);
}

}  // namespace
}  // namespace beeline::spool::test
