// Round trips at a fixed rate count from the time when they were due, so there is no coordinated
// omission.

#include "bench/open_loop.h"

#include <gtest/gtest.h>

#include <vector>

namespace beeline::bench {
namespace {

using Times = std::vector<std::int64_t>;

// One in 100 ns, the first at 1,000: 1,000, 1,100, 1,200, 1,300, 1,400.
OpenLoop five() { return {1000, 1e7, 5}; }

// Sends all that are due at `now`; returns how late each was.
Times send_all(OpenLoop& loop, std::int64_t now) {
  Times late;
  while (loop.is_due(now)) late.push_back(loop.note_sent(now));
  return late;
}

TEST(OpenLoop, each_message_is_due_at_its_time_and_not_before) {
  OpenLoop loop = five();
  EXPECT_FALSE(loop.is_due(999));
  EXPECT_EQ(send_all(loop, 1000), Times{0});
  EXPECT_EQ(loop.next_due_ns(), 1100);
  EXPECT_FALSE(loop.is_due(1099));
  EXPECT_TRUE(loop.is_due(1100));
}

TEST(OpenLoop, a_message_is_due_although_those_before_have_no_answer) {
  OpenLoop loop = five();
  EXPECT_EQ(send_all(loop, 1000), Times{0});
  EXPECT_EQ(send_all(loop, 1100), Times{0});
  EXPECT_EQ(send_all(loop, 1200), Times{0});
  EXPECT_EQ(loop.answered(), 0U);
}

TEST(OpenLoop, one_slow_answer_shows_in_every_message_that_waited_behind_it) {
  OpenLoop loop = five();
  // The first is sent in time; then nothing moves until 1,450, as if the lane was full.
  EXPECT_EQ(loop.note_sent(1000), 0);
  EXPECT_EQ(send_all(loop, 1450), (Times{350, 250, 150, 50}));
  Times counted;
  while (!loop.all_answered()) counted.push_back(loop.note_answer(1500));
  EXPECT_EQ(counted, (Times{500, 400, 300, 200, 100}));
}

TEST(OpenLoop, it_ends_with_the_last_answer) {
  OpenLoop loop = five();
  EXPECT_EQ(send_all(loop, 9000).size(), 5U);
  EXPECT_TRUE(loop.all_sent());
  for (int i = 0; i < 4; ++i) loop.note_answer(9000);
  EXPECT_FALSE(loop.all_answered());
  loop.note_answer(9000);
  EXPECT_TRUE(loop.all_answered());
}

}  // namespace
}  // namespace beeline::bench
