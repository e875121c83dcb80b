#include "shm/index.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "shm/home.h"

namespace beeline::shm {
namespace {

// An index over memory of its own. Nodes are (key, arrival, entry); the entry is the arrival here.
class Index : public testing::Test {
 protected:
  void push(std::int64_t key, std::uint32_t arrival) {
    index_.push(make_node(key, arrival, EntryIndex(arrival)));
  }
  bool remove(std::int64_t key, std::uint32_t arrival) {
    return index_.remove(make_node(key, arrival, EntryIndex(arrival)));
  }
  // Arrivals in delivery order; empties the index.
  std::vector<std::uint32_t> drain() {
    std::vector<std::uint32_t> order;
    while (const IndexNode* node = index_.front()) {
      order.push_back(node->entry().value());
      index_.pop_front();
    }
    return order;
  }
  [[nodiscard]] std::uint64_t run_nodes() const { return control_.run_tail - control_.run_head; }

  static constexpr std::uint64_t kSize = 8;
  static constexpr std::uint64_t kLargest = 32;
  std::vector<IndexNode> run_ = std::vector<IndexNode>(kLargest);
  std::vector<IndexNode> heap_ = std::vector<IndexNode>(kLargest);
  IndexControl control_{0, 0, 0, kSize};
  OrderIndex index_{control_, run_.data(), heap_.data()};
};

using Order = std::vector<std::uint32_t>;

TEST_F(Index, AnEmptyOneHasNoFront) {
  EXPECT_EQ(index_.front(), nullptr);
  EXPECT_EQ(index_.count_nodes(), 0U);
}

TEST_F(Index, KeysThatRiseNeverTouchTheHeap) {
  for (std::uint32_t i = 0; i < kSize; ++i) push(i / 2, i);
  EXPECT_EQ(control_.heap_count, 0U);
  EXPECT_EQ(drain(), (Order{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(Index, KeysThatFallGoToTheHeapAndComeOutSorted) {
  for (std::uint32_t i = 0; i < kSize; ++i) push(-static_cast<std::int64_t>(i), i);
  EXPECT_EQ(run_nodes(), 1U);
  EXPECT_EQ(control_.heap_count, kSize - 1);
  EXPECT_EQ(drain(), (Order{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST_F(Index, EqualKeysKeepTheOrderOfArrivalAcrossRunAndHeap) {
  push(5, 0);
  push(9, 1);
  push(5, 2);  // behind the run's last: into the heap
  push(9, 3);
  push(5, 4);
  EXPECT_GT(control_.heap_count, 0U);
  EXPECT_EQ(drain(), (Order{0, 2, 4, 1, 3}));
}

TEST_F(Index, TheWholeRangeOfKeysIsOrdered) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  push(0, 0);
  push(kMax, 1);
  push(kMin, 2);
  push(-1, 3);
  EXPECT_EQ(drain(), (Order{2, 3, 0, 1}));
}

TEST_F(Index, ARequeuedNodeComesBackToItsOldPlace) {
  push(5, 0);
  push(5, 1);
  push(5, 2);
  const IndexNode first = *index_.front();
  index_.pop_front();
  push(5, 3);
  index_.push(first);
  EXPECT_EQ(drain(), (Order{0, 1, 2, 3}));
}

TEST_F(Index, NodesAreRemovedFromTheRunWithoutDisturbingIt) {
  for (std::uint32_t i = 0; i < 6; ++i) push(i, i);
  EXPECT_TRUE(remove(0, 0));
  EXPECT_TRUE(remove(3, 3));
  EXPECT_TRUE(remove(5, 5));
  EXPECT_EQ(drain(), (Order{1, 2, 4}));
}

TEST_F(Index, NodesAreRemovedFromEveryPlaceOfTheHeap) {
  for (std::uint32_t removed = 1; removed < kSize; ++removed) {
    index_.clear();
    const std::int64_t keys[kSize] = {100, 3, 8, 1, 9, 2, 7, 5};
    for (std::uint32_t i = 0; i < kSize; ++i) push(keys[i], i);
    ASSERT_EQ(control_.heap_count, kSize - 1);
    ASSERT_TRUE(remove(keys[removed], removed));
    std::int64_t last = -1;
    const Order order = drain();
    EXPECT_EQ(order.size(), kSize - 1);
    for (const std::uint32_t arrival : order) {
      EXPECT_NE(arrival, removed);
      EXPECT_GT(keys[arrival], last);
      last = keys[arrival];
    }
  }
}

TEST_F(Index, RemovingAMissingItemReturnsFalse) {
  EXPECT_FALSE(remove(1, 1));
  push(1, 1);
  push(0, 0);
  EXPECT_FALSE(remove(2, 2));
  EXPECT_TRUE(remove(1, 1));
  EXPECT_FALSE(remove(1, 1));
  EXPECT_TRUE(remove(0, 0));
  EXPECT_FALSE(remove(0, 0));
  EXPECT_EQ(index_.front(), nullptr);
}

TEST_F(Index, RemovedNodesAreNotVisited) {
  for (std::uint32_t i = 0; i < 4; ++i) push(i, i);
  push(-1, 4);
  remove(2, 2);
  Order seen;
  index_.for_each([&](const IndexNode& node) {
    seen.push_back(node.entry().value());
    return true;
  });
  EXPECT_EQ(seen, (Order{0, 1, 3, 4}));
}

TEST_F(Index, AVisitStopsWhenItIsTold) {
  for (std::uint32_t i = 0; i < 4; ++i) push(-static_cast<std::int64_t>(i), i);
  for (int limit = 1; limit <= 4; ++limit) {
    int visits = 0;
    index_.for_each([&](const IndexNode&) { return ++visits < limit; });
    EXPECT_EQ(visits, limit);
  }
}

TEST_F(Index, AFullRunWithGapsIsCompactedAndTakesTheNode) {
  for (std::uint32_t i = 0; i < kSize; ++i) push(i, i);
  remove(2, 2);
  remove(5, 5);
  push(8, 8);
  EXPECT_EQ(control_.heap_count, 0U);
  EXPECT_EQ(run_nodes(), kSize - 1);
  push(9, 9);
  EXPECT_EQ(drain(), (Order{0, 1, 3, 4, 6, 7, 8, 9}));
}

TEST_F(Index, ARunOfGapsAloneIsCompactedToNothing) {
  for (std::uint32_t i = 0; i < kSize; ++i) push(i, i);
  for (std::uint32_t i = 0; i < kSize; ++i) remove(i, i);
  push(9, 9);
  EXPECT_EQ(run_nodes(), 1U);
  EXPECT_EQ(drain(), (Order{9}));
}

TEST_F(Index, ANodeBeforeTheLastGapIsStillDeliveredInOrder) {
  push(1, 1);
  push(9, 9);
  remove(9, 9);
  push(5, 10);  // smaller than the gap's key: the run must stay sorted
  push(9, 11);
  EXPECT_EQ(drain(), (Order{1, 10, 11}));
}

TEST_F(Index, AGapKeepsItsKeySoThatTheRunStaysSorted) {
  push(5, 5);
  push(9, 9);
  remove(9, 9);
  push(3, 10);
  EXPECT_EQ(drain(), (Order{10, 5}));
}

TEST_F(Index, TheRunWrapsRoundItsRing) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    push(i, i);
    push(i, i + 1000);
    ASSERT_EQ(index_.front()->entry(), EntryIndex(i));
    index_.pop_front();
    ASSERT_EQ(index_.front()->entry(), EntryIndex(i + 1000));
    index_.pop_front();
  }
}

TEST_F(Index, RingPositionsMayOverflow) {
  control_.run_head = control_.run_tail = ~0ULL - 2;
  for (std::uint32_t i = 0; i < kSize; ++i) push(i, i);
  EXPECT_TRUE(remove(4, 4));
  push(8, 8);
  EXPECT_EQ(drain(), (Order{0, 1, 2, 3, 5, 6, 7, 8}));
}

TEST_F(Index, GrowingAtEveryPositionOfTheRingKeepsTheOrder) {
  for (std::uint64_t start = 0; start < kLargest; ++start) {
    control_ = {start, start, 0, kSize};
    for (std::uint32_t i = 0; i < kSize; ++i) push(i, i);
    remove(3, 3);
    index_.grow(kSize * 2);
    index_.grow(kLargest);
    for (std::uint32_t i = kSize; i < 20; ++i) push(i, i);
    push(-1, 20);
    Order expected{20, 0, 1, 2};
    for (std::uint32_t i = 4; i < 20; ++i) expected.push_back(i);
    EXPECT_EQ(drain(), expected) << "start " << start;
  }
}

TEST_F(Index, TheFirstGrowthGivesAnEmptyIndexItsRoom) {
  control_ = {0, 0, 0, 0};
  index_.grow(kSize);
  push(1, 1);
  EXPECT_EQ(drain(), (Order{1}));
}

TEST_F(Index, ClearingForgetsEverything) {
  push(1, 1);
  push(0, 0);
  index_.clear();
  EXPECT_EQ(index_.front(), nullptr);
  EXPECT_EQ(index_.count_nodes(), 0U);
}

TEST(OrderKey, AgeAndRankTradeAtTheStep) {
  constexpr std::int64_t kStep = 10'000'000;  // 10 s
  const auto key = [](std::int64_t sent_ns, std::int32_t rank) {
    return order_key(OrderPolicy::kAged, kStep, sent_ns, rank);
  };
  EXPECT_LT(key(0, 0), key(0, 1));
  EXPECT_EQ(key(10'000'000'000, 0), key(0, 1));
  EXPECT_GT(key(10'000'001'000, 0), key(0, 1));
}

TEST(OrderKey, NoLegalInputOverflows) {
  constexpr auto kMinRank = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMaxRank = std::numeric_limits<std::int32_t>::max();
  constexpr auto kMaxTime = std::numeric_limits<std::int64_t>::max();
  HomeOptions widest;
  widest.rank_step_us = 2'000'000'000;
  ASSERT_EQ(home_error(widest), nullptr);
  const auto low = order_key(OrderPolicy::kAged, widest.rank_step_us, 0, kMinRank);
  const auto high = order_key(OrderPolicy::kAged, widest.rank_step_us, kMaxTime, kMaxRank);
  EXPECT_LT(low, 0);
  EXPECT_GT(high, 0);
}

TEST(OrderKey, FifoLooksAtWhenItWasSentAlone) {
  EXPECT_EQ(order_key(OrderPolicy::kFifo, 1, 5'000'000, -5),
            order_key(OrderPolicy::kFifo, 1, 5'000'000, 5));
  EXPECT_LT(order_key(OrderPolicy::kFifo, 1, 5'000'000, 5),
            order_key(OrderPolicy::kFifo, 1, 9'000'000, -5));
}

// The times are those of a machine that has run for 0 s, a while, and 90 days.
TEST(OrderKey, StrictLooksAtTheRankAndThenAtWhenItWasSent) {
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kTick = 4'200'000;  // one more than a tick of the clock
  constexpr std::int64_t kTimes[] = {0, kTick, 1'000'000'000, 7'776'000'000'000'000};
  constexpr std::int32_t kRanks[] = {kLeast, kLeast + 1, -4097, -4096, -4095, -1,        0,
                                     1,      3,          4095,  4096,  4097,  kMost - 1, kMost};
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (const std::int32_t rank : kRanks) {
    for (const std::int64_t sent_ns : kTimes) {
      const std::int64_t key = order_key(OrderPolicy::kStrict, 1, sent_ns, rank);
      EXPECT_LT(before, key) << "rank " << rank << " sent at " << sent_ns;
      before = key;
    }
    const std::int64_t last = order_key(OrderPolicy::kStrict, 1, INT64_MAX, rank);
    EXPECT_LE(before, last);
    before = last;
  }
}

}  // namespace
}  // namespace beeline::shm
