// How a neighbour's figure stands beside Beeline's in the rows of `beeline-bench peers`.

#include "bench/peers/ratio.h"

#include <gtest/gtest.h>

namespace beeline::bench::peers {
namespace {

Row row_of(const Figure& theirs, const Figure& ours, bool lower_is_better = true) {
  Row row{{"limit_rtt_ns", {{"p50", theirs.limit_rtt_ns}}}};
  add_ratio(row, lower_is_better, theirs, ours);
  return row;
}

TEST(Ratio, a_shorter_time_and_a_higher_rate_are_better) {
  EXPECT_EQ(row_of({50.0, 100.0}, {100.0, 100.0}).at("ratio_to_beeline"), 0.5);
  EXPECT_EQ(row_of({50.0, 100.0}, {100.0, 100.0}).at("better"), true);
  EXPECT_EQ(row_of({50.0, 100.0}, {100.0, 100.0}, false).at("better"), false);
  EXPECT_EQ(row_of({200.0, 100.0}, {100.0, 100.0}, false).at("better"), true);
}

TEST(Ratio, there_is_none_between_two_regimes_of_the_machine) {
  for (const double limit : {131.0, 76.0}) {
    const Row row = row_of({50.0, limit}, {100.0, 100.0});
    EXPECT_TRUE(row.at("ratio_to_beeline").is_null()) << row;
    EXPECT_FALSE(row.contains("better")) << row;
    EXPECT_EQ(row.at("beeline_limit_rtt_ns"), 100.0);
    EXPECT_EQ(note_of(row), "no ratio: the limit was 100 while Beeline was measured");
    EXPECT_EQ(cell_text({.title = "ratio", .value = "/ratio_to_beeline"}, row), "-");
  }
  for (const double limit : {130.0, 77.0}) {
    const Row row = row_of({50.0, limit}, {100.0, 100.0});
    EXPECT_EQ(row.at("ratio_to_beeline"), 0.5) << row;
    EXPECT_EQ(note_of(row), "better than Beeline");
  }
}

TEST(Ratio, what_is_above_zero_stays_above_zero) {
  EXPECT_EQ(row_of({1.0, 100.0}, {4e6, 100.0}, false).at("ratio_to_beeline"), 2.5e-7);
  EXPECT_EQ(rounded(64 * 15.0 / 1e9), 9.6e-7) << "GB/s of 15 messages a second";
  EXPECT_EQ(rounded(1234567.89), 1234570.0);
}

}  // namespace
}  // namespace beeline::bench::peers
