// The sweeps trust a look only if the hive is at rest, and if there is no more than before.

#include "tests/fault/leak_watch.h"

#include <gtest/gtest-spi.h>
#include <signal.h>
#include <unistd.h>

#include "src/os/fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

TEST(LeakWatchTest, AKeeperThatIsBehindIsNoMeasureAndALeakIsFound) {
  ScratchHive hive;
  auto agent = attach("agent");
  ASSERT_TRUE(agent);
  const auto coordinator = static_cast<pid_t>(hive.status().coordinator_pid);
  LeakWatch watch{.patience = 50ms};
  ASSERT_EQ(::kill(hive.keeper(), SIGSTOP), 0);
  watch.await(*agent, hive.keeper(), coordinator);
  EXPECT_EQ(watch.least.keeper_fds, kMany) << "it has yet to hear what it will hold";
  ASSERT_EQ(::kill(hive.keeper(), SIGCONT), 0);
  watch.patience = kPatience;
  watch.await(*agent, hive.keeper(), coordinator);
  EXPECT_LT(watch.least.keeper_fds, kMany);
  watch.patience = 50ms;
  const os::UniqueFd leak(::dup(STDIN_FILENO));
  ASSERT_TRUE(leak.valid());
  EXPECT_NONFATAL_FAILURE(watch.await(*agent, hive.keeper(), coordinator), "left: ");
}

}  // namespace
}  // namespace beeline::test
