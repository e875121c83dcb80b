#include "bench/report.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace beeline::bench {
namespace {

using Json = nlohmann::ordered_json;

void print(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

/// 65536 as "64 KiB".
std::string bytes_text(std::size_t bytes) {
  if (bytes != 0 && bytes % (1U << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes != 0 && bytes % (1U << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string note_of(const Outcome& outcome) {
  if (outcome.count < Outcome::kFewest) {
    return fmt::format("  UNSTABLE: only {} of them in the last of {} runs, others use the CPUs",
                       outcome.count, outcome.attempts);
  }
  if (!outcome.stable()) {
    return fmt::format("  UNSTABLE: limit {} before, {} after, in the last of {} runs",
                       outcome.limit.before, outcome.limit.after, outcome.attempts);
  }
  if (outcome.attempts == 1) return "";
  return fmt::format("  run {}: those before were not stable", outcome.attempts);
}

double ratio(const Outcome& outcome) {
  const double limit = outcome.limit.middle();
  return limit > 0.0 ? static_cast<double>(outcome.rtt_ns.p50) / limit : 0.0;
}

double rounded(double value) { return static_cast<double>(static_cast<long>(value * 1e3)) / 1e3; }

Json percentiles_json(const Percentiles& rtt) {
  return {{"p50", rtt.p50}, {"p99", rtt.p99}, {"p999", rtt.p999}, {"max", rtt.max}};
}

}  // namespace

void Report::open(const Cpus& cpus) const {
  std::string where =
      fmt::format("two processes, pinned to CPU {} and CPU {}", cpus.ping, cpus.pong);
  if (cpus.shared()) {
    where =
        fmt::format("two processes on one CPU, {}: nobody spins, the limit is a futex", cpus.ping);
  }
  if (json_) {
    std::fputs((where + "\n").c_str(), stderr);
    return;
  }
  print(where);
  switch (test_) {
    case Test::kLimit:
      print("\nround trip of a word, ns\n");
      print(fmt::format("{:8}  {:10} {:>9} {:>9} {:>9} {:>9}", "mode", "by", "p50", "p99", "p99.9",
                        "max"));
      break;
    case Test::kLatency:
      print("\nround trip of a message, ns; limit: p50 of the bare round trip, in the same run\n");
      print(fmt::format("{:>8} {:9} {:8} {:>9} {:>9} {:>9} {:>9}   {:>9} {:>6}", "size", "payload",
                        "mode", "p50", "p99", "p99.9", "max", "limit", "ratio"));
      break;
    case Test::kThroughput:
      print("\nmessages one way; limit: p50 of the bare round trip in the same run, ns\n");
      print(fmt::format("{:>8} {:9} {:8} {:>12} {:>10}   {:>9}", "size", "payload", "mode",
                        "million/s", "ns each", "limit"));
      break;
  }
}

void Report::add(const Case& what, const Outcome& outcome) const {
  if (json_) {
    add_json(what, outcome);
    return;
  }
  const Percentiles& rtt = outcome.rtt_ns;
  const std::string head = fmt::format("{:>8} {:9} {:8}", bytes_text(what.size),
                                       to_string(what.carry), to_string(what.mode));
  const double limit = outcome.limit.middle();
  switch (test_) {
    case Test::kLimit:
      print(fmt::format("{:8}  {:10} {:9} {:9} {:9} {:9}{}", to_string(what.mode),
                        to_string(what.limit()), rtt.p50, rtt.p99, rtt.p999, rtt.max,
                        note_of(outcome)));
      break;
    case Test::kLatency:
      print(fmt::format("{} {:9} {:9} {:9} {:9}   {:9.0f} {:6.2f}{}", head, rtt.p50, rtt.p99,
                        rtt.p999, rtt.max, limit, ratio(outcome), note_of(outcome)));
      break;
    case Test::kThroughput:
      print(fmt::format("{} {:12.2f} {:10.1f}   {:9.0f}{}", head, outcome.messages_per_s / 1e6,
                        1e9 / outcome.messages_per_s, limit, note_of(outcome)));
      break;
  }
}

void Report::add_json(const Case& what, const Outcome& outcome) const {
  Json row;
  if (test_ != Test::kLimit) row["size"] = what.size;
  row["mode"] = to_string(what.mode);
  if (test_ == Test::kLatency) row["rtt_ns"] = percentiles_json(outcome.rtt_ns);
  if (test_ == Test::kThroughput) {
    row["messages_per_s"] = static_cast<std::uint64_t>(outcome.messages_per_s);
  }
  if (test_ == Test::kLimit) {
    row["limit_rtt_ns"] = percentiles_json(outcome.rtt_ns);
  } else {
    row["limit_rtt_ns"] = {{"p50", outcome.limit.middle()}};
    row["payload"] = to_string(what.carry);
  }
  if (test_ == Test::kLatency) row["ratio_p50"] = rounded(ratio(outcome));
  row["limit_by"] = to_string(what.limit());
  row["limit_before_ns"] = outcome.limit.before;
  row["limit_after_ns"] = outcome.limit.after;
  row["stable"] = outcome.stable();
  row["attempts"] = outcome.attempts;
  row["count"] = outcome.count;
  row["cpus"] = {what.cpus.ping, what.cpus.pong};
  print(row.dump());
}

}  // namespace beeline::bench
