// The number of descriptors that a hive keeps under a limit of open files, and the order in which a
// delayed coordinator's records reach the keeper.

#include "src/control/keeper_client.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/control/wire.h"

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

  // The result for one more descriptor while the keeper holds `held`.
  static Result<void> one_more_than(std::size_t held) {
    KeptTable table;
    table["held"].fds.resize(held);
    KeeperClient keeper;
    keeper.know(table);
    const int fd = 2;
    return keeper.keep("more", "", {&fd, 1});
  }

  // The descriptors of `agents` agents with links to all others: each agent has a pidfd, a home, a
  // status page and an eventfd.
  static std::size_t needed(std::size_t agents) { return agents * 4 + agents * (agents - 1); }

  static constexpr rlim_t kLimit = 20'000;
  rlim_t limit_ = 0;  // kLimit, or less if less is allowed

 private:
  rlimit usual_{};
};

TEST_F(KeeperRoomTest, AHundredAgentsWithLinksToAllOthersFitBelowTwentyThousand) {
  std::size_t agents = 100;
  // Half of a lower limit is enough for the links and their agents.
  while (limit_ < kLimit && needed(agents) > limit_ / 2) --agents;
  ASSERT_GT(agents, 1U) << "of " << limit_ << " open files";
  EXPECT_LT(needed(agents), room_for_links());
}

TEST_F(KeeperRoomTest, ARefusalNamesTheLimitAndWhatToDo) {
  const auto refused = one_more_than(limit_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  const std::string limit = "of " + std::to_string(limit_) + " open files";
  for (const char* part : {limit.c_str(), "ulimit -Hn", "LimitNOFILE=", "beeline forget"}) {
    EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;
  }
}

// The keeper's end is a socket that nobody reads for a while.
class KeeperBehindTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = os::PacketSocket::pair();
    ASSERT_TRUE(ends) << ends.error().text;
    keeper_ = std::move(ends->first);
    client_ = KeeperClient(std::move(ends->second));
    ASSERT_TRUE(client_.keep("agent/2/10", "alive", {&kStandardError, 1}));
    ASSERT_TRUE(client_.keep("agent/3/20", "alive", {&kStandardError, 1}));
    while (client_.is_settled()) client_.note("filler", std::string(10'000, '.'));
  }

  // All that the keeper can read now, without the filler.
  std::vector<std::string> heard() {
    std::vector<std::string> texts;
    for (;;) {
      auto packet = keeper_.try_receive(kMaxPacketBytes);
      EXPECT_TRUE(packet);
      if (!packet || !*packet) return texts;
      if ((*packet)->text.find("filler") == std::string::npos) texts.push_back((*packet)->text);
    }
  }

  static constexpr int kStandardError = 2;
  os::PacketSocket keeper_;
  KeeperClient client_;
};

TEST_F(KeeperBehindTest, MessagesToABusyKeeperAreSentInOrderAsSoonAsPossible) {
  client_.note("agent/2/10", "its parent is another one");
  client_.strip("agent/3/20", "taken over");
  client_.drop("agent/1/5");
  client_.say("quit");
  const auto settled = client_.settle();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code, ErrorCode::kTimeout) << settled.error().text;
  EXPECT_EQ(heard(),
            (std::vector<std::string>{"keep agent/2/10\nalive", "keep agent/3/20\nalive"}));
  EXPECT_TRUE(client_.settle());
  EXPECT_TRUE(client_.is_settled());
  EXPECT_EQ(heard(),
            (std::vector<std::string>{"note agent/2/10\nits parent is another one",
                                      "keep agent/3/20\ntaken over", "drop agent/1/5", "quit"}));
}

// Records fill its socket, and nothing is overdue.
TEST(KeeperStoppedTest, IsWaitedForOnceAndNamedUntilItReadsAgain) {
  auto ends = os::PacketSocket::pair();
  ASSERT_TRUE(ends) << ends.error().text;
  KeeperClient client(std::move(ends->second));
  const auto keep = [&] { return client.keep("filler", std::string(10'000, '.'), {}); };
  while (keep()) {
  }
  for (int i = 0; i < 3; ++i) {
    const auto again = keep();
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kTimeout) << again.error().text;
    EXPECT_TRUE(client.is_settled());
    const auto settled = client.settle();
    ASSERT_FALSE(settled) << "the next one would wait for it again, and nobody would be told";
    EXPECT_EQ(settled.error().code, ErrorCode::kTimeout) << settled.error().text;
  }
  for (auto packet = ends->first.try_receive(kMaxPacketBytes); packet && *packet;) {
    packet = ends->first.try_receive(kMaxPacketBytes);
  }
  EXPECT_TRUE(client.settle());
  EXPECT_TRUE(keep());
}

// For example a link, and the end of an agent that the keeper did not know.
TEST_F(KeeperBehindTest, ANewRecordOvertakesNothing) {
  client_.drop("agent/2/10");
  (void)heard();
  ASSERT_TRUE(client_.keep("agent/2/10", "back", {&kStandardError, 1}));
  EXPECT_EQ(heard(), (std::vector<std::string>{"drop agent/2/10", "keep agent/2/10\nback"}));
}

TEST_F(KeeperBehindTest, NorDoesAValueThatMustBeHeard) {
  client_.drop("agent/2/10");
  (void)heard();
  ASSERT_TRUE(client_.note_now("agent/3/20", "ready"));
  EXPECT_EQ(heard(), (std::vector<std::string>{"drop agent/2/10", "note agent/3/20\nready"}));
}

}  // namespace
}  // namespace beeline::control
