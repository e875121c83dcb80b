#include "tests/killpoints/report.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace beeline::killpoints {
namespace {

void print_violation(const Row& row, bool is_long) {
  const Violation& first = row.tally.first;
  fmt::print("VIOLATION {}: {} after instruction {}", row.name, first.kind, first.step);
  if (first.other != 0) fmt::print(" (the sender after {})", first.other);
  if (first.at != 0) fmt::print(", before beeline-killpoints+0x{:x}", first.at);
  fmt::print("\n  {}\n", first.text);
  if (row.tally.violations > 1) fmt::print("  and {} more\n", row.tally.violations - 1);
  if (row.is_pair()) {
    fmt::print("  again: beeline-killpoints{} --scenario {}\n", is_long ? " --long" : "", row.name);
  } else {
    fmt::print("  again: beeline-killpoints --scenario {} --at {}\n", row.name, first.step);
  }
}

nlohmann::json json_of(const Row& row) {
  const Tally& tally = row.tally;
  nlohmann::json json = {{"name", row.name},
                         {"seconds", tally.seconds},
                         {"violations", tally.violations},
                         {"states", tally.states}};
  if (row.is_pair()) {
    json["pairs"] = tally.pairs;
    json["pauses"] = tally.pauses;
    json["pause_points"] = tally.pause_points;
    json["sender_states"] = tally.sender_states;
  } else {
    json["prepared"] = tally.prepared;
    json["points"] = tally.points;
    json["kills"] = tally.kills;
    json["killed_whole"] = tally.whole != 0;
  }
  if (tally.violations != 0) {
    json["first"] = {{"kind", tally.first.kind},
                     {"at", tally.first.step},
                     {"sender_at", tally.first.other},
                     {"offset", tally.first.at},
                     {"text", tally.first.text}};
  }
  return json;
}

}  // namespace

void print_table(const Summary& summary) {
  fmt::print("{:<44} {:>9} {:>7} {:>6} {:>9} {:>7} {:>8}\n", "scenario", "points", "states",
             "kills", "pairs", "pauses", "seconds");
  for (const Row& row : summary.rows) {
    const Tally& tally = row.tally;
    fmt::print("{:<44} {:>9} {:>7} {:>6} {:>9} {:>7} {:>8.3f}\n", row.name, tally.points,
               tally.states, tally.kills, tally.pairs, tally.pauses, tally.seconds);
  }
  const Tally& total = summary.total;
  fmt::print("{:<44} {:>9} {:>7} {:>6} {:>9} {:>7} {:>8.1f}\n",
             fmt::format("{} scenarios", summary.scenarios), total.points, total.states,
             total.kills, total.pairs, total.pauses, summary.wall_seconds);
  for (const Row& row : summary.rows) {
    if (row.tally.violations != 0) print_violation(row, summary.is_long);
  }
  for (const std::string& text : summary.shortfalls) fmt::print("SHORTFALL {}\n", text);
  fmt::print("the scenarios begin in {} different states of the segments\n",
             summary.prepared_states);
  fmt::print("{} of {} scenarios were killed for real at every instruction\n", total.whole,
             summary.scenarios);
  fmt::print("one of two ends was stopped at {} of {} instructions\n", total.pauses,
             total.pause_points);
  fmt::print("{} violations, {:.1f} s, {:.1f} s of CPU\n", total.violations, summary.wall_seconds,
             summary.cpu_seconds);
  std::fflush(stdout);
}

void print_json(const Summary& summary) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : summary.rows) rows.push_back(json_of(row));
  const Tally& total = summary.total;
  const nlohmann::json json = {{"scenarios", summary.scenarios},
                               {"prepared_states", summary.prepared_states},
                               {"points", total.points},
                               {"states", total.states},
                               {"kills", total.kills},
                               {"killed_whole", total.whole},
                               {"pairs", total.pairs},
                               {"pauses", total.pauses},
                               {"pause_points", total.pause_points},
                               {"violations", total.violations},
                               {"shortfalls", summary.shortfalls},
                               {"seconds", summary.wall_seconds},
                               {"cpu_seconds", summary.cpu_seconds},
                               {"rows", rows}};
  std::puts(json.dump(1).c_str());
}

}  // namespace beeline::killpoints
