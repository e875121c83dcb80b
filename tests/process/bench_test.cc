// beeline-bench: each test runs, and its rows hold the fields that readers and programs rely on. No
// figure is judged.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/cpus.h"
#include "tests/support/program.h"

namespace beeline::test {
namespace {

using nlohmann::json;
using Pointers = std::vector<const char*>;

// Every figure needs these conditions beside it.
const Pointers kConditions{"/test",           "/mode",   "/limit_rtt_ns/p50", "/limit_before_ns",
                           "/limit_after_ns", "/stable", "/attempts",         "/cpus"};

class BenchTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path place = std::filesystem::temp_directory_path();
    place_ = place.string();
    std::string pattern = (place / "bench-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    // The scratch hives of the programs under test lie here.
    ASSERT_EQ(::setenv("TMPDIR", folder_.c_str(), 1), 0);
  }
  void TearDown() override {
    EXPECT_EQ(processes_with("TMPDIR", folder_), std::vector<pid_t>()) << "left running";
    std::filesystem::remove_all(folder_);
    ::setenv("TMPDIR", place_.c_str(), 1);
  }

  // The rows of a run, which must succeed; one JSON object a line and nothing else.
  [[nodiscard]] static std::vector<json> rows(std::vector<std::string> words) {
    words.insert(words.begin(), "beeline-bench");
    words.emplace_back("--json");
    const Outcome outcome = run(std::move(words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<json> found;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      found.push_back(json::parse(line, nullptr, false));
      EXPECT_TRUE(found.back().is_object()) << "not a JSON object: " << line;
    }
    return found;
  }
  // The only row of a run.
  [[nodiscard]] static json row(std::vector<std::string> words) {
    const auto found = rows(std::move(words));
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? json::object() : found.front();
  }
  static void expect_all(const json& row, const Pointers& pointers) {
    for (const char* const pointer : pointers) {
      EXPECT_TRUE(row.contains(json::json_pointer(pointer)))
          << "no " << pointer << " in " << row.dump();
    }
  }
  // Fields that are numbers above zero.
  static void expect_positive(const json& row, const Pointers& pointers) {
    expect_all(row, pointers);
    for (const char* const pointer : pointers) {
      const json value = row.value(json::json_pointer(pointer), json());
      EXPECT_TRUE(value.is_number() && value > 0) << pointer << " is " << value;
    }
  }

  // The spread of a stream. The slowest window may be empty.
  static void expect_windows(const json& row) {
    expect_all(row, {"/window_messages_per_s/min"});
    expect_positive(row, {"/window_messages_per_s/max"});
    const json windows = row.value("window_messages_per_s", json::object());
    EXPECT_LE(windows.value("min", -1.0), windows.value("p50", -1.0)) << row;
    EXPECT_LE(windows.value("p50", -1.0), windows.value("max", -1.0)) << row;
  }

  [[nodiscard]] std::string in_folder(const std::string& name) const {
    return folder_ + "/" + name;
  }

  std::string folder_;
  std::string place_;
};

TEST_F(BenchTest, LimitNamesTheMachine) {
  const json found = row({"limit", "--mode", "spin", "--seconds", "0.02"});
  expect_all(found, kConditions);
  expect_positive(found, {"/limit_rtt_ns/p50", "/limit_rtt_ns/p99", "/limit_rtt_ns/max"});
  expect_all(found, {"/machine/cpu", "/machine/cpus", "/machine/kernel", "/machine/governor",
                     "/machine/compiler"});
}

TEST_F(BenchTest, LatencyIsMeasuredOnceWithEachHistory) {
  const auto found = rows({"latency", "--size", "64", "--mode", "sleep", "--seconds", "0.02",
                           "--history", "off,previews,off"});
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_positive(found[i], {"/rtt_ns/p50", "/ratio_p50"});
    EXPECT_EQ(found[i].value("history", ""), i == 1 ? "previews" : "off");
  }
}

TEST_F(BenchTest, LatencyHasPercentilesTheLimitAndTheRatio) {
  const std::string histogram = in_folder("latency.hgrm");
  const json found =
      row({"latency", "--size", "64", "--mode", "sleep", "--seconds", "0.02", "--hist", histogram});
  expect_all(found, kConditions);
  expect_positive(found, {"/rtt_ns/p50", "/rtt_ns/p99", "/rtt_ns/p999", "/rtt_ns/max",
                          "/limit_rtt_ns/p50", "/ratio_p50"});
  EXPECT_EQ(found.value("size", 0), 64);
  EXPECT_EQ(found.value("mode", ""), "sleep");
  std::ifstream saved(histogram);
  std::string head;
  std::getline(saved, head);
  EXPECT_NE(head.find("1/(1-Percentile)"), std::string::npos) << "not a histogram: " << head;
}

TEST_F(BenchTest, LatencyOfARequestIsThatOfAQuestionAndItsAnswer) {
  for (const auto& [text, size] : {std::pair("64", 64), std::pair("1K", 1024)}) {
    const json found =
        row({"latency", "--size", text, "--request", "--mode", "adaptive", "--seconds", "0.02"});
    expect_positive(found, {"/rtt_ns/p50", "/limit_rtt_ns/p50", "/ratio_p50"});
    EXPECT_EQ(found.value("size", 0), size);
    EXPECT_EQ(found.value("payload", ""), "request");
    EXPECT_EQ(found.value("how", ""), "adaptive, request");
  }
}

TEST_F(BenchTest, LatencyAtARateCountsEachMessageThatWasDue) {
  const json found =
      row({"latency", "--size", "16", "--mode", "adaptive", "--rate", "5000", "--seconds", "0.04"});
  EXPECT_EQ(found.value("count", 0), 200) << "5000 a second for 0.04 s";
  expect_all(found, {"/sent_late_ns/p50", "/sent_late_ns/p99", "/rtt_ns/p50", "/rate"});
}

TEST_F(BenchTest, EachOfSeveralRowsHasAHistogramAndOneOfItsLimit) {
  const auto found = rows({"latency", "--size", "16,64", "--mode", "sleep", "--seconds", "0.02",
                           "--attempts", "1", "--hist", in_folder("rows.hgrm")});
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string stem = "rows-" + std::to_string(i + 1);
    EXPECT_EQ(found[i].value("attempts", 0), 1);
    EXPECT_EQ(found[i].value("hist", ""), stem + ".hgrm");
    EXPECT_EQ(found[i].value("limit_hist", ""), stem + "-limit.hgrm");
    EXPECT_GT(std::filesystem::file_size(in_folder(stem + ".hgrm")), 0U);
    EXPECT_GT(std::filesystem::file_size(in_folder(stem + "-limit.hgrm")), 0U);
  }
}

