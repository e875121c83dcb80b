// The table of targets that begins `beeline-bench report`, from given rows.

#include "bench/targets.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

namespace beeline::bench {
namespace {

// The row of the target with a text that begins like this.
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
          {"batch", 32},
          {"messages_per_s", per_s},
          {"window_messages_per_s", {{"min", per_s / 2}, {"p50", per_s}, {"max", per_s * 2}}},
          {"limit_rtt_ns", {{"p50", limit}}}};
}

TEST(Targets, without_rows_nothing_is_measured_and_nothing_reached) {
  const auto rows = target_rows({});
  EXPECT_EQ(rows.size(), 22U);
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

TEST(Targets, the_middle_one_of_several_rows_counts_and_all_are_in_the_spread) {
  Row unstable = latency(64, "lane", 900, 100);
  unstable["stable"] = false;
  RowsByTest rows{{"latency",
                   {latency(64, "lane", 300, 100), latency(64, "lane", 120, 100), unstable,
                    latency(64, "lane", 140, 100)}}};
  const Row found = target(rows, "round trip, 64 B");
  EXPECT_EQ(cell(found, "result"), "1.40");
  EXPECT_EQ(cell(found, "spread"), "1.20 to 6.00");
  EXPECT_EQ(note_of(found), "");
  // An unstable row counts if there is no other, and is marked.
  rows["latency"] = {unstable};
  EXPECT_EQ(cell(target(rows, "round trip, 64 B"), "result"), "9.00");
  EXPECT_TRUE(note_of(target(rows, "round trip, 64 B")).starts_with("UNSTABLE"));
}

TEST(Targets, the_less_favourable_of_two_rows_counts) {
  const RowsByTest round_trips{
      {"latency", {latency(64, "lane", 120, 100), latency(64, "lane", 180, 100)}}};
  EXPECT_EQ(cell(target(round_trips, "round trip, 64 B"), "result"), "1.80") << "at most";
  const RowsByTest streams{{"throughput", {stream(30e6, 100), stream(20e6, 100)}}};
  EXPECT_EQ(cell(target(streams, "one way, 64 B, up to 32 a call ("), "result"), "20.00 million/s")
      << "at least";
  const auto idle = [](double ms) {
    return Row{{"agents", 50}, {"mode", "adaptive"}, {"cpu_ms_per_10s", ms}};
  };
  const RowsByTest asleep{{"idle", {idle(11), idle(9)}}};
  EXPECT_EQ(cell(target(asleep, "CPU of 50"), "result"), "11.00 ms") << "under";
  // Given two bases for a ratio, the one that makes the ratio worse.
  const RowsByTest loans{{"latency",
                          {latency(64, "untouched", 200, 100), latency(64, "untouched", 100, 100),
                           latency(1 << 20, "untouched", 200, 100)}}};
  EXPECT_EQ(cell(target(loans, "round trip, 1 MiB"), "result"), "2.00");
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
    return target({{"throughput", {stream(per_s, limit)}}}, "one way, 64 B, up to 32 a call (");
  };
  const Row good = one_way(25e6, 120);
  EXPECT_EQ(cell(good, "target"), "at least 25 million/s");
  EXPECT_EQ(cell(good, "result"), "25.00 million/s");
  EXPECT_EQ(cell(good, "spread"), "12.50 to 50.00");
  EXPECT_EQ(cell(good, "reached"), "yes");
  EXPECT_EQ(cell(one_way(24e6, 120), "reached"), "no");
  for (const double per_s : {24e6, 26e6}) {
    const Row elsewhere = one_way(per_s, 121);
    EXPECT_EQ(cell(elsewhere, "result"), fmt::format("{:.2f} million/s", per_s / 1e6));
    EXPECT_EQ(cell(elsewhere, "reached"), "not asked for here: limit over 120");
  }
}

