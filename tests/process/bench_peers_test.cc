// beeline-bench peers: the fields of its rows, the neighbours that it names as skipped, and that it
// leaves nothing behind. No figure is asserted. With BEELINE_SOAK=1 a missing neighbour skips the
// test.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "tests/process/cli_fixture.h"
#include "tests/support/cpus.h"
#include "tests/support/soak.h"

namespace beeline::test {
namespace {

using Names = std::set<std::string>;

const Names kAlwaysThere = {"beeline", "boost-queue", "boost-ring",
                            "pipe",    "posix-queue", "unix-socket"};
const Names kOptional = {"aeron", "iceoryx", "nats", "nng", "redis", "zeromq"};
const Names kNotInDebian = {"aeron"};

class BenchPeers : public CliTest {
 protected:
  // Runs it, expects exit code 0, and returns its rows.
  static std::vector<json> rows_of(std::vector<std::string> words) {
    words.insert(words.begin(), {"beeline-bench", "peers", "--json", "--seconds", "0.01"});
    const Outcome outcome = Program(words).wait(std::chrono::seconds(750));
    EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    return json_lines(outcome.out);
  }

  void expect_nothing_left_soon() const {
    const auto is_left = [this] {
      return !std::filesystem::is_empty(folder_) || !processes_with("TMPDIR", folder_).empty();
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (is_left()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end)
          << "files or processes are left: " << folder_;
      ::usleep(2000);
    }
  }
};

// The fields of every measured row, and those of its kind alone.
void expect_fields(const json& row) {
  SCOPED_TRACE(row.dump());
  const bool is_round_trip = row.at("kind") == "latency" || row.at("kind") == "wake";
  if (is_round_trip) {
    const json& rtt = row.at("rtt_ns");
    EXPECT_GT(rtt.at("p50"), 0);
    EXPECT_LE(rtt.at("p50"), rtt.at("p99"));
    EXPECT_LE(rtt.at("p99"), rtt.at("p999"));
    EXPECT_LE(rtt.at("p999"), rtt.at("max"));
  } else {
    EXPECT_GT(row.at("messages_per_s"), 0);
    const json& windows = row.at("window_messages_per_s");
    EXPECT_TRUE(windows.at("min").is_number());
    EXPECT_LE(windows.at("min"), windows.at("p50"));
    EXPECT_LE(windows.at("p50"), windows.at("max"));
    EXPECT_EQ(row.at("senders"), row.at("kind") == "fanin" ? 3 : 1);
    if (row.at("kind") == "fill") {
      EXPECT_GT(row.at("gb_per_s"), 0);
      EXPECT_GT(row.at("limit_gb_per_s"), 0);
    }
  }
  EXPECT_EQ(row.at("size"), 64);
  EXPECT_GT(row.at("limit_before_ns"), 0);
  EXPECT_GT(row.at("limit_after_ns"), 0);
  EXPECT_GT(row.at("limit_rtt_ns").at("p50"), 0);
  EXPECT_EQ(row.at("limit_by"), row.at("mode") == "sleep" ? "futex" : "cache line");
  EXPECT_GT(row.at("beeline_limit_rtt_ns"), 0);
  EXPECT_GT(row.at(is_round_trip ? "beeline_rtt_ns" : "beeline_messages_per_s"), 0);
  // Null if the machine changed in between, see ratio_test.
  EXPECT_TRUE(row.at("ratio_to_beeline").is_null() || row.at("ratio_to_beeline") > 0);
  EXPECT_EQ(row.contains("better"), row.at("ratio_to_beeline").is_number());
  if (row.at("peer") == "beeline") {
    EXPECT_EQ(row.at("ratio_to_beeline"), 1);
    EXPECT_EQ(row.at("beeline_limit_rtt_ns"), row.at("limit_rtt_ns").at("p50"));
  }
  EXPECT_TRUE(row.at("stable").is_boolean());
  EXPECT_GE(row.at("attempts"), 1);
  EXPECT_GT(row.at("count"), 0);
  EXPECT_EQ(row.at("cpus").size(), 2U);
  EXPECT_NE(row.at("version"), "");
  for (const auto& [peer, server] :
       {std::pair("redis", ", redis-server "), std::pair("nats", ", nats-server ")}) {
    if (row.at("peer") != peer) continue;
    const std::string version = row.at("version");
    const auto at = version.find(server);
    EXPECT_TRUE(at != std::string::npos && version.find_first_of("0123456789", at) < version.npos);
  }
}

TEST_F(BenchPeers, measure_each_peer_in_each_test_or_name_it_as_skipped) {
  std::map<std::string, Names> measured;  // by peer: "test mode"
  Names skipped;
  for (const json& row : rows_of({"--size", "64"})) {
    const std::string peer = row.at("peer");
    if (row.contains("skipped")) {
      EXPECT_NE(row.at("skipped"), "") << "no reason why " << peer << " was skipped";
      skipped.insert(peer);
      continue;
    }
    expect_fields(row);
    const std::string what =
        row.at("kind").get<std::string>() + ' ' + row.at("mode").get<std::string>();
    EXPECT_TRUE(measured[peer].insert(what).second) << peer << " has two rows of " << what;
  }
  // With one CPU there is no polling.
  const bool can_poll = measured["beeline"].count("latency spin") == 1;
  const Names sleeping = {"wake sleep", "throughput sleep", "fanin sleep"};
  const Names polling = {"latency spin", "throughput spin", "fanin spin", "fill spin"};
  for (const std::string& peer : kAlwaysThere) {
    EXPECT_EQ(skipped.count(peer), 0U) << peer << " needs no package";
    Names expected = peer == "boost-ring" ? Names() : sleeping;
    if (can_poll) expected.insert(polling.begin(), polling.end());
    EXPECT_EQ(measured[peer], expected) << peer;
  }
  for (const std::string& peer : kOptional) {
    if (skipped.count(peer) == 1) {
      EXPECT_EQ(measured.count(peer), 0U) << peer << " was named as skipped";
      continue;
    }
    Names expected = peer == "aeron" ? Names() : sleeping;
    const bool polls = peer == "aeron" || peer == "iceoryx";
    if (can_poll && polls) expected.insert(polling.begin(), polling.end());
    EXPECT_EQ(measured[peer], expected) << peer << " is there: every row, or the reason why not";
  }
  expect_nothing_left_soon();
  for (const std::string& peer : kNotInDebian) skipped.erase(peer);
  if (is_soak() && !skipped.empty()) {
    GTEST_SKIP() << "not measured: " << testing::PrintToString(skipped)
                 << "; scripts/setup soak installs every neighbour";
  }
}

TEST_F(BenchPeers, measures_beeline_beside_those_that_are_named) {
  Names seen;
  for (const json& row : rows_of({"--only", "pipe", "--test", "wake", "--size", "64"})) {
    seen.insert(row.at("peer"));
  }
  EXPECT_EQ(seen, (Names{"beeline", "pipe"}));
}

TEST_F(BenchPeers, names_the_limit_that_a_peer_cannot_pass) {
  // Larger than the system allows, even for root.
  const auto rows = rows_of({"--only", "posix-queue", "--test", "wake", "--size", "32M"});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].contains("rtt_ns")) << rows[0];
  EXPECT_EQ(rows[1].at("peer"), "posix-queue");
  EXPECT_EQ(rows[1].at("size"), 32 << 20);
  EXPECT_TRUE(contains(rows[1].at("skipped"), "msgsize_max")) << rows[1];
}

