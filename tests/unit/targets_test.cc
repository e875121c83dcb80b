// The table of targets that `beeline-bench report` begins with, from given rows.

#include "bench/targets.h"

#include <gtest/gtest.h>

#include <string>

namespace beeline::bench {
namespace {

/// The row of a target whose text begins like this.
Row target(const RowsByTest& rows, const std::string& what) {
  Row found;
  for (const Row& row : target_rows(rows)) {
    if (!row.value("what", "").starts_with(what)) continue;
    EXPECT_TRUE(found.is_null()) << "two targets begin with " << what;
    found = row;
  }
  EXPECT_FALSE(found.is_null()) << "no target begins with " << what;
  return found;
}

std::string cell(const Row& row, const char* column) { return row.value(column, "nothing"); }

Row latency(std::uint64_t size, const char* payload, double p50, double limit) {
  return {{"size", size},
          {"mode", "spin"},
          {"payload", payload},
          {"rtt_ns", {{"p50", p50}, {"p99", 2 * p50}}},
          {"limit_rtt_ns", {{"p50", limit}}}};
}

Row stream(double per_s, double limit) {
  return {{"size", 64},
          {"mode", "spin"},
          {"payload", "lane"},
          {"messages_per_s", per_s},
          {"window_messages_per_s", {{"min", per_s / 2}, {"p50", per_s}, {"max", per_s * 2}}},
          {"limit_rtt_ns", {{"p50", limit}}}};
}

TEST(Targets, without_rows_nothing_is_measured_and_nothing_reached) {
  const auto rows = target_rows({});
  EXPECT_EQ(rows.size(), 19U);
  for (const Row& row : rows) {
    EXPECT_EQ(row.value("result", ""), "not measured") << row;
    EXPECT_FALSE(row.contains("reached")) << row;
  }
}

TEST(Targets, a_round_trip_is_taken_over_its_limit) {
  const Row good = target({{"latency", {latency(64, "lane", 150, 100)}}}, "round trip, 64 B");
  EXPECT_EQ(cell(good, "target"), "at most 1.5");
  EXPECT_EQ(cell(good, "result"), "1.50");
  EXPECT_EQ(cell(good, "limit"), "100 ns");
  EXPECT_EQ(cell(good, "spread"), "1.50 to 3.00");
  EXPECT_EQ(cell(good, "reached"), "yes");
  const Row bad = target({{"latency", {latency(64, "lane", 151, 100)}}}, "round trip, 64 B");
  EXPECT_EQ(cell(bad, "reached"), "no");
}

TEST(Targets, rows_of_another_kind_do_not_count) {
  Row asleep = latency(64, "lane", 100, 100);
  asleep["mode"] = "sleep";
  Row at_a_rate = latency(64, "lane", 100, 100);
  at_a_rate["rate"] = 1000;
  const RowsByTest rows{{"latency", {asleep, at_a_rate, latency(64, "untouched", 100, 100)}}};
  EXPECT_EQ(cell(target(rows, "round trip, 64 B"), "result"), "not measured");
}

TEST(Targets, of_several_rows_the_middle_one_counts_and_all_are_in_the_spread) {
  Row unstable = latency(64, "lane", 900, 100);
  unstable["stable"] = false;
  RowsByTest rows{{"latency",
                   {latency(64, "lane", 300, 100), latency(64, "lane", 120, 100), unstable,
                    latency(64, "lane", 140, 100)}}};
  const Row found = target(rows, "round trip, 64 B");
  EXPECT_EQ(cell(found, "result"), "1.40");
  EXPECT_EQ(cell(found, "spread"), "1.20 to 6.00");
  EXPECT_EQ(note_of(found), "");
  // The unstable one counts where there is no other, and says so.
  rows["latency"] = {unstable};
  EXPECT_EQ(cell(target(rows, "round trip, 64 B"), "result"), "9.00");
  EXPECT_TRUE(note_of(target(rows, "round trip, 64 B")).starts_with("UNSTABLE"));
}

TEST(Targets, a_loan_of_1_MiB_stands_over_a_small_one_on_the_same_machine) {
  RowsByTest rows{
      {"latency", {latency(64, "untouched", 200, 100), latency(1 << 20, "untouched", 220, 120)}}};
  const Row found = target(rows, "round trip, 1 MiB");
  EXPECT_EQ(cell(found, "result"), "1.10");
  EXPECT_EQ(cell(found, "reached"), "yes");
  rows["latency"][1]["limit_rtt_ns"]["p50"] = 131;
  EXPECT_EQ(cell(target(rows, "round trip, 1 MiB"), "result"), "no figure");
}

TEST(Targets, a_stream_has_its_windows_and_is_asked_for_where_the_limit_is_low) {
  const auto one_way = [](double per_s, double limit) {
    return target({{"throughput", {stream(per_s, limit)}}}, "one way, 64 B (");
  };
  const Row good = one_way(25e6, 120);
  EXPECT_EQ(cell(good, "target"), "at least 25 million/s");
  EXPECT_EQ(cell(good, "result"), "25.00 million/s");
  EXPECT_EQ(cell(good, "spread"), "12.50 to 50.00");
  EXPECT_EQ(cell(good, "reached"), "yes");
  EXPECT_EQ(cell(one_way(24e6, 120), "reached"), "no");
  EXPECT_EQ(cell(one_way(24e6, 121), "reached"), "no (asked for a limit up to 120)");
  EXPECT_EQ(cell(one_way(26e6, 500), "reached"), "yes");
}

TEST(Targets, iceoryx_is_compared_where_there_is_a_ratio) {
  const auto times = [](const Row& ratio) {
    const Row row{{"peer", "iceoryx"}, {"kind", "throughput"},      {"size", 64},
                  {"mode", "spin"},    {"ratio_to_beeline", ratio}, {"better", false}};
    return target({{"peers", {row}}}, "one way, 64 B, times");
  };
  EXPECT_EQ(cell(times(0.1), "result"), "10.00");
  EXPECT_EQ(cell(times(0.1), "reached"), "yes");
  EXPECT_EQ(cell(times(0.11), "reached"), "no");
  EXPECT_EQ(cell(times(nullptr), "result"), "no figure");
}

TEST(Targets, what_is_filled_stands_beside_a_copy) {
  const Row row{{"peer", "beeline"}, {"kind", "fill"}, {"size", 1 << 20},
                {"gb_per_s", 5.5},   {"mode", "spin"}, {"limit_gb_per_s", 11.0}};
  const Row found = target({{"peers", {row}}}, "1 MiB filled and read; limit");
  EXPECT_EQ(cell(found, "result"), "5.50 GB/s");
  EXPECT_EQ(cell(found, "limit"), "11.00 GB/s");
}

TEST(Targets, a_deep_inbox_is_judged_without_the_clock) {
  const auto inbox = [](std::uint64_t depth, double p50) {
    return Row{{"depth", depth},
               {"size", 64},
               {"take_ns", {{"p50", p50}, {"p99", p50}}},
               {"clock_ns", {{"p50", 50}}},
               {"limit_rtt_ns", {{"p50", 100}}}};
  };
  const RowsByTest rows{{"inbox", {inbox(100, 350), inbox(100'000, 1049)}}};
  EXPECT_EQ(cell(target(rows, "taking from 100,000"), "result"), "999 ns");
  EXPECT_EQ(cell(target(rows, "taking from 100,000"), "reached"), "yes");
  const Row growth = target(rows, "growth");
  EXPECT_EQ(cell(growth, "result"), "3.33");
  EXPECT_EQ(cell(growth, "reached"), "no");
}

TEST(Targets, a_hive_of_1000_is_judged_by_its_own_rows_alone) {
  const auto scale = [](std::uint64_t agents, double attach_us) {
    return Row{{"agents", agents},
               {"attach_us", {{"p50", attach_us}, {"p99", 4000.0}}},
               {"first_rtt_ns", 1000},
               {"last_rtt_ns", 1101}};
  };
  const RowsByTest rows{{"scale", {scale(100, 1.0), scale(1000, 1999.0)}}};
  EXPECT_EQ(cell(target(rows, "1,000 agents: attach"), "result"), "2.00 ms");
  EXPECT_EQ(cell(target(rows, "1,000 agents: attach"), "reached"), "yes");
  EXPECT_EQ(cell(target(rows, "1,000 agents: round trip, the last"), "reached"), "no");
  EXPECT_EQ(cell(target(rows, "1,000 agents: round trip of their"), "reached"), "-");
  EXPECT_EQ(cell(target(rows, "1,000 agents: segments"), "result"), "no figure");
}

TEST(Targets, who_is_better_is_listed) {
  const Row pipe{{"peer", "pipe"}, {"better", true}};
  const Row queue{{"peer", "posix-queue"}, {"better", false}};
  EXPECT_EQ(better_rows({{"peers", {queue, pipe, {{"peer", "nng"}, {"skipped", "it"}}}}}),
            std::vector<Row>{pipe});
  EXPECT_TRUE(better_rows({}).empty());
}

}  // namespace
}  // namespace beeline::bench
