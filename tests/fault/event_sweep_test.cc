// The order of a sweep, over operations with runs of different lengths, or that wait too long.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/os/error.h"
#include "tests/fault/event_sweep.h"
#include "tests/fault/syscall_fixture.h"

namespace beeline::test {
namespace {

std::vector<std::uint64_t> reached;  // an expected failure may use no local variable

// The first run has six events, or `events`, and the next ones `lengths`; later runs repeat the
// last length.
void sweep_runs(std::vector<std::uint64_t> lengths, std::uint64_t step = 1,
                std::uint64_t events = 6) {
  reached.clear();
  std::size_t run = 0;
  sweep_events({.name = "example", .events = events, .step = step, .second = 1 + step},
               [&](std::uint64_t event) {
                 const std::uint64_t length = lengths[std::min(run++, lengths.size() - 1)];
                 if (event <= length) reached.push_back(event);
                 return event <= length;
               });
}

TEST(EventSweepTest, EndsWithTheFirstRunThatHasFewer) {
  sweep_runs({8});
  EXPECT_EQ(reached, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  sweep_runs({8}, 3);
  EXPECT_EQ(reached, (std::vector<std::uint64_t>{1, 4, 7}));
}

TEST(EventSweepTest, AShortRunIsRepeatedAndDoesNotEndIt) {
  sweep_runs({6, 1, 1, 6});  // the second event is reached in the third run
  EXPECT_EQ(reached, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  sweep_runs({6, 1, 1, 1, 6});  // and here never
  EXPECT_EQ(reached, (std::vector<std::uint64_t>{1, 3, 4, 5, 6}));
}

TEST(EventSweepTest, FailsIfMostRunsAreShort) {
  sweep_runs({5}, 1, 12);
  EXPECT_EQ(reached, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_NONFATAL_FAILURE(sweep_runs({4}, 1, 12), "so many of 12 events");
}

TEST(EventSweepTest, ASweepMayMissFewOfFewEvents) {
  sweep_runs({2}, 1, 4);
  EXPECT_NONFATAL_FAILURE(sweep_runs({1}, 1, 4), "so many of 4 events");
}

TEST(EventSweepTest, FailsIfItGoesRoundInCircles) {
  EXPECT_NONFATAL_FAILURE(sweep_runs({1'000'000}, 100), "does not come to its end");
}

class SyscallSweepTest : public SyscallTest {};

TEST_F(SyscallSweepTest, AnOperationThatWasTooLateThoughNothingFailedIsTriedAgain) {
  int late = 3;
  int checks = 0;
  const auto act = [&]() -> Ending {
    if (late-- > 0) return Error{ErrorCode::kTimeout, 0, "too late"};
    const os::UniqueFd fd(::eventfd(0, EFD_CLOEXEC));
    return fd.valid() ? Ending() : os::system_error("cannot make an eventfd");
  };
  const auto check = [&](const Ending&) { ++checks; };
  run_filtered(1, [&](SyscallSweep& sweep) {
    sweep.run({.name = "example", .act = act, .check = check});
    EXPECT_GE(checks, 3 + 1 + static_cast<int>(sweep.injected())) << "of each try";
  });
}

}  // namespace
}  // namespace beeline::test
