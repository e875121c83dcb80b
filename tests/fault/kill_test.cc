// kill -9 of agents and of the coordinator at random under load: no message that was accepted is
// lost, none comes twice without saying so, nothing is left behind.
//
// BEELINE_SEED sets the seed that is printed; BEELINE_SOAK=1 kills ten times as often.

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "tests/fault/kill_board.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

constexpr std::size_t kKeptEvents = 60;

std::uint64_t choose_seed() {
  if (const char* text = std::getenv("BEELINE_SEED"); text != nullptr) {
    return std::strtoull(text, nullptr, 10);
  }
  return static_cast<std::uint64_t>(os::monotonic_ns()) % 1'000'000'000;
}

bool soak() {
  const char* text = std::getenv("BEELINE_SOAK");
  return text != nullptr && std::string(text) == "1";
}

std::size_t count_fds_of(pid_t process) {
  std::error_code error;
  const std::filesystem::directory_iterator listing("/proc/" + std::to_string(process) + "/fd",
                                                    error);
  return static_cast<std::size_t>(std::distance(begin(listing), end(listing)));
}

class KillTest : public HiveTest {
 protected:
  void SetUp() override {
    start(World::kProcesses, soak() ? 3600s : 400s, sizeof(KillBoard));
    if (HasFatalFailure()) return;
    seed_ = choose_seed();
    random_.seed(seed_);
    board().seed = seed_;
    std::printf("kill_test: BEELINE_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    std::fflush(stdout);
  }
  void TearDown() override {
    if (HasFailure() && seed_ != 0) tell();
    HiveTest::TearDown();
  }

  KillBoard& board() { return memory_.as<KillBoard>(); }

  // The whole test: load, kills, and then nothing may be missing and nothing be left.
  void play(const Cast& cast, int kills) {
    board().cast = cast;
    for (std::uint32_t i = 0; i < cast.players; ++i) troupe().start("player", i);
    for (std::uint32_t i = 0; i < cast.visitors; ++i) troupe().start("visitor", cast.players + i);
    for (int killed = 0; killed < kills && !HasFailure();) {
      board().allowance.store(kMaxSequences * (killed + 1) / kills);
      ASSERT_NO_FATAL_FAILURE(attend(next_pause(), false));
      if (kill_one()) ++killed;
      for (const FaultRecord& fault : board().ledger.faults()) ADD_FAILURE() << describe(fault);
    }
    board().stop_sending.store(1);
    ASSERT_NO_FATAL_FAILURE(attend_until([&] { return board().quiet.count() == cast.players; }));
    ASSERT_NO_FATAL_FAILURE(await_all_received());
    // What visitors have left is read; so nothing but their names may be left of them.
    ASSERT_NO_FATAL_FAILURE(
        attend_until([&] { return hive().status().links <= most_links(cast); }));
    board().stop_receiving.store(1);
    ASSERT_NO_FATAL_FAILURE(await_ends());
    for (const FaultRecord& fault : board().ledger.faults()) ADD_FAILURE() << describe(fault);
    expect_nothing_left(cast);
    std::printf(
        "kill_test: %d kills (%d of coordinators), %d joins failed, %d visits, %llu accepted, "
        "%llu redelivered\n",
        kills, coordinators_, failed_joins_, visits_,
        static_cast<unsigned long long>(board().ledger.accepted()),
        static_cast<unsigned long long>(board().ledger.received_again()));
  }

 private:
  void note(const std::string& event) {
    events_.push_back(std::to_string(os::monotonic_ns() / 1'000'000) + " ms: " + event);
    if (events_.size() > kKeptEvents) events_.pop_front();
  }

  static std::string name_of(std::size_t place) { return "player-" + std::to_string(place); }

  // Looks after players that have ended for `time`. Those that could not join are started again;
  // any other end is a failure, unless `may_end`.
  void attend(std::chrono::nanoseconds time, bool may_end) {
    const Deadline end = after(time);
    for (auto left = time; left.count() > 0; left = end - std::chrono::steady_clock::now()) {
      std::vector<int> fds;
      for (std::size_t i = 0; i < troupe().size(); ++i) fds.push_back(troupe().pidfd(i));
      const auto ended = os::poll_readable(fds, left);
      for (const std::size_t place : ended) player_ended(place, may_end);
      if (HasFatalFailure() || (may_end && !ended.empty())) return;
    }
  }

  void player_ended(std::size_t place, bool may_end) {
    const int status = troupe().reap(place);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kExitVisited) {
      ++visits_;
      if (board().stop_sending.load() == 0) troupe().restart(place);
      return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == kExitAgain) {
      note(name_of(place) + " could not join");
      ++failed_joins_;
      troupe().restart(place);
      return;
    }
    ASSERT_TRUE(may_end && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << name_of(place) << " ended by itself with wait status " << status;
  }

  // Mostly under load, sometimes while the last victim's successor is just joining.
  std::chrono::nanoseconds next_pause() {
    const std::int64_t longest[] = {5'000'000, 60'000'000, 100'000'000, 300'000'000};
    return std::chrono::nanoseconds(random_() % longest[random_() % 4]);
  }

  // False when the victim is not there now.
  bool kill_one() {
    if (random_() % 5 == 0) {
      const pid_t coordinator = hive().coordinator();
      if (coordinator == 0 || ::kill(coordinator, SIGKILL) != 0) return false;
      note("killed the coordinator");
      ++coordinators_;
      return true;
    }
    const std::size_t place = random_() % troupe().size();
    if (troupe().os_pid(place) == 0) return false;
    troupe().kill(place);
    note("killed " + name_of(place));
    troupe().restart(place);
    return true;
  }

  template <typename Condition>
  void attend_until(Condition&& condition) {
    const Deadline deadline = patience();
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "players do not answer";
      ASSERT_NO_FATAL_FAILURE(attend(5ms, false));
    }
  }

