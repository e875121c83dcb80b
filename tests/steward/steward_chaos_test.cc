// Processes of a hive are killed at random with SIGKILL, while operators start, end and wait for
// children: the children, the steward, the coordinator, the keeper. No child runs twice, every end
// is told as it was, and nothing is left. BEELINE_SEED sets the seed that is printed;
// BEELINE_SOAK=1 asks for ten times as many kills.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <nlohmann/json.hpp>

#include "src/os/clock.h"
#include "src/os/process.h"
#include "tests/main_hook.h"
#include "tests/steward/chaos_operator.h"
#include "tests/steward/hive_guard.h"
#include "tests/support/at_rest.h"
#include "tests/support/hive_test.h"
#include "tests/support/process_tree.h"
#include "tests/support/program.h"
#include "tests/support/soak.h"

namespace beeline::steward::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using beeline::test::children_of;
using beeline::test::kPatience;
using beeline::test::ScratchHive;
using Json = nlohmann::json;

constexpr int kExitLost = 99;  // a child lost its hive

// "NAME KEY CODE": starts a child of its own.
std::string spawn_below(Agent& agent, const std::string& order) {
  std::istringstream words(order);
  std::string name;
  std::string key;
  int code = 0;
  words >> name >> key >> code;
  const auto spawned =
      agent.processes().spawn(chaos_child(std::getenv(kChaosVariable), name, key, code, "serve"));
  return spawned ? "started" : spawned.error().text;
}

// Modes: absent (does not attach), brief (exits once it has attached), serve (exits when told).
int run_as_child(int argc, char** argv) {
  if (argc != 5 || argv[1] != kChildFlag) return -1;
  const int code = std::atoi(argv[3]);
  const std::string_view mode = argv[4];
  const ChaosNote note(argv[2], code);
  if (mode == "absent") note.leave(code);
  const auto lose = [&note](const Error& error) {
    std::printf("%s\n", error.text.c_str());
    std::fflush(stdout);
    note.leave(kExitLost);
  };
  auto agent = Agent::attach({});
  if (!agent) lose(agent.error());
  if (mode == "brief") note.leave(code);
  for (;;) {
    auto message = agent->receive();
    if (!message) lose(message.error());
    if (message->type() == kShutdownOrder || message->text() == "end") note.leave(code);
    const std::string answer = spawn_below(*agent, std::string(message->text()));
    if (!agent->reply_until(*message, answer, after(kPatience))) note.leave(kExitLost);
  }
}

const bool kIsHooked = (beeline::test::main_hook = run_as_child, true);

