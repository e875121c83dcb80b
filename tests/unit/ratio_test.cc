// A neighbour's figure beside Beeline's in the rows of `beeline-bench peers`.

#include "bench/peers/ratio.h"

#include <gtest/gtest.h>

#include <optional>

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

TEST(Ratio, carries_our_figure) {
  EXPECT_EQ(row_of({50.0, 500.0}, {200.0, 510.0}).at("beeline_rtt_ns"), 200.0);
  EXPECT_EQ(row_of({50.0, 500.0}, {200.0, 510.0}, false).at("beeline_messages_per_s"), 200.0);
}

// The machine has two limits, 170 and 560; Beeline was measured at the first one.
class RatioBesideOurs : public testing::Test {
 protected:
  RatioBesideOurs() { ours_.add({100.0, 170.0}); }

  int measured_ = 0;
  double next_limit_ = 560.0;
  Ours ours_{3, [this]() -> std::optional<Figure> {
               ++measured_;
               if (next_limit_ == 0.0) return std::nullopt;
               return Figure{200.0, next_limit_};
             }};
};

TEST_F(RatioBesideOurs, we_are_measured_again_where_the_limits_differ) {
  EXPECT_EQ(ours_.beside({50.0, 180.0})->value, 100.0);
  EXPECT_EQ(measured_, 0);
  EXPECT_EQ(ours_.beside({50.0, 500.0})->value, 200.0);
  EXPECT_EQ(measured_, 1);
  EXPECT_EQ(ours_.beside({50.0, 150.0})->value, 100.0) << "each has the nearest one";
  EXPECT_EQ(ours_.beside({50.0, 600.0})->value, 200.0);
  EXPECT_EQ(measured_, 1) << "of those that are there";
}

TEST_F(RatioBesideOurs, we_are_measured_so_often_and_no_more) {
  for (const double limit : {350.0, 0.0}) {
    measured_ = 0;
    next_limit_ = limit;
    EXPECT_EQ(ours_.beside({50.0, 560.0})->limit_rtt_ns, limit == 0.0 ? 350.0 : limit);
    EXPECT_EQ(measured_, 2) << "three attempts, of which the first was before";
  }
}

TEST(Ratio, there_is_none_without_our_figure) {
  Ours ours(5, [] { return Figure{1.0, 100.0}; });
  EXPECT_FALSE(ours.beside({50.0, 100.0}));
}

TEST(Ratio, a_figure_above_zero_stays_above_zero) {
  EXPECT_EQ(row_of({1.0, 100.0}, {4e6, 100.0}, false).at("ratio_to_beeline"), 2.5e-7);
  EXPECT_EQ(rounded(64 * 15.0 / 1e9), 9.6e-7) << "GB/s of 15 messages a second";
  EXPECT_EQ(rounded(1234567.89), 1234570.0);
}

}  // namespace
}  // namespace beeline::bench::peers
