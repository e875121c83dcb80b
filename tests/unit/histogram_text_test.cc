// The text form of saved histograms is that of HdrHistogram, so that its plotters read it.

#include "bench/histogram_text.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace beeline::bench {
namespace {

// By the rules of HdrHistogram's outputPercentileDistribution() with five ticks for each halving:
// steps of 10 % to 50 %, of 5 % to 75 %, of 2.5 % to 87.5 % and so on. Each line names the first
// value at which that many are counted.
TEST(HistogramText, one_to_ten_are_written_as_hdr_histogram_writes_them) {
  const auto histogram = std::make_unique<Histogram>();
  for (std::int64_t value = 1; value <= 10; ++value) histogram->record(value);
  EXPECT_EQ(percentile_text(*histogram),
            R"(       Value     Percentile TotalCount 1/(1-Percentile)

       1.000 0.000000000000          1           1.00
       1.000 0.100000000000          1           1.11
       2.000 0.200000000000          2           1.25
       3.000 0.300000000000          3           1.43
       4.000 0.400000000000          4           1.67
       5.000 0.500000000000          5           2.00
       6.000 0.550000000000          6           2.22
       6.000 0.600000000000          6           2.50
       7.000 0.650000000000          7           2.86
       7.000 0.700000000000          7           3.33
       8.000 0.750000000000          8           4.00
       8.000 0.775000000000          8           4.44
       8.000 0.800000000000          8           5.00
       9.000 0.825000000000          9           5.71
       9.000 0.850000000000          9           6.67
       9.000 0.875000000000          9           8.00
       9.000 0.887500000000          9           8.89
       9.000 0.900000000000          9          10.00
      10.000 0.912500000000         10          11.43
      10.000 1.000000000000         10
#[Mean    =        5.500, StdDeviation   =        2.872]
#[Max     =       10.000, Total count    =           10]
#[Buckets =           30, SubBuckets     =         2048]
)");
}

TEST(HistogramText, large_values_are_rounded_to_their_counter_and_never_above_the_highest) {
  const auto histogram = std::make_unique<Histogram>();
  histogram->record(4096);  // shares its counter with 4097, 4098 and 4099
  histogram->record(8193);  // shares its counter with 8192 to 8199
  const std::string text = percentile_text(*histogram);
  EXPECT_NE(text.find("    4099.000 0.000000000000          1           1.00\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("    8193.000 1.000000000000          2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("#[Max     =     8193.000, Total count    =            2]\n"),
            std::string::npos)
      << text;
}

TEST(HistogramText, an_empty_one_has_a_head_and_a_foot) {
  const auto histogram = std::make_unique<Histogram>();
  EXPECT_EQ(percentile_text(*histogram),
            R"(       Value     Percentile TotalCount 1/(1-Percentile)

#[Mean    =        0.000, StdDeviation   =        0.000]
#[Max     =        0.000, Total count    =            0]
#[Buckets =           30, SubBuckets     =         2048]
)");
}

}  // namespace
}  // namespace beeline::bench
