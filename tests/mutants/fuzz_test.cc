// The short form of the fuzz targets as tests: each target runs in a process of its own and comes
// to its end. With a bug that bugs.txt calls fuzzed it must not, but end where a FUZZ_DEMAND is not
// met or in memory that is not there.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/driver.h"

namespace beeline::fuzz {
namespace {

constexpr unsigned kPatience = 60;  // seconds, far more than it takes

// Says how the process ended; empty if all inputs were run.
std::string run_apart(const std::string& target, std::uint64_t runs) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatience);
    Options options;
    options.target = target;
    options.runs = runs;
    options.files = {std::string(BEELINE_FUZZ_CORPUS) + "/" + target + ".hex"};
    ::_exit(run(options));
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return "it was not run";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGABRT) return "a demand was not met";
  if (signal == SIGSEGV || signal == SIGBUS) return "it touched memory that is not there";
  // SIGALRM for one that hangs, or status 77 for a machine that lacks something: nothing was found.
  // For the mutants' main() it is a crash.
  std::fprintf(stderr, "target %s ended with wait status %d\n", target.c_str(), status);
  std::abort();
}

TEST(FuzzTargets, LanesComeToTheirEnd) { EXPECT_EQ(run_apart("lanes", 500), ""); }
TEST(FuzzTargets, OldHomesComeToTheirEnd) { EXPECT_EQ(run_apart("old_home", 100), ""); }

}  // namespace
}  // namespace beeline::fuzz