TEST(Targets, a_stream_is_judged_by_the_rows_at_a_limit_that_it_is_asked_for_at) {
  Row unstable = stream(26e6, 110);
  unstable["stable"] = false;
  RowsByTest rows{{"throughput", {stream(5e6, 500), unstable, stream(6e6, 400)}}};
  EXPECT_EQ(cell(target(rows, "one way, 64 B, up to 32 a call ("), "result"), "26.00 million/s");
  EXPECT_EQ(cell(target(rows, "one way, 64 B, up to 32 a call ("), "reached"), "yes");
  rows["throughput"].push_back(stream(24e6, 120));
  EXPECT_EQ(cell(target(rows, "one way, 64 B, up to 32 a call ("), "result"), "24.00 million/s");
  EXPECT_EQ(cell(target(rows, "one way, 64 B, up to 32 a call ("), "reached"), "no");
}

TEST(Targets, iceoryx_is_compared_where_there_is_a_ratio) {
  const auto times = [](const Row& ratio) {
    const Row row{{"peer", "iceoryx"}, {"kind", "throughput"},      {"size", 64},
                  {"mode", "spin"},    {"ratio_to_beeline", ratio}, {"better", false}};
    return target({{"peers", {row}}}, "one way, 64 B, one a call, times");
  };
  EXPECT_EQ(cell(times(0.1), "result"), "10.00");
  EXPECT_EQ(cell(times(0.1), "reached"), "yes");
  EXPECT_EQ(cell(times(0.11), "reached"), "no");
  EXPECT_EQ(cell(times(nullptr), "result"), "no figure");
}

TEST(Targets, a_filled_payload_stands_beside_a_copy) {
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
  RowsByTest rows{{"inbox", {inbox(100, 350), inbox(10'000, 650), inbox(100'000, 1049)}}};
  EXPECT_EQ(cell(target(rows, "taking from 100,000"), "result"), "999 ns");
  EXPECT_EQ(cell(target(rows, "taking from 100,000"), "reached"), "yes");
  const Row some = target(rows, "growth of that from 100 to 10,000");
  EXPECT_EQ(cell(some, "result"), "2.00");
  EXPECT_EQ(cell(some, "reached"), "yes");
  const Row most = target(rows, "growth of that from 100 to 100,000");
  EXPECT_EQ(cell(most, "result"), "3.33");
  EXPECT_EQ(cell(most, "reached"), "no");
  // A figure that is no longer than reading the clock is no base for a ratio.
  rows["inbox"][0] = inbox(100, 40);
  EXPECT_EQ(cell(target(rows, "growth of that from 100 to 10,000"), "result"), "no figure");
}

TEST(Targets, a_hive_of_1000_is_judged_by_its_own_rows_alone) {
  const auto scale = [](std::uint64_t agents, double attach_us) {
    return Row{{"agents", agents},
               {"mode", "adaptive"},
               {"attach_us", {{"p50", attach_us}, {"p99", 4000.0}}},
               {"first_rtt_ns", 1000},
               {"last_rtt_ns", 1101}};
  };
  Row awake = scale(1000, 2999.0);
  awake["mode"] = "spin";
  const RowsByTest rows{{"scale", {scale(100, 1.0), scale(1000, 1999.0), awake}}};
  EXPECT_EQ(cell(target(rows, "1,000 agents: attach"), "result"), "2.00 ms");
  EXPECT_EQ(cell(target(rows, "1,000 agents: attach"), "reached"), "yes");
  EXPECT_EQ(cell(target(rows, "1,000 agents: round trip, last"), "reached"), "no");
  EXPECT_EQ(cell(target(rows, "1,000 agents: round trip of parent"), "reached"), "-");
  EXPECT_EQ(cell(target(rows, "1,000 agents: segments"), "result"), "no figure");
}

TEST(Targets, a_row_with_another_sleep_or_without_payload_is_another_measurement) {
  const Row wake{{"size", 64},
                 {"by", "futex"},
                 {"payload", "untouched"},
                 {"rtt_ns", {{"p50", 100}}},
                 {"limit_rtt_ns", {{"p50", 100}}}};
  const Row idle{{"agents", 50}, {"mode", "spin"}, {"cpu_ms_per_10s", 9999.0}};
  const RowsByTest rows{{"wake", {wake}}, {"idle", {idle}}};
  EXPECT_EQ(cell(target(rows, "wake-up round trip, futex"), "result"), "not measured");
  EXPECT_EQ(cell(target(rows, "CPU of 50"), "result"), "not measured");
}

