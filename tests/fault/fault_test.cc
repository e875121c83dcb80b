#include "tests/fault/fault_test.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "src/os/clock.h"
#include "src/os/event_fd.h"

namespace beeline::test {
namespace {

constexpr std::size_t kKeptEvents = 2'000;
constexpr std::size_t kToldLines = 60;      // of the events, and of the log
constexpr std::size_t kToldOfMessage = 20;  // faults of its sender and its receiver

std::uint64_t choose_seed() {
  if (const char* text = std::getenv("BEELINE_SEED"); text != nullptr) {
    return std::strtoull(text, nullptr, 10);
  }
  return static_cast<std::uint64_t>(os::monotonic_ns()) % 1'000'000'000;
}

}  // namespace

void FaultTest::start_faults(const std::string& program, std::chrono::seconds limit,
                             std::size_t board_bytes) {
  program_ = program;
  start(World::kProcesses, limit, board_bytes);
  if (HasFatalFailure()) return;
  seed_ = choose_seed();
  random_.seed(seed_);
  std::printf("%s: BEELINE_SEED=%llu\n", program_.c_str(), static_cast<unsigned long long>(seed_));
  std::fflush(stdout);
}

void FaultTest::TearDown() {
  if (HasFailure() && seed_ != 0) tell();
  HiveTest::TearDown();
}

void FaultTest::note(const std::string& event) {
  events_.push_back(std::to_string(os::monotonic_ns() / 1'000'000) + " ms: " + event);
  if (events_.size() > kKeptEvents) events_.pop_front();
}

bool FaultTest::kill_player(std::size_t place) {
  if (troupe().os_pid(place) == 0) return false;
  troupe().kill(place);
  note("killed " + name_of(place));
  ++kills_[place];
  troupe().restart(place);
  return true;
}

bool FaultTest::kill_coordinator() {
  const pid_t coordinator = hive().coordinator();
  if (coordinator == 0 || ::kill(coordinator, SIGKILL) != 0) return false;
  note("killed the coordinator");
  ++coordinators_;
  return true;
}

void FaultTest::attend(std::chrono::nanoseconds time, bool may_end) {
  const Deadline end = after(time);
  for (auto left = time; left.count() > 0; left = end - std::chrono::steady_clock::now()) {
    std::vector<int> fds;
    for (std::size_t i = 0; i < troupe().size(); ++i) fds.push_back(troupe().pidfd(i));
    const auto ended = os::poll_readable(fds, left);
    for (const std::size_t place : ended) player_ended(place, may_end);
    if (HasFatalFailure() || (may_end && !ended.empty())) return;
  }
}

void FaultTest::player_ended(std::size_t place, bool may_end) {
  const int status = troupe().reap(place);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitVisited) {
    ++visits_;
    if (visitors_return()) troupe().restart(place);
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

void FaultTest::await_all_finished() {
  const Deadline deadline = patience();
  for (;;) {
    const std::uint32_t seen = ledger().progress().count();
    if (ledger().missing(1).empty()) return expect_few_half_ended();
    const auto pause = std::min(deadline, after(1s));
    if (!ledger().progress().await_change(seen, pause) &&
        std::chrono::steady_clock::now() >= deadline) {
      break;
    }
    ASSERT_NO_FATAL_FAILURE(attend(1ms, false));
  }
  for (const MissingMessage& missing : ledger().missing(20)) {
    ADD_FAILURE() << describe(missing) << '\n'
                  << story(missing.sender, missing.receiver, missing.sequence);
  }
}

void FaultTest::expect_few_half_ended() {
  for (std::uint32_t player = 0; player < kMaxPlayers; ++player) {
    EXPECT_LE(ledger().half_ended(player), kills_[player])
        << name_of(player) << " has begun to end messages that nobody has seen since; each of its "
        << "kills explains one of them";
  }
}

void FaultTest::await_ends() {
  const Deadline deadline = patience();
  for (std::size_t place = 0; place < troupe().size(); ++place) {
    while (troupe().os_pid(place) != 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << name_of(place) << " does not end";
      ASSERT_NO_FATAL_FAILURE(attend(100ms, true));
    }
  }
}

void FaultTest::expect_no_fault() {
  for (const FaultRecord& fault : ledger().faults()) {
    ADD_FAILURE() << describe(fault) << '\n' << story(fault.sender, fault.receiver, fault.sequence);
  }
}

std::string FaultTest::story(std::uint32_t sender, std::uint32_t receiver, std::uint64_t sequence) {
  const auto concerns = [&](const std::string& event) {
    return event.ends_with(name_of(sender)) || event.ends_with(name_of(receiver)) ||
           event.ends_with("coordinator");
  };
  std::vector<std::string> lines;
  std::copy_if(events_.begin(), events_.end(), std::back_inserter(lines), concerns);
  std::string text = ledger().story(sender, receiver, sequence);
  for (std::size_t i = lines.size() - std::min(lines.size(), kToldOfMessage); i < lines.size();
       ++i) {
    text += "  " + lines[i] + '\n';
  }
  return text;
}

void FaultTest::tell() {
  const std::size_t skipped = events_.size() - std::min(events_.size(), kToldLines);
  for (std::size_t i = skipped; i < events_.size(); ++i) std::printf("  %s\n", events_[i].c_str());
  std::ifstream log(hive().directory() + "/beelined.log");
  std::deque<std::string> lines;
  for (std::string line; std::getline(log, line);) {
    lines.push_back(line);
    if (lines.size() > kToldLines) lines.pop_front();
  }
  for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
  std::printf(
      "%s: BEELINE_SEED=%llu draws the same faults again; when each of them meets which "
      "instruction is up to the scheduler, so run it a few times\n",
      program_.c_str(), static_cast<unsigned long long>(seed_));
}

}  // namespace beeline::test