TEST_F(BenchTest, ThroughputHasMessagesASecondAndALook) {
  const json found = row({"throughput", "--size", "64", "--mode", "adaptive", "--seconds", "0.05"});
  expect_all(found, kConditions);
  expect_positive(found, {"/size", "/messages_per_s", "/limit_rtt_ns/p50"});
  expect_all(found, {"/messages_per_look"});
  expect_windows(found);
}

TEST_F(BenchTest, StreamsAreReceivedOneByOneAndInBatches) {
  for (const char* test : {"throughput", "fanin"}) {
    const auto found = rows({test, "--size", "64", "--batch", "1,32", "--seconds", "0.05"});
    ASSERT_EQ(found.size(), 2U) << test;
    EXPECT_EQ(found[0].value("batch", 0), 1);
    EXPECT_EQ(found[0].value("how", ""), "spin");
    EXPECT_EQ(found[1].value("batch", 0), 32);
    EXPECT_EQ(found[1].value("how", ""), "spin, 32 a call");
    for (const json& each : found) expect_positive(each, {"/messages_per_s"});
  }
}

TEST_F(BenchTest, FanInHasSeveralSenders) {
  const json found = row({"fanin", "--mode", "adaptive", "--seconds", "0.05"});
  expect_all(found, kConditions);
  expect_positive(found, {"/size", "/messages_per_s", "/limit_rtt_ns/p50"});
  expect_windows(found);
  EXPECT_EQ(found.value("senders", 0), 3);
  EXPECT_EQ(found.value("cpus", json::array()).size(), 4U) << "one for each process";
}

