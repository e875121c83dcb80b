// How many descriptors of agents and links a hive keeps under a limit of open files.

#include "src/control/keeper_client.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <string>

namespace beeline::control {
namespace {

class KeeperRoomTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual_), 0);
    if (usual_.rlim_max < kLimit) GTEST_SKIP() << "fewer open files are allowed here";
    const rlimit wanted{kLimit, usual_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &wanted), 0);
  }
  void TearDown() override { (void)::setrlimit(RLIMIT_NOFILE, &usual_); }

  /// What becomes of one more link when the keeper holds so many descriptors.
  static Result<void> one_more_than(std::size_t held) {
    KeptTable table;
    table["held"].fds.resize(held);
    KeeperClient keeper;
    keeper.know(table);
    return keeper.check_room_for_link();
  }

  static constexpr rlim_t kLimit = 20'000;

 private:
  rlimit usual_{};
};

TEST_F(KeeperRoomTest, AHundredAgentsWithLinksToAllOthersFitBelowTwentyThousand) {
  constexpr std::size_t kAgents = 100;
  constexpr std::size_t kOfAnAgent = 4;  // pidfd, home, status, eventfd
  EXPECT_TRUE(one_more_than(kAgents * kOfAnAgent + kAgents * (kAgents - 1)));
}

TEST_F(KeeperRoomTest, ARefusalNamesTheLimitAndWhatToDo) {
  const auto refused = one_more_than(kLimit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  for (const char* part : {"of 20000 open files", "ulimit -Hn", "LimitNOFILE="}) {
    EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;
  }
}

}  // namespace
}  // namespace beeline::control
