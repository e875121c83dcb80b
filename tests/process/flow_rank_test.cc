// Ranks and relations as a receiver stores and sees them, with senders all over the tree.

#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct RankBoard {
  Event attached;
  Event sent;
  Event go;
};

class FlowRank : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowRank);

// king - queen - {center, sibling}; center - child; king - cousin.
struct Place {
  const char* name;
  const char* parent;
  Relation relation;
  std::int32_t stored[4];  // of the ranks 0 to 3 (HK-007)
};
constexpr Place kPlaces[] = {
    {"queen", "", Relation::kParent, {0, 1, 1, 1}},
    {"child", "center", Relation::kChild, {0, 1, 2, 3}},
    {"sibling", "queen", Relation::kSibling, {0, 1, 2, 2}},
    {"cousin", "", Relation::kOther, {0, 1, 2, 3}},
};
constexpr std::uint32_t kQueen = 0;

BEELINE_ROLE(ranked_sender) {
  auto& board = context.board<RankBoard>();
  const Place& place = kPlaces[context.number];
  auto agent = attach(place.name, place.parent);
  ASSERT_TRUE(agent);
  board.attached.raise();
  const Peer center = peer_of(*agent, "center");
  ASSERT_TRUE(center.valid());
  for (std::int32_t rank = kCritical; rank <= kLow; ++rank) {
    EXPECT_TRUE(agent->send(center, std::to_string(rank), {.rank = rank}));
  }
  EXPECT_TRUE(agent->send(center, "-5", {.rank = -5}));
  EXPECT_TRUE(agent->send(center, "9", {.rank = 9}));
  EXPECT_TRUE(agent->send(center, "help", {.rank = kLow, .type = kEscalation}));
  EXPECT_EQ(agent->detach(patience()), 0U);
  board.sent.raise();
}

TEST_P(FlowRank, HK_007_TheReceiverStoresTheRankThatTheRelationGives) {
  auto& shared = board<RankBoard>();
  troupe().start("ranked_sender", kQueen);
  ASSERT_TRUE(shared.attached.await(1, patience()));
  auto agent = attach("center", "queen");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 1; i < std::size(kPlaces); ++i) troupe().start("ranked_sender", i);
  for (std::size_t i = 0; i < 7 * std::size(kPlaces); ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    const Place* place = nullptr;
    for (const Place& each : kPlaces) {
      if (each.relation == message.relation()) place = &each;
    }
    ASSERT_NE(place, nullptr) << to_string(message.relation());
    std::int32_t stored = kHigh;  // C-02: an escalation
    if (message.text() == "-5") {
      stored = kCritical;
    } else if (message.text() == "9") {
      stored = place->stored[3];
    } else if (message.text() != "help") {
      stored = place->stored[std::stoi(std::string(message.text()))];
    }
    EXPECT_EQ(message.rank(), stored) << place->name << " asked for " << message.text();
    message.done();
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowRank, C_01_AStrictInboxStoresWhatWasAskedFor) {
  AttachOptions options = named("center");
  options.order = Order::kStrict;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("ranked_sender", 1);
  // All are drained before the first is taken.
  while (agent->counters().queued < 7) {
    EXPECT_FALSE(agent->receive({.timeout = 5ms, .filter = {.type = "none"}}));
  }
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
