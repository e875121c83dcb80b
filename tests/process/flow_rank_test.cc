// Ranks and relations as a receiver stores and sees them, with senders all over the tree.

#include <map>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct RankBoard {
  Event attached;
};

class FlowRank : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowRank);

// king - grand - {queen - {center - child - grandchild, sibling}, uncle - cousin}
struct Place {
  const char* name;
  const char* parent;
  Relation relation;
  std::int32_t stored[4];  // of the ranks 0 to 3
};
constexpr Place kPlaces[] = {
    {"grand", "", Relation::kOther, {0, 1, 2, 3}},
    {"queen", "grand", Relation::kParent, {0, 1, 1, 1}},
    {"child", "center", Relation::kChild, {0, 1, 2, 3}},
    {"sibling", "queen", Relation::kSibling, {0, 1, 2, 2}},
    {"uncle", "grand", Relation::kOther, {0, 1, 2, 3}},
    {"cousin", "uncle", Relation::kOther, {0, 1, 2, 3}},
    {"grandchild", "child", Relation::kOther, {0, 1, 2, 3}},
};
constexpr std::uint32_t kAbove = 2;  // the first places come before the center
constexpr std::uint32_t kChild = 2;
constexpr int kPerPlace = 7;

BEELINE_ROLE(ranked_sender) {
  auto& board = context.board<RankBoard>();
  const Place& place = kPlaces[context.number];
  auto agent = attach(place.name, place.parent);
  ASSERT_TRUE(agent);
  board.attached.raise();
  const Peer center = peer_of(*agent, "center");
  ASSERT_TRUE(center.valid());
  const auto send = [&](const std::string& text, std::int32_t rank, std::string_view type = "") {
    const SendOptions options{.rank = rank, .type = type, .channel = place.name};
    EXPECT_TRUE(agent->send(center, text, options));
  };
  for (std::int32_t rank = kCritical; rank <= kLow; ++rank) send(std::to_string(rank), rank);
  send("-5", -5);
  send("9", 9);
  send("help", kLow, kEscalation);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowRank, HK_006_HK_007_TheReceiverStoresTheRankThatTheRelationGives) {
  auto& shared = board<RankBoard>();
  for (std::uint32_t i = 0; i < kAbove; ++i) {
    troupe().start("ranked_sender", i);
    ASSERT_TRUE(shared.attached.await(i + 1, patience()));
  }
  auto agent = attach("center", "queen");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = kAbove; i < std::size(kPlaces); ++i) {
    troupe().start("ranked_sender", i);
    ASSERT_TRUE(shared.attached.await(i + 1, patience())) << "a parent comes before its child";
  }
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < kPerPlace * std::size(kPlaces); ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    const std::string from(message.channel());
    const Place* place = nullptr;
    for (const Place& each : kPlaces) {
      if (each.name == from) place = &each;
    }
    ASSERT_NE(place, nullptr) << from;
    EXPECT_EQ(to_string(message.relation()), to_string(place->relation)) << "HK-006: " << from;
    std::int32_t stored = kHigh;  // C-02: an escalation
    if (message.text() == "-5") {
      stored = kCritical;
    } else if (message.text() == "9") {
      stored = place->stored[3];
    } else if (message.text() != "help") {
      stored = place->stored[std::stoi(std::string(message.text()))];
    }
    EXPECT_EQ(message.rank(), stored) << from << " asked for " << message.text();
    ++seen[from];
    message.done();
  }
  for (const auto& [from, count] : seen) EXPECT_EQ(count, kPerPlace) << from;
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowRank, C_01_AStrictInboxStoresTheRequestedRank) {
  AttachOptions options = named("center");
  options.order = Order::kStrict;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("ranked_sender", kChild);
  // All messages are drained before the first is taken.
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kPerPlace));
  std::vector<std::int32_t> ranks;
  while (auto message = agent->try_receive()) {
    ranks.push_back(message->rank());
    message->done();
  }
  troupe().wait_all(patience());
  EXPECT_EQ(ranks, (std::vector<std::int32_t>{-5, 0, 1, 2, 3, 3, 9}));
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