// Rows for all targets: each has a figure.
RowsByTest all_rows() {
  const auto inbox = [](std::uint64_t depth) {
    return Row{
        {"depth", depth}, {"size", 64}, {"take_ns", {{"p50", 90}}}, {"clock_ns", {{"p50", 40}}}};
  };
  const auto wake = [](const char* by) {
    Row row = latency(64, "lane", 110, 100);
    row["by"] = by;
    row["mode"] = "sleep";
    return row;
  };
  const auto beside = [](const char* peer, const char* kind, std::uint64_t size) {
    return Row{{"peer", peer},    {"kind", kind},         {"size", size},
               {"mode", "spin"},  {"gb_per_s", 2.0},      {"ratio_to_beeline", 0.5},
               {"better", false}, {"limit_gb_per_s", 4.0}};
  };
  Row three = stream(20e6, 100);
  three["senders"] = 3;
  const auto singly = [](Row row) {
    row["batch"] = 1;
    return row;
  };
  return {{"latency",
           {latency(16, "lane", 1, 1), latency(64, "lane", 1, 1), latency(1024, "loan", 1, 1),
            latency(64, "untouched", 1, 1), latency(1 << 20, "untouched", 1, 1)}},
          {"throughput", {stream(25e6, 100), singly(stream(20e6, 100))}},
          {"fanin", {three, singly(three)}},
          {"wake", {wake("futex"), wake("eventfd")}},
          {"inbox", {inbox(100), inbox(10'000), inbox(100'000)}},
          {"scale",
           {{{"agents", 1000},
             {"mode", "adaptive"},
             {"attach_us", {{"p50", 1}}},
             {"resident_kib_per_agent", 1},
             {"first_rtt_ns", 1},
             {"last_rtt_ns", 1}}}},
          {"idle", {{{"agents", 50}, {"mode", "adaptive"}, {"cpu_ms_per_10s", 1}}}},
          {"peers",
           {beside("beeline", "fill", 1 << 20), beside("iceoryx", "fill", 1 << 20),
            beside("iceoryx", "throughput", 64), beside("iceoryx", "fanin", 64)}}};
}

TEST(Targets, each_has_a_row_that_it_is_read_from) {
  for (const Row& row : target_rows(all_rows())) {
    const std::string reached = cell(row, "reached");
    const bool is_reported = cell(row, "target") == "reported";
    // The target for small messages is less than twice iceoryx.
    const bool is_missed =
        cell(row, "what").find("64 B, one a call, times iceoryx") != std::string::npos;
    EXPECT_EQ(reached, is_reported ? "-" : is_missed ? "no" : "yes") << row;
  }
}

TEST(Targets, better_neighbours_are_listed) {
  const Row pipe{{"peer", "pipe"}, {"better", true}};
  const Row queue{{"peer", "posix-queue"}, {"better", false}};
  EXPECT_EQ(better_rows({{"peers", {queue, pipe, {{"peer", "nng"}, {"skipped", "it"}}}}}),
            std::vector<Row>{pipe});
  EXPECT_TRUE(better_rows({}).empty());
}

TEST(Targets, that_nobody_is_better_is_said_and_how_many_were_not_compared) {
  const auto peer = [](const Row& ratio, bool better) {
    return Row{{"peer", "pipe"}, {"ratio_to_beeline", ratio}, {"better", better}};
  };
  const Row moved{{"peer", "pipe"}, {"ratio_to_beeline", nullptr}};
  const Row skipped{{"peer", "nng"}, {"skipped", "it"}};
  const Row alone{{"peer", "pipe"}};
  EXPECT_EQ(comparison_text({{"peers", {peer(2.0, true), skipped}}}), "");
  EXPECT_EQ(comparison_text({{"peers", {peer(0.5, false), skipped}}}), ": nobody");
  EXPECT_EQ(comparison_text({{"peers", {peer(2.0, true), moved, moved}}}),
            "; 2 rows could not be compared: the limit moved");
  EXPECT_EQ(comparison_text({{"peers", {alone}}}),
            ": nobody; 1 rows have none of Beeline beside them");
}

}  // namespace
}  // namespace beeline::bench