TEST_F(BenchTest, FanOutSendsAndBroadcasts) {
  const auto found = rows({"fanout", "--receivers", "2", "--seconds", "0.05"});
  ASSERT_EQ(found.size(), 2U);
  for (const json& each : found) {
    expect_all(each, kConditions);
    expect_positive(each, {"/messages_per_s", "/receivers"});
    expect_windows(each);
  }
  EXPECT_EQ(found[0].value("by", ""), "send");
  EXPECT_EQ(found[1].value("by", ""), "broadcast");
}

TEST_F(BenchTest, TasksForSeveralChildrenAreNextToAsManyFutexes) {
  const auto found = rows({"together", "--children", "1,3", "--seconds", "0.05"});
  ASSERT_EQ(found.size(), 2U);
  for (const json& each : found) {
    expect_all(each, kConditions);
    expect_positive(each, {"/children", "/rtt_ns/p50", "/limit_rtt_ns/p50", "/ratio_p50"});
  }
  EXPECT_EQ(found[0].value("limit_by", ""), "futex");
  EXPECT_EQ(found[1].value("limit_by", ""), "futexes");
}

TEST_F(BenchTest, WakeIsNextToTheRawPrimitive) {
  const auto found = rows({"wake", "--seconds", "0.05"});
  ASSERT_EQ(found.size(), 2U);
  for (const json& each : found) {
    expect_all(each, kConditions);
    expect_positive(each, {"/rtt_ns/p50", "/raw_rtt_ns/p50", "/ratio_p50"});
  }
  EXPECT_EQ(found[0].value("by", ""), "futex");
  EXPECT_EQ(found[1].value("by", ""), "eventfd");
}

TEST_F(BenchTest, InboxHasARowForEachDepth) {
  const auto found = rows({"inbox", "--depth", "100,1000", "--seconds", "0.02"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].value("depth", 0), 100);
  EXPECT_EQ(found[1].value("depth", 0), 1000);
  for (const json& each : found) {
    expect_all(each, kConditions);
    expect_positive(each, {"/take_ns/p50", "/take_ns/max", "/clock_ns/p50"});
  }
}

TEST_F(BenchTest, PrimitivesHaveARowForEachPart) {
  const auto found = rows({"primitives", "--seconds", "0.01"});
  std::vector<std::string> parts;
  for (const json& each : found) {
    expect_all(each, {"/test", "/what", "/cpus"});
    expect_positive(each, {"/ns/min", "/ns/p50", "/ns/max", "/iterations"});
    EXPECT_EQ(each.value("repetitions", 0), 5);
    parts.push_back(each.value("what", ""));
    if (each.contains("depth")) parts.back() += fmt::format(" {}", each.value("depth", 0));
  }
  const std::vector<std::string> expected{"copy 128 bytes",
                                          "full fence",
                                          "coarse clock",
                                          "ticks",
                                          "lane: publish, take",
                                          "fence, ring the awake",
                                          "slab: take, free",
                                          "inbox: put, take, done 10",
                                          "inbox: put, take, done 1000",
                                          "inbox: put, take, done 100000",
                                          "index: push, pop 1000",
                                          "index: push, pop 100000",
                                          "directory: word 1000",
                                          "directory: record 1000",
                                          "verify a link",
                                          "histogram: record",
                                          "agent: send",
                                          "agent: receive",
                                          "agent: done",
                                          "agent: receive, read, done"};
  EXPECT_EQ(parts, expected);
}

TEST_F(BenchTest, ScaleCountsTheCostOfAgents) {
  const json found =
      row({"scale", "--agents", "5", "--all-to-all", "--lives", "3", "--seconds", "0.02"});
  expect_all(found, kConditions);
  expect_positive(
      found, {"/attach_us/p50", "/resident_kib_per_agent", "/first_rtt_ns", "/last_rtt_ns",
              "/fds_of_agent", "/mappings_of_agent", "/page_table_kib_of_agent", "/hive_start_ms",
              "/talk_ms", "/life_us/p50", "/count"});
  EXPECT_EQ(found.value("agents", 0), 5);
  EXPECT_EQ(found.value("talk_links", 0), 20) << "each of five to each of the others";
}

