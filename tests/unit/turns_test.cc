// The order in which connections are served.

#include "src/control/turns.h"

#include <gtest/gtest.h>

namespace beeline::control {
namespace {

TEST(TurnsTest, ConnectionsOfOneUserAreHeardInTheirOrder) {
  Turns turns;
  for (const std::uint64_t id : {7U, 3U, 5U}) turns.add(1, id);
  EXPECT_EQ(turns.next(), 7U);
  turns.add(1, 7);
  EXPECT_EQ(turns.next(), 3U);
  EXPECT_EQ(turns.next(), 5U);
  EXPECT_EQ(turns.next(), 7U);
  EXPECT_EQ(turns.next(), std::nullopt);
  EXPECT_TRUE(turns.empty());
}

// Each connection asks again as soon as it was answered.
TEST(TurnsTest, FiveThousandConnectionsOfOneUserAreOneOfTwoToAnother) {
  constexpr std::uint64_t kPolling = 5000;
  constexpr std::uint64_t kNewcomer = kPolling + 1;
  Turns turns;
  for (std::uint64_t id = 1; id <= kPolling; ++id) turns.add(1, id);
  for (int i = 0; i < 100; ++i) turns.add(1, *turns.next());
  turns.add(2, kNewcomer);
  int heard = 0;
  while (turns.next() != kNewcomer) ++heard;
  EXPECT_LE(heard, 1);
  EXPECT_EQ(turns.size(), kPolling - heard);
}

TEST(TurnsTest, ThreeUsersAreHeardOneAfterTheOther) {
  Turns turns;
  for (std::uint64_t id = 0; id < 30; ++id) turns.add(static_cast<uid_t>(id / 10), id);
  std::vector<std::uint64_t> heard;
  for (int i = 0; i < 6; ++i) heard.push_back(*turns.next());
  EXPECT_EQ(heard, (std::vector<std::uint64_t>{0, 10, 20, 1, 11, 21}));
}

}  // namespace
}  // namespace beeline::control
