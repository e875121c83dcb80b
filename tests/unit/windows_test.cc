// The spread of a stream, from looks at given times.

#include "bench/windows.h"

#include <gtest/gtest.h>

namespace beeline::bench {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

void expect_spread(const Windows& windows, double min, double p50, double max) {
  const Windows::Rates spread = windows.messages_per_s();
  EXPECT_DOUBLE_EQ(spread.min, min);
  EXPECT_DOUBLE_EQ(spread.p50, p50);
  EXPECT_DOUBLE_EQ(spread.max, max);
}

TEST(Windows, an_even_stream_has_no_spread) {
  Windows windows(7, 5 * kSecond);
  for (std::int64_t i = 1; i <= 50; ++i) {
    windows.look(7 + i * kSecond / 10, static_cast<std::uint64_t>(10 * i));
  }
  expect_spread(windows, 100.0, 100.0, 100.0);
}

TEST(Windows, each_window_counts_for_itself) {
  Windows windows(0, 5 * kSecond);
  const std::array<std::uint64_t, 5> passed{50, 10, 40, 20, 30};
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    windows.look(static_cast<std::int64_t>(i + 1) * kSecond, messages += passed[i]);
  }
  expect_spread(windows, 10.0, 30.0, 50.0);
}

TEST(Windows, a_stall_that_no_look_parts_slows_all_windows_that_it_touches) {
  Windows windows(0, 5 * kSecond);
  windows.look(1 * kSecond, 100);
  windows.look(4 * kSecond, 130);
  windows.look(5 * kSecond, 230);
  expect_spread(windows, 10.0, 10.0, 100.0);
}

TEST(Windows, a_late_look_counts_the_time_that_it_took) {
  Windows windows(0, 5 * kSecond);
  windows.look(kSecond + kSecond / 2, 150);
  for (std::int64_t i = 2; i <= 4; ++i) {
    windows.look(i * kSecond, static_cast<std::uint64_t>(100 * i));
  }
  windows.look(7 * kSecond, 700);
  expect_spread(windows, 100.0, 100.0, 100.0);
}

TEST(Windows, messages_after_the_end_change_nothing) {
  Windows windows(0, 5 * kSecond);
  windows.look(5 * kSecond, 500);
  windows.look(50 * kSecond, 501);
  expect_spread(windows, 100.0, 100.0, 100.0);
}

}  // namespace
}  // namespace beeline::bench