TEST_F(BenchTest, HowManyLivesAnAgentHadDoesNotShowInTheHive) {
  const auto grown = [](const char* lives) {
    const json found = row({"scale", "--agents", "1", "--lives", lives, "--seconds", "0.01"});
    EXPECT_EQ(std::to_string(found.value("lives", 0)), lives);
    expect_positive(found, {"/lives_kib_grown", "/lives_fds_grown"});
    return std::pair(found.value("lives_kib_grown", 0), found.value("lives_fds_grown", 0));
  };
  // One agent is left, which may come again, and its two links; a link of the last lives may be
  // about to go. One page or descriptor for each of the 180 further lives would be ten times this.
  const auto [few_kib, few_fds] = grown("20");
  const auto [many_kib, many_fds] = grown("200");
  EXPECT_LT(many_kib - few_kib, 72);
  EXPECT_LT(many_fds - few_fds, 18);
}

TEST_F(BenchTest, IdleReadsTheCpuTimeOfAll) {
  const json found = row({"idle", "--agents", "3", "--seconds", "0.1"});
  expect_all(found, {"/cpu_ms_per_10s", "/coordinator_ms_per_10s", "/mode", "/cpus"});
  expect_positive(found, {"/cpu_ms_before"});
  EXPECT_EQ(found.value("agents", 0), 3);
}

#ifdef BEELINE_HAS_BUFFER
TEST_F(BenchTest, BufferStandsBesideTheDiskAndOtherStores) {
  const auto found = rows({"buffer", "--dir", folder_, "--senders", "3", "--rounds", "1", "--runs",
                           "2", "--rows", "300,200", "--seconds", "0.05"});
  std::string story;
  for (const json& row : found) {
    story += row.value("what", "") + ' ' + row.value("store", "") + ", ";
    if (row.contains("skipped")) {
      EXPECT_TRUE(row.at("store") == "redis streams" || row.at("store") == "nats jetstream") << row;
      continue;
    }
    expect_positive(row, {"/ratio"});
    if (row.at("what") == "take") {
      expect_positive(row,
                      {"/us/p50", "/us/p99", "/rows", "/count", "/commit_us/p50", "/first_us/p50"});
      continue;
    }
    expect_all(row, {"/promise"});
    if (row.at("what") == "commit") {
      expect_positive(row, {"/us/p50", "/us/p99", "/bytes", "/count", "/raw_us/p50"});
    }
    if (row.at("what") == "rate") {
      expect_all(row, {"/version", "/round_per_s/min", "/round_per_s/max"});
      expect_positive(row, {"/per_s", "/sqlite_per_s", "/senders"});
    }
  }
  EXPECT_EQ(story,
            "commit write and fdatasync, commit sqlite, commit beeline, rate sqlite, rate sqlite, "
            "rate beeline, rate redis streams, rate nats jetstream, take beeline, take beeline, ");
  EXPECT_EQ(run({"beeline-bench", "buffer", "--dir", in_folder("none")}).code, 2);
}
#endif

#ifdef BEELINE_HAS_SPOOL
TEST_F(BenchTest, SpoolHasEachStepBesideItsRawCalls) {
  const auto found =
      rows({"spool", "--dir", folder_, "--waiting", "5", "--workers", "1,3", "--seconds", "0.01"});
  ASSERT_EQ(found.size(), 7U);
  std::string story;
  for (const json& row : found) {
    story += row.value("what", "") + ", ";
    expect_positive(row, {"/waiting", "/ratio"});
    if (row.contains("workers")) {
      expect_positive(row, {"/tasks_per_s", "/raw_tasks_per_s"});
    } else {
      expect_positive(row, {"/us/p50", "/us/p99", "/raw_us/p50", "/count"});
    }
  }
  EXPECT_EQ(story, "first claim, put, claim, claim, 2 new, complete, workers, workers, ");
  EXPECT_EQ(run({"beeline-bench", "spool", "--dir", in_folder("none")}).code, 2);
}
#endif

