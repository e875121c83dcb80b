// bench/report.py reads each target from fields that the measurements really write. No figure is
// judged.

#include <fstream>
#include <sstream>

#include "src/os/process.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

// The row as if it had been measured at the scale that the targets ask for, beside the neighbour
// that they name, and on a machine with a constant limit. Missing fields stay missing.
json at_full_scale(json row) {
  const auto set = [&row](const char* pointer, const json& value) {
    const json::json_pointer place(pointer);
    if (row.contains(place)) row[place] = value;
  };
  if (row.at("test") == "scale") set("/agents", 1000);
  if (row.at("test") == "idle") set("/agents", 50);
  if (row.value("peer", "") == "pipe") set("/peer", "iceoryx");
  if (row.value("what", "") == "take") set("/rows", 1'000'000);
  set("/limit_rtt_ns/p50", 100);
  set("/ratio_to_beeline", 1.0);
  set("/clock_ns/p50", 0);
  return row;
}

class BenchTargets : public CliTest {
 protected:
  // Keeps the rows of a brief run for the report.
  void measure(std::vector<std::string> words) {
    words.insert(words.end(), {"--seconds", "0.01"});
    measure_all(std::move(words));
  }
  // The same of a test whose length is a number of runs.
  void measure_all(std::vector<std::string> words) {
    words.insert(words.begin(), "beeline-bench");
    words.emplace_back("--json");
    const Outcome outcome = Program(words).wait(std::chrono::seconds(750));
    EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    std::ofstream rows(folder_ + "/rows.jsonl", std::ios::app);
    for (const json& row : json_lines(outcome.out)) rows << at_full_scale(row).dump() << '\n';
  }
};

TEST_F(BenchTargets, are_read_from_the_rows_of_the_measurements) {
  if (os::usable_cpus() == 1) GTEST_SKIP() << "on one CPU nobody polls, as most targets ask for";
  const std::string once = "1";
  measure({"latency", "--size", "16,64,1K", "--mode", "spin", "--attempts", once});
  measure({"latency", "--size", "64,1M", "--untouched", "--mode", "spin", "--attempts", once});
  measure({"throughput", "--size", "64", "--batch", "1,32", "--attempts", once});
  measure({"fanin", "--batch", "1,32", "--attempts", once});
  measure({"wake", "--attempts", once});
  measure({"inbox", "--depth", "100,10000,100000", "--attempts", once});
  measure({"scale", "--agents", "3", "--attempts", once});
  measure({"idle", "--agents", "3"});
#ifdef BEELINE_HAS_SPOOL
  measure({"spool", "--waiting", "10000", "--workers", "8"});
#endif
#ifdef BEELINE_HAS_STEWARD
  measure_all({"spawn", "--runs", "2", "--children", "200", "--rounds", "1"});
#endif
#ifdef BEELINE_HAS_BUFFER
  measure({"buffer", "--rounds", "1", "--runs", "3", "--rows", "300,600"});
#endif
  measure({"peers", "--only", "pipe", "--test", "throughput,fanin", "--size", "64", "--attempts",
           once});
  measure({"peers", "--only", "pipe", "--test", "fill", "--attempts", once});
  std::ofstream(folder_ + "/rows.jsonl", std::ios::app) << run({"beeline-bench", "--tables"}).out;
  const std::string script = std::string(::getenv("BEELINE_SOURCE")) + "/bench/report.py";
  const Outcome report = run({script, folder_ + "/rows.jsonl"});
  EXPECT_EQ(report.code, 0) << report.err;
  std::istringstream targets(report.out.substr(0, report.out.find("\nbetter: ")));
  std::size_t count = 0;
  for (std::string line; std::getline(targets, line); ++count) {
#ifndef BEELINE_HAS_SPOOL
    if (contains(line, "task folder")) continue;
#endif
#ifndef BEELINE_HAS_STEWARD
    if (contains(line, "spawn of")) continue;
#endif
#ifndef BEELINE_HAS_BUFFER
    if (contains(line, "buffer: ")) continue;
#endif
    EXPECT_FALSE(contains(line, "not measured")) << line;
    EXPECT_FALSE(contains(line, "no figure")) << line;
  }
  EXPECT_GT(count, 20U) << report.out;
}

}  // namespace
}  // namespace beeline::test
