#include "src/receive/stash.h"

#include <gtest/gtest.h>

#include <vector>

namespace beeline::receive {
namespace {

using Kind = Stash::Kind;

std::vector<std::uint32_t> numbers_of(const std::vector<shm::EntryIndex>& entries) {
  std::vector<std::uint32_t> numbers;
  for (const shm::EntryIndex at : entries) numbers.push_back(at.value());
  return numbers;
}

std::vector<std::uint32_t> all(const Stash& stash) {
  return numbers_of(stash.find_all([](const Stash::Item&) { return true; }));
}

// Empties it in the order in which its items would go.
std::vector<std::uint32_t> order_of_going(Stash stash) {
  std::vector<std::uint32_t> gone;
  while (stash.size() != 0) {
    const shm::EntryIndex at = stash.first_to_go();
    gone.push_back(at.value());
    stash.remove(at);
  }
  return gone;
}

TEST(Stash, KeepsTheOrderOfArrival) {
  Stash stash;
  const std::uint32_t entries[] = {7, 3, 9, 1};
  for (const std::uint64_t i : {2U, 0U, 3U, 1U}) {  // an item that is put back keeps its old place
    stash.add({shm::EntryIndex(entries[i]), 5, i, Kind::kAsked, false});
  }
  stash.remove(shm::EntryIndex(9));
  stash.remove(shm::EntryIndex(1000));  // not there
  EXPECT_EQ(all(stash), (std::vector<std::uint32_t>{7, 3, 1}));
  EXPECT_TRUE(stash.contains(shm::EntryIndex(3)));
  EXPECT_FALSE(stash.contains(shm::EntryIndex(9)));
  EXPECT_EQ(stash.find_if([](const Stash::Item& item) { return item.at.value() < 7; }),
            shm::EntryIndex(3));
  EXPECT_EQ(stash.find_if([](const Stash::Item& item) { return item.from == 6; }), shm::kNoEntry);
}

TEST(Stash, AcknowledgementsOfASenderGoFirstThenUnaskedAnswersThenTheOldest) {
  Stash stash;
  stash.add({shm::EntryIndex(1), 5, 1, Kind::kAsked, false});
  stash.add({shm::EntryIndex(2), 5, 2, Kind::kUnasked, false});
  stash.add({shm::EntryIndex(3), 5, 3, Kind::kAck, false});
  stash.add({shm::EntryIndex(4), 5, 4, Kind::kAsked, false});
  stash.add({shm::EntryIndex(5), 5, 5, Kind::kUnasked, false});
  stash.add({shm::EntryIndex(6), 5, 6, Kind::kAck, false});
  EXPECT_EQ(order_of_going(stash), (std::vector<std::uint32_t>{3, 6, 2, 5, 1, 4}));
}

TEST(Stash, TheSenderWithTheMostItemsLosesSome) {
  Stash stash;
  stash.add({shm::EntryIndex(1), 5, 1, Kind::kAck, false});
  for (const std::uint32_t at : {2U, 3U, 4U})
    stash.add({shm::EntryIndex(at), 6, at, Kind::kAsked, false});
  const auto gone = order_of_going(stash);
  ASSERT_EQ(gone.size(), 4U);
  EXPECT_EQ(gone[0], 2U);
  EXPECT_EQ(gone[1], 3U);
}

TEST(Stash, OneArrivalMayBeNamedTwice) {
  Stash stash;
  for (const std::uint32_t at : {8U, 9U})
    stash.add({shm::EntryIndex(at), 5, 77, Kind::kAsked, false});
  EXPECT_EQ(order_of_going(stash), (std::vector<std::uint32_t>{8, 9}));
}

TEST(Stash, ASenderThatHasNothingLeftMayComeBack) {
  Stash stash;
  stash.add({shm::EntryIndex(1), 5, 1, Kind::kAck, false});
  stash.remove(shm::EntryIndex(1));
  EXPECT_EQ(stash.size(), 0U);
  stash.add({shm::EntryIndex(1), 5, 2, Kind::kAsked, false});
  EXPECT_EQ(order_of_going(stash), (std::vector<std::uint32_t>{1}));
}

TEST(Stash, ARemovedItemCountsNoMore) {
  Stash stash;
  for (const std::uint32_t at : {1U, 2U, 3U, 4U})
    stash.add({shm::EntryIndex(at), 5, at, Kind::kAsked, false});
  for (const std::uint32_t at : {10U, 11U})
    stash.add({shm::EntryIndex(at), 6, at, Kind::kAsked, false});
  const auto is_odd_or_first = [](const Stash::Item& item) {
    return item.from == 5 && (item.at.value() % 2 == 1 || item.at.value() == 2);
  };
  const auto found = stash.find_all(is_odd_or_first);
  EXPECT_EQ(numbers_of(found), (std::vector<std::uint32_t>{1, 2, 3}));
  for (const shm::EntryIndex at : found) stash.remove(at);
  EXPECT_EQ(stash.first_to_go(), shm::EntryIndex(10)) << "the other sender has the most now";
  EXPECT_EQ(all(stash), (std::vector<std::uint32_t>{4, 10, 11}));
}

}  // namespace
}  // namespace beeline::receive