  void await_all_received() {
    const Ledger& ledger = board().ledger;
    const Deadline deadline = patience();
    for (;;) {
      const std::uint32_t seen = ledger.progress().count();
      if (ledger.missing(1).empty()) return;
      const auto pause = std::min(deadline, after(1s));
      if (!ledger.progress().await_change(seen, pause) &&
          std::chrono::steady_clock::now() >= deadline) {
        break;
      }
      ASSERT_NO_FATAL_FAILURE(attend(1ms, false));
    }
    for (const MissingMessage& missing : ledger.missing(20)) ADD_FAILURE() << describe(missing);
  }

  void await_ends() {
    const Deadline deadline = patience();
    for (std::size_t place = 0; place < troupe().size(); ++place) {
      while (troupe().os_pid(place) != 0) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << name_of(place) << " does not end";
        ASSERT_NO_FATAL_FAILURE(attend(100ms, true));
      }
    }
  }

  // One life of each player is remembered, with its links to all others.
  static std::size_t most_links(const Cast& cast) {
    return std::size_t{cast.players} * cast.players;
  }

  void expect_nothing_left(const Cast& cast) {
    const auto status = hive().status();
    EXPECT_EQ(status.running, 1U);
    EXPECT_EQ(status.away, cast.players);
    EXPECT_EQ(status.quarantined_links, 0U);
    EXPECT_LE(status.links, most_links(cast)) << "links of dead lives are left";
    const std::size_t most_fds = 50 + 4 * cast.players + most_links(cast);
    EXPECT_LE(count_fds_of(hive().keeper()), most_fds);
    EXPECT_LE(count_fds_of(hive().coordinator()), most_fds);
  }

  void tell() {
    std::printf("BEELINE_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    for (const std::string& event : events_) std::printf("  %s\n", event.c_str());
    std::ifstream log(hive().directory() + "/beelined.log");
    std::deque<std::string> lines;
    for (std::string line; std::getline(log, line);) {
      lines.push_back(line);
      if (lines.size() > 2 * kKeptEvents) lines.pop_front();
    }
    for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
  }

  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::deque<std::string> events_;
  int failed_joins_ = 0;
  int visits_ = 0;
  int coordinators_ = 0;
};

TEST_F(KillTest, SendersReceiversAndCoordinatorsLoseNoAcceptedMessage) {
  play({.players = 7, .visitors = 2, .senders = 4, .first_receiver = 4}, soak() ? 3000 : 300);
}

TEST_F(KillTest, PeersThatAllSendToEachOtherLoseNoAcceptedMessage) {
  play({.players = 5, .visitors = 1, .senders = 5, .first_receiver = 0}, soak() ? 2000 : 200);
}

}  // namespace
}  // namespace beeline::test
