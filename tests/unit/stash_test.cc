#include "src/receive/stash.h"

#include <gtest/gtest.h>

#include <vector>

namespace beeline::receive {
namespace {

using Kind = Stash::Kind;

std::vector<std::uint32_t> all(const Stash& stash) {
  return stash.find_all([](const Stash::Item&) { return true; });
}

// Empties it in the order in which its items would go.
std::vector<std::uint32_t> order_of_going(Stash stash) {
  std::vector<std::uint32_t> gone;
  while (stash.size() != 0) {
    gone.push_back(stash.first_to_go());
    stash.remove(gone.back());
  }
  return gone;
}

TEST(Stash, KeepsTheOrderOfArrival) {
  Stash stash;
  const std::uint32_t entries[] = {7, 3, 9, 1};
  for (const std::uint64_t i : {2U, 0U, 3U, 1U}) {  // an item that is put back keeps its old place
    stash.add({entries[i], 5, i, Kind::kAsked, false});
  }
  stash.remove(9);
  stash.remove(1000);  // not there
  EXPECT_EQ(all(stash), (std::vector<std::uint32_t>{7, 3, 1}));
  EXPECT_TRUE(stash.contains(3));
  EXPECT_FALSE(stash.contains(9));
  EXPECT_EQ(stash.find_if([](const Stash::Item& item) { return item.at < 7; }), 3U);
  EXPECT_EQ(stash.find_if([](const Stash::Item& item) { return item.from == 6; }), shm::kNoEntry);
}

TEST(Stash, AcknowledgementsOfASenderGoFirstThenUnaskedAnswersThenTheOldest) {
  Stash stash;
  stash.add({1, 5, 1, Kind::kAsked, false});
  stash.add({2, 5, 2, Kind::kUnasked, false});
  stash.add({3, 5, 3, Kind::kAck, false});
  stash.add({4, 5, 4, Kind::kAsked, false});
  stash.add({5, 5, 5, Kind::kUnasked, false});
  stash.add({6, 5, 6, Kind::kAck, false});
  EXPECT_EQ(order_of_going(stash), (std::vector<std::uint32_t>{3, 6, 2, 5, 1, 4}));
}

TEST(Stash, TheSenderWithTheMostItemsLosesSome) {
  Stash stash;
  stash.add({1, 5, 1, Kind::kAck, false});
  for (const std::uint32_t at : {2U, 3U, 4U}) stash.add({at, 6, at, Kind::kAsked, false});
  const auto gone = order_of_going(stash);
  ASSERT_EQ(gone.size(), 4U);
  EXPECT_EQ(gone[0], 2U);
  EXPECT_EQ(gone[1], 3U);
}

TEST(Stash, OneArrivalMayBeNamedTwice) {
  Stash stash;
  for (const std::uint32_t at : {8U, 9U}) stash.add({at, 5, 77, Kind::kAsked, false});
  EXPECT_EQ(order_of_going(stash), (std::vector<std::uint32_t>{8, 9}));
}

TEST(Stash, ASenderThatHasNothingLeftMayComeBack) {
  Stash stash;
  stash.add({1, 5, 1, Kind::kAck, false});
  stash.remove(1);
  EXPECT_EQ(stash.size(), 0U);
  stash.add({1, 5, 2, Kind::kAsked, false});
  EXPECT_EQ(order_of_going(stash), (std::vector<std::uint32_t>{1}));
}

TEST(Stash, ARemovedItemCountsNoMore) {
  Stash stash;
  for (const std::uint32_t at : {1U, 2U, 3U, 4U}) stash.add({at, 5, at, Kind::kAsked, false});
  for (const std::uint32_t at : {10U, 11U}) stash.add({at, 6, at, Kind::kAsked, false});
  const auto is_odd_or_first = [](const Stash::Item& item) {
    return item.from == 5 && (item.at % 2 == 1 || item.at == 2);
  };
  const auto found = stash.find_all(is_odd_or_first);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{1, 2, 3}));
  for (const std::uint32_t at : found) stash.remove(at);
  EXPECT_EQ(stash.first_to_go(), 10U) << "the other sender has the most now";
  EXPECT_EQ(all(stash), (std::vector<std::uint32_t>{4, 10, 11}));
}

}  // namespace
}  // namespace beeline::receive
