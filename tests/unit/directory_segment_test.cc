// The places of a directory, and the error for an agent that finds none.

#include "src/control/directory_segment.h"

#include <gtest/gtest.h>

namespace beeline::control {
namespace {

TEST(DirectorySegment, says_that_the_hive_is_full_until_a_place_is_given_back) {
  auto directory = DirectorySegment::create("test", 1, 1 << 20);
  ASSERT_TRUE(directory) << directory.error().text;
  for (std::uint32_t number = 0; number < shm::kMaxAgents; ++number) {
    const auto place = directory->take_index();
    ASSERT_TRUE(place) << place.error().text;
    ASSERT_EQ(*place, number);
  }
  const auto none = directory->take_index();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kFull);
  EXPECT_EQ(none.error().text,
            "the hive has 4096 agents, the limit is 4096: let some end that are temporary, or "
            "start another hive");
  directory->give_back(7);
  const auto again = directory->take_index();
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(*again, 7U);
}

TEST(DirectorySegment, counts_the_packets_of_each_place_apart) {
  auto directory = DirectorySegment::create("test", 1, 1 << 20);
  ASSERT_TRUE(directory) << directory.error().text;
  const auto first = directory->take_index();
  const auto second = directory->take_index();
  ASSERT_TRUE(first && second);
  directory->count_due(*first);
  directory->count_due(*first);
  directory->count_taken(*first);
  const shm::DirectoryView view = directory->view();
  EXPECT_EQ(view.packets(*first).due.observe(), 2U);
  EXPECT_EQ(view.packets(*first).taken.observe(), 1U);
  EXPECT_EQ(view.packets(*second).due.observe(), 0U);
}

}  // namespace
}  // namespace beeline::control
