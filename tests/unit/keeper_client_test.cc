// How many descriptors of agents and links a hive keeps under a limit of open files.

#include "src/control/keeper_client.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace beeline::control {
namespace {

class KeeperRoomTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual_), 0);
    limit_ = std::min(kLimit, usual_.rlim_max);
    const rlimit wanted{limit_, usual_.rlim_max};
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

  /// What so many agents need that have links to all others: each has a pidfd, a home, a status
  /// page and an eventfd.
  static std::size_t needed(std::size_t agents) { return agents * 4 + agents * (agents - 1); }

  static constexpr rlim_t kLimit = 20'000;
  rlim_t limit_ = 0;  // that, or less where less is allowed

 private:
  rlimit usual_{};
};

TEST_F(KeeperRoomTest, AHundredAgentsWithLinksToAllOthersFitBelowTwentyThousand) {
  std::size_t agents = 100;
  // Of a lower limit half is enough for links and those between whom they are.
  while (limit_ < kLimit && needed(agents) > limit_ / 2) --agents;
  ASSERT_GT(agents, 1U) << "of " << limit_ << " open files";
  EXPECT_TRUE(one_more_than(needed(agents)));
}

TEST_F(KeeperRoomTest, ARefusalNamesTheLimitAndWhatToDo) {
  const auto refused = one_more_than(limit_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  const std::string limit = "of " + std::to_string(limit_) + " open files";
  for (const char* part : {limit.c_str(), "ulimit -Hn", "LimitNOFILE="}) {
    EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;
  }
}

}  // namespace
}  // namespace beeline::control
