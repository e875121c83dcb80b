// beeline-mutants: an engine with seeded bugs (bugs.txt), and the tests that have to catch them.
//
//   beeline-mutants           without a bug all of those tests pass; with a bug its test fails
//   beeline-mutants NAME      this one bug
//
// BEELINE_SOAK=1 takes all bugs; without it those are left out whose tests take long to fail.
//
// Each test runs in a process of its own. A test that crashes has not caught its bug: a test that
// finds a bug names it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/stepper.h"
#include "tests/killpoints/store_buffer.h"
#include "tests/killpoints/sweep.h"
#include "tests/mutants/active_bug.h"
#include "tests/mutants/table.h"
#include "tests/support/soak.h"

namespace beeline::mutants {
namespace {

enum class Verdict : std::uint8_t { kPasses, kFails, kCrashes, kNoSuchTest };

struct Outcome {
  Verdict verdict = Verdict::kPasses;
  std::string text{};  // the finding of a sweep
};

// Without optimisation an operation has many instructions. A store that a missing fence keeps
// hidden stays hidden to the end, and each race stops there.
constexpr killpoints::Effort kThinRaces{.race_every = 100};

Outcome run_scenario(std::string_view name) {
  killpoints::Tally tally;
  const auto matches = [&](const auto& one) { return one.name == name; };
  const auto& all = killpoints::scenarios();
  const auto& races = killpoints::races();
  const auto scenario = std::find_if(all.begin(), all.end(), matches);
  const auto race = std::find_if(races.begin(), races.end(), matches);
  if (scenario != all.end()) {
    tally = killpoints::tally_apart([&] { return sweep_scenario(*scenario, std::nullopt); });
  } else if (race != races.end()) {
    tally = killpoints::tally_apart([&] { return sweep_race(*race, kThinRaces); });
  }
  if (tally.violations == 0)
    return {tally.points + tally.pauses == 0 ? Verdict::kNoSuchTest : Verdict::kPasses};
  const std::string_view text(tally.first.text);
  const bool crashes = std::string_view(tally.first.kind) == "rig" ||
                       text.starts_with("it crashes") || text.starts_with("the rig");
  if (crashes) return {Verdict::kCrashes, ": " + std::string(text)};
  return {Verdict::kFails, std::string(": ") + tally.first.text};
}

// Runs in the child, and drops the output of a failing test.
[[noreturn]] void run_tests_of(const std::string& filter) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::testing::GTEST_FLAG(filter) = filter;
  const bool passed = RUN_ALL_TESTS() == 0;
  const bool some = ::testing::UnitTest::GetInstance()->test_to_run_count() != 0;
  const Verdict verdict = passed ? Verdict::kPasses : Verdict::kFails;
  ::_exit(static_cast<int>(some ? verdict : Verdict::kNoSuchTest));
}

Outcome run_tests(std::string_view filter) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) run_tests_of(std::string(filter));
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return {Verdict::kCrashes};
  }
  return {static_cast<Verdict>(WEXITSTATUS(status))};
}

Outcome run(std::string_view test, unsigned bug) {
  active_bug = bug;
  return test.find('/') != std::string_view::npos ? run_scenario(test) : run_tests(test);
}

const char* describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPasses:
      return "passes";
    case Verdict::kFails:
      return "fails";
    case Verdict::kCrashes:
      return "crashes";
    case Verdict::kNoSuchTest:
      return "does not exist";
  }
  return "ends unknown";
}

bool expect(Verdict wanted, std::string_view test, std::string_view name, unsigned bug) {
  const Outcome outcome = run(test, bug);
  const bool is_right = outcome.verdict == wanted;
  std::printf("%s %s: %s %s%s\n", is_right ? "ok  " : "FAIL", std::string(name).c_str(),
              std::string(test).c_str(), describe(outcome.verdict), outcome.text.c_str());
  return is_right;
}

struct Score {
  std::size_t caught = 0;
  std::size_t wrong = 0;
  std::set<std::string_view> tried{};  // without a bug

  // The test has to pass without the bug, and to fail with it.
  void check(std::string_view test, const SeededBug& bug) {
    const bool is_new = tried.insert(test).second;
    if (is_new && !expect(Verdict::kPasses, test, "no bug", kNoBug)) ++wrong;
    const bool is_caught = expect(Verdict::kFails, test, bug.name, bug.number);
    ++(is_caught ? caught : wrong);
  }
};

int main_of(std::string_view only) {
  killpoints::install_stepper();
  Score tests;
  Score targets;
  for (const SeededBug& bug : kSeededBugs) {
    const bool is_wanted = only.empty() ? !bug.is_long || test::is_soak() : only == bug.name;
    if (!is_wanted) continue;
    tests.check(bug.caught, bug);
    if (!bug.fuzzed.empty()) targets.check(bug.fuzzed, bug);
  }
  const std::size_t wrong = tests.wrong + targets.wrong;
  std::printf("%zu seeded bugs caught, %zu of them by a fuzz target too; %zu things wrong\n",
              tests.caught, targets.caught, wrong);
  if (tests.caught + wrong == 0) std::fprintf(stderr, "beeline-mutants: no such bug\n");
  return wrong == 0 && tests.caught != 0 ? 0 : 1;
}

}  // namespace
}  // namespace beeline::mutants

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return beeline::mutants::main_of(argc > 1 ? argv[1] : "");
}