// A table for people, and its columns for bench/report.py.
TEST_F(BenchTest, TablesNameTheColumnsOfEachTest) {
  const Outcome outcome = run({"beeline-bench", "--tables"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const json table = json::parse(line, nullptr, false);
    expect_all(table, {"/table", "/about", "/columns/0/title", "/columns/0/value",
                       "/columns/0/width", "/columns/0/scale", "/columns/0/digits",
                       "/columns/0/is_size", "/columns/0/is_left"});
    names.push_back(table.value("table", ""));
  }
  const std::vector<std::string> expected{"limit",      "latency",  "throughput", "fanin",
                                          "fanout",     "together", "wake",       "inbox",
                                          "primitives", "scale",    "idle",       "peers"};
  std::erase(names, "buffer");  // only programs with the durable buffer have it
  std::erase(names, "spool");   // only programs with the task folder have it
  std::erase(names, "spawn");   // only programs with the steward have it
  EXPECT_EQ(names, expected);
}

TEST_F(BenchTest, ARowHasTheNoteOfTheTable) {
  const std::vector<std::string> words{"latency", "--size",     "16",  "--mode",
                                       "sleep",   "--rate",     "500", "--seconds",
                                       "0.02",    "--attempts", "1"};
  const json found = row(words);
  EXPECT_EQ(found.value("count", 0), 10);
  const std::string note = "UNSTABLE: only 10 of them in the last of 1 runs, others use the CPUs";
  EXPECT_EQ(found.value("note", ""), note);
  const json stable = row({"limit", "--mode", "spin", "--seconds", "0.02"});
  EXPECT_NE(stable.contains("note"),
            stable.value("stable", false) && stable.value("attempts", 0) == 1);
}

TEST_F(BenchTest, HelpSaysWhatATestTakesAndMeasuresWithout) {
  const std::string help = run({"beeline-bench", "throughput", "--help"}).out;
  for (const char* const text : {"--pin CPU,...", "=64,1024", "=spin", "--attempts"}) {
    EXPECT_NE(help.find(text), std::string::npos) << "no \"" << text << "\" in " << help;
  }
  const auto found = rows(
      {"throughput", "--pin", std::to_string(first_cpu()), "--seconds", "0.02", "--attempts", "1"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].value("size", 0), 64);
  EXPECT_EQ(found[1].value("size", 0), 1024);
  EXPECT_EQ(found[0].value("cpus", json()), json({first_cpu(), first_cpu()}))
      << "one CPU was named";
}

TEST_F(BenchTest, AMeasurementWithoutALimitIsNotRepeated) {
  for (const char* const test : {"idle", "primitives"}) {
    const Outcome outcome = run({"beeline-bench", test, "--attempts", "2"});
    EXPECT_EQ(outcome.code, 2) << test;
    EXPECT_EQ(run({"beeline-bench", test, "--help"}).out.find("limit"), std::string::npos) << test;
  }
}

TEST_F(BenchTest, WrongUseIsExitCode2AndSaysWhatIsRight) {
  EXPECT_EQ(run({"beeline-bench"}).code, 2);
  EXPECT_EQ(run({"beeline-bench", "latency", "--mode", "fast"}).code, 2);
  for (const char* const other : {"--untouched", "--rate=5"}) {
    const Outcome both = run({"beeline-bench", "latency", "--request", other});
    EXPECT_EQ(both.code, 2);
    EXPECT_NE(both.err.find("--request"), std::string::npos) << both.err;
  }
  const Outcome nowhere = run({"beeline-bench", "limit", "--mode", "spin", "--seconds", "0.01",
                               "--hist", in_folder("none/x")});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_NE(nowhere.err.find("cannot write the histogram to"), std::string::npos) << nowhere.err;
}

}  // namespace
}  // namespace beeline::test