std::uint64_t choose_seed() {
  const char* const text = std::getenv("BEELINE_SEED");
  const std::uint64_t seed = text != nullptr
                                 ? std::strtoull(text, nullptr, 10)
                                 : static_cast<std::uint64_t>(os::monotonic_ns()) % 1'000'000'000;
  std::printf("steward_chaos_test: BEELINE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

// The descriptors of a process by kind; numbers in names do not count.
std::map<std::string, int> fds_of(pid_t process) {
  std::map<std::string, int> fds;
  std::error_code ended;
  for (const auto& entry :
       fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", ended)) {
    std::string kind = fs::read_symlink(entry.path(), ended);
    std::erase_if(kind, [](char each) { return each >= '0' && each <= '9'; });
    ++fds[kind];
  }
  return fds;
}

// The descriptors of steward, coordinator and keeper, and processes that nobody has reaped.
struct Holding {
  std::vector<std::map<std::string, int>> fds;
  std::size_t zombies = 0;
  bool operator==(const Holding&) const = default;
};

std::size_t rss_kib(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string word; file >> word;) {
    if (word != "VmRSS:") continue;
    std::size_t kib = 0;
    file >> kib;
    return kib;
  }
  return 0;
}

struct Kills {
  int children = 0;
  int stewards = 0;
  int coordinators = 0;
  [[nodiscard]] int left() const { return children + stewards + coordinators; }
};

class StewardChaos : public testing::Test {
 protected:
  static constexpr int kOperators = 3;

  StewardChaos() : seed_(choose_seed()), random_(seed_) {}
  ~StewardChaos() override {
    operators_.clear();
    if (HasFailure()) {
      std::cerr << "BEELINE_SEED=" << seed_ << " draws the same kills again\n" << hive_.log();
    }
  }

  [[nodiscard]] static int often(int count) {
    return beeline::test::is_soak() ? 10 * count : count;
  }
  // 0 if there is none just now.
  [[nodiscard]] pid_t steward() const {
    return beeline::test::steward_of(hive_.keeper(), hive_.log());
  }
  [[nodiscard]] pid_t coordinator() const {
    for (const pid_t process : children_of(hive_.keeper())) {
      std::ifstream file("/proc/" + std::to_string(process) + "/comm");
      std::string name;
      if (file >> name && name == "beelined") return process;
    }
    return 0;
  }
  void start_operators() {
    for (int i = 0; i < kOperators; ++i) {
      operators_.push_back(
          std::make_unique<Operator>("op" + std::to_string(i), random_(), ledger_, progress_));
    }
  }
  // The operators work until all kills are done.
  void play(Kills kills);
  // The same; then everything is held that was held before, and no more.
  void play_and_compare(const Kills& kills);
  // Does one of the kills if that can be done now.
  void kill_one(Kills& kills);
  // Lets the operators end everything, and counts.
  Holding look();
  void expect_no_child_left();

  ScratchHive hive_;
  HiveGuard guard_{hive_.directory()};
  ChaosLedger ledger_;
  Progress progress_;
  std::uint64_t seed_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Operator>> operators_;
  pid_t killed_coordinator_ = 0;
  pid_t killed_steward_ = 0;
};

void StewardChaos::kill_one(Kills& kills) {
  int at = std::uniform_int_distribution(0, kills.left() - 1)(random_);
  if ((at -= kills.children) < 0) {
    if (ledger_.kill_one(random_)) --kills.children;
  } else if ((at -= kills.stewards) < 0) {
    const pid_t process = steward();
    if (process == 0 || process == killed_steward_ || ::kill(process, SIGKILL) != 0) return;
    killed_steward_ = process;
    --kills.stewards;
  } else {
    const pid_t process = coordinator();
    if (process == 0 || process == killed_coordinator_ || ::kill(process, SIGKILL) != 0) return;
    killed_coordinator_ = process;
    --kills.coordinators;
  }
}

void StewardChaos::play(Kills kills) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (auto& each : operators_) threads.emplace_back([&] { each->work(is_over); });
  while (kills.left() > 0 && !HasFailure()) {
    EXPECT_TRUE(progress_.await(1)) << "nothing happens";
    // A kill comes at any moment of the requests that come next.
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution(0, 3000)(random_)));
    kill_one(kills);
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
}

void StewardChaos::expect_no_child_left() {
  for (auto& each : operators_) {
    const auto children = each->agent().processes().list(/*recursive=*/true);
    ASSERT_TRUE(children) << children.error().text;
    for (const ChildInfo& left : *children) {
      EXPECT_EQ(left.state, "ended") << left.name;
      EXPECT_EQ(left.os_pid, 0) << left.name;
    }
  }
  EXPECT_EQ(ledger_.repeated(), std::vector<std::string>());
}

Holding StewardChaos::look() {
  for (auto& each : operators_) each->tidy();
  expect_no_child_left();
  // An operator comes back to a new coordinator when it asks for something. Until then the
  // coordinator keeps agents that were forgotten: the operator may hold links to them.
  for (auto& each : operators_) EXPECT_TRUE(each->agent().info());
  const std::vector<pid_t> processes = {steward(), coordinator(), hive_.keeper()};
  const auto found = beeline::test::look_at_rest(
      processes, after(kPatience),
      [this] {
        for (auto& each : operators_) each->check_news();
        std::this_thread::sleep_for(2ms);
      },
      [&] {
        Holding held;
        for (const pid_t process : processes) {
          held.fds.push_back(fds_of(process));
        }
        // Nobody but steward and coordinator is the keeper's child any more.
        held.zombies = children_of(processes[0]).size() + children_of(processes[2]).size() - 2;
        return held;
      });
  EXPECT_TRUE(found) << "the hive does not come to rest";
  return found.value_or(Holding{});
}

