#include "bench/histogram.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace beeline::bench {
namespace {

TEST(Histogram, an_empty_one_says_zero) {
  const auto histogram = std::make_unique<Histogram>();
  EXPECT_EQ(histogram->count(), 0U);
  EXPECT_EQ(histogram->max(), 0U);
  EXPECT_EQ(histogram->percentile(50.0), 0U);
  EXPECT_EQ(histogram->percentile(100.0), 0U);
}

TEST(Histogram, values_below_2048_are_exact) {
  for (std::uint64_t value = 0; value < 2048; ++value) {
    EXPECT_EQ(Histogram::highest_of(Histogram::index_of(value)), value);
  }
}

TEST(Histogram, counters_follow_each_other_without_a_gap_or_an_overlap) {
  std::uint64_t next = 0;
  for (std::size_t index = 0; index <= Histogram::index_of(Histogram::kLargest); ++index) {
    ASSERT_EQ(Histogram::index_of(next), index);
    const std::uint64_t highest = Histogram::highest_of(index);
    ASSERT_EQ(Histogram::index_of(highest), index);
    next = highest + 1;
  }
  EXPECT_EQ(next, Histogram::kLargest + 1);
}

TEST(Histogram, a_value_is_reported_at_most_a_thousandth_too_high_and_never_too_low) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random() >> (24 + random() % 40);
    const std::uint64_t reported = Histogram::highest_of(Histogram::index_of(value));
    ASSERT_GE(reported, value);
    ASSERT_LE(static_cast<double>(reported - value), 0.001 * static_cast<double>(value));
  }
}

TEST(Histogram, percentiles_are_those_of_the_sorted_values) {
  const auto histogram = std::make_unique<Histogram>();
  std::vector<std::int64_t> values;
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(static_cast<std::int64_t>(random() % 5'000'000));
    histogram->record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.01, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(percent * 100.0 + 0.5);
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto reported = static_cast<double>(histogram->percentile(percent));
    EXPECT_GE(reported, exact) << percent;
    EXPECT_LE(reported, exact * 1.001 + 1) << percent;
  }
}

TEST(Histogram, the_highest_value_is_kept_exactly) {
  const auto histogram = std::make_unique<Histogram>();
  histogram->record(1'000'001);
  EXPECT_EQ(histogram->max(), 1'000'001U);
  EXPECT_EQ(histogram->percentile(100.0), 1'000'001U);
}

TEST(Histogram, a_value_out_of_range_counts_at_the_edge) {
  const auto histogram = std::make_unique<Histogram>();
  histogram->record(-5);
  EXPECT_EQ(histogram->percentile(100.0), 0U);
  histogram->record(INT64_MAX);
  EXPECT_EQ(histogram->max(), Histogram::kLargest);
  EXPECT_EQ(histogram->percentile(100.0), Histogram::kLargest);
  EXPECT_EQ(histogram->count(), 2U);
}

TEST(Histogram, added_ones_count_together) {
  const auto one = std::make_unique<Histogram>();
  const auto other = std::make_unique<Histogram>();
  for (int i = 0; i < 3; ++i) one->record(10);
  other->record(5000);
  one->add(*other);
  EXPECT_EQ(one->count(), 4U);
  EXPECT_EQ(one->max(), 5000U);
  EXPECT_EQ(one->percentile(75.0), 10U);
  EXPECT_EQ(one->percentile(76.0), 5000U);
  one->clear();
  EXPECT_EQ(one->count(), 0U);
  EXPECT_EQ(one->percentile(99.0), 0U);
}

}  // namespace
}  // namespace beeline::bench