TEST_F(BenchPeers, leave_no_server_and_no_file_when_they_are_killed) {
  Program bench({"beeline-bench", "peers", "--json", "--seconds", "1", "--size", "64"});
  // The hive and the servers run; each further row still takes a second.
  bench.wait_for("rtt_ns");
  EXPECT_FALSE(std::filesystem::is_empty(folder_));
  bench.signal(SIGKILL);
  EXPECT_EQ(bench.wait().code, 128 + SIGKILL);
  expect_nothing_left_soon();
}

TEST_F(BenchPeers, name_the_tests_that_one_CPU_cannot_run) {
  const std::string cpu = std::to_string(first_cpu());
  const Outcome outcome =
      run({"beeline-bench", "peers", "--json", "--test", "fill,latency,wake", "--only", "pipe",
           "--size", "64", "--seconds", "0.01", "--pin", cpu});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* const test : {"fill", "latency"}) {
    EXPECT_TRUE(contains(outcome.err, std::string(test) + " spin: not measured")) << outcome.err;
  }
  for (const json& row : json_lines(outcome.out)) EXPECT_EQ(row.at("kind"), "wake");
}

TEST_F(BenchPeers, refuse_a_name_that_nobody_has) {
  const Outcome outcome = run({"beeline-bench", "peers", "--only", "carrier-pigeon"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "carrier-pigeon")) << outcome.err;
}

}  // namespace
}  // namespace beeline::test