TEST_F(StewardChaos, ChildrenAreKilled) {
  start_operators();
  play({.children = 20});
  const Holding before = look();
  const std::vector<pid_t> processes = {steward(), coordinator(), hive_.keeper()};
  std::vector<std::size_t> kib;
  for (const pid_t process : processes) kib.push_back(rss_kib(process));
  play({.children = often(220)});
  const Holding after = look();
  EXPECT_EQ(after.fds, before.fds);
  EXPECT_EQ(after.zombies, 0U);
  EXPECT_EQ(steward(), processes[0]);
  constexpr std::size_t kMoreKib = 4096;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    EXPECT_LE(rss_kib(processes[i]), kib[i] + kMoreKib) << "of process " << i;
  }
}

void StewardChaos::play_and_compare(const Kills& kills) {
  start_operators();
  const Holding before = look();
  const std::size_t keeper_kib = rss_kib(hive_.keeper());
  play(kills);
  const Holding after = look();
  EXPECT_EQ(after.fds, before.fds);
  EXPECT_EQ(after.zombies, 0U);
  constexpr std::size_t kMoreKib = 1024;
  EXPECT_LE(rss_kib(hive_.keeper()), keeper_kib + kMoreKib);
}

TEST_F(StewardChaos, StewardIsKilled) {
  play_and_compare({.children = often(20), .stewards = often(50)});
}

TEST_F(StewardChaos, CoordinatorIsKilled) {
  play_and_compare({.children = often(20), .coordinators = often(50)});
}

TEST_F(StewardChaos, StewardAndCoordinatorAreKilled) {
  play_and_compare({.children = often(20), .stewards = often(50), .coordinators = often(50)});
}

TEST_F(StewardChaos, KeeperIsKilled) {
  std::unique_ptr<Operator> boss;
  for (int i = 0; i < often(20) && !HasFailure(); ++i) {
    // The one before it leaves now: without a hive it would wait for one.
    boss = std::make_unique<Operator>("boss" + std::to_string(i), random_(), ledger_, progress_);
    hive_.find_keeper();
    const std::string hive = "hive" + std::to_string(i);
    for (const char* const name : {"a", "b"}) {
      const auto spawned = boss->agent().processes().spawn(
          chaos_child(ledger_.path(), name, hive + name, 7, "serve"));
      ASSERT_TRUE(spawned) << spawned.error().text;
    }
    // More is under way: a wait, and a spawn in any phase of its start.
    const auto ignore = [](const Result<Message>&) {};
    const std::string wait = Json{{"child", "a"}, {"timeout_ms", 60'000}}.dump();
    EXPECT_TRUE(boss->agent().request_then(To(Pid{1}), wait, after(kPatience), ignore,
                                           {.type = "hive.wait"}));
    const SpawnOptions more = chaos_child(ledger_.path(), "c", hive + "c", 7, "serve");
    const std::string spawn =
        Json{{"name", "c"}, {"command", more.command}, {"environment", more.environment}}.dump();
    EXPECT_TRUE(boss->agent().request_then(To(Pid{1}), spawn, after(kPatience), ignore,
                                           {.type = "hive.spawn"}));
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution(0, 20'000)(random_)));
    ASSERT_EQ(::kill(hive_.keeper(), SIGKILL), 0);
    expect_all_end(hive_.directory());
  }
  hive_.find_keeper();
  EXPECT_EQ(ledger_.repeated(), std::vector<std::string>());
}

}  // namespace
}  // namespace beeline::steward::test
