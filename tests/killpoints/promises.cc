#include "tests/killpoints/promises.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/killpoints/state_floors.h"

namespace beeline::killpoints {
namespace {

constexpr std::uint64_t kLeastScenarios = 285;
constexpr std::uint64_t kLeastScenariosLong = 304;
constexpr std::uint64_t kLeastPreparedStates = 157;
constexpr std::uint64_t kLeastPoints = 300'000;
constexpr std::uint64_t kLeastPointsLong = 1'000'000;
constexpr std::uint64_t kLeastKills = 3'000;
constexpr std::uint64_t kLeastKillsLong = 300'000;
constexpr std::uint64_t kLeastPairs = 500'000;
constexpr std::uint64_t kLeastPairsLong = 1'000'000;
constexpr std::uint64_t kLeastPauses = 5'000;
constexpr std::uint64_t kLeastPausesLong = 150'000;

void expect_states(const Row& row, Summary& summary) {
  const auto* const least =
      std::find_if(kStateFloors.begin(), kStateFloors.end(),
                   [&](const StateFloor& entry) { return row.name == entry.name; });
  if (least == kStateFloors.end()) {
    summary.shortfalls.push_back(fmt::format("{} has no floor; see state_floors.h", row.name));
  } else if (row.tally.states < least->states || row.tally.sender_states < least->sender_states) {
    summary.shortfalls.push_back(fmt::format(
        "{}: {} states, of the sender {}; at least {} and {} are promised; see state_floors.h",
        row.name, row.tally.states, row.tally.sender_states, least->states, least->sender_states));
  }
}

// Every scenario that has a floor was swept; some are for the long form alone.
void expect_all_swept(bool is_long, Summary& summary) {
  for (const StateFloor& wanted : kStateFloors) {
    const bool is_swept = std::any_of(summary.rows.begin(), summary.rows.end(),
                                      [&](const Row& row) { return row.name == wanted.name; });
    if (is_swept || (!is_long && is_for_long_form(wanted.name))) continue;
    summary.shortfalls.push_back(fmt::format("{} was not swept; see state_floors.h", wanted.name));
  }
}

// Every scenario was killed; in the long form at every instruction.
void expect_kills(const Row& row, bool at_all, Summary& summary) {
  if (row.is_pair() || (at_all ? row.tally.whole : row.tally.kills) != 0) return;
  summary.shortfalls.push_back(fmt::format("{}: killed at {} of {} instructions", row.name,
                                           row.tally.kills, row.tally.points));
}

// Every pair, standstill and race stops somewhere; in the long form at every instruction.
void expect_pauses(const Row& row, bool at_all, Summary& summary) {
  if (!row.is_pair()) return;
  const std::uint64_t least = at_all ? row.tally.pause_points : 1;
  if (row.tally.pauses >= least && row.tally.pause_points != 0) return;
  summary.shortfalls.push_back(fmt::format("{}: stopped at {} of {} instructions, promised are {}",
                                           row.name, row.tally.pauses, row.tally.pause_points,
                                           least));
}

void expect_at_least(const char* what, std::uint64_t found, std::uint64_t least, Summary& summary) {
  if (found >= least) return;
  summary.shortfalls.push_back(fmt::format("{} {}, at least {} are promised", found, what, least));
}

}  // namespace

void check_promises(Summary& summary, const Extent& extent) {
  for (const Row& row : summary.rows) {
    if (row.tally.violations != 0) continue;
    expect_states(row, summary);
    expect_pauses(row, extent.is_long, summary);
    expect_kills(row, extent.is_long, summary);
  }
  if (!extent.is_whole) return;
  expect_all_swept(extent.is_long, summary);
  const Tally& total = summary.total;
  const auto least = [&](std::uint64_t in_short, std::uint64_t in_long) {
    return extent.is_long ? in_long : in_short;
  };
  expect_at_least("scenarios", summary.scenarios, least(kLeastScenarios, kLeastScenariosLong),
                  summary);
  expect_at_least("prepared states", summary.prepared_states, kLeastPreparedStates, summary);
  expect_at_least("points", total.points, least(kLeastPoints, kLeastPointsLong), summary);
  expect_at_least("kills", total.kills, least(kLeastKills, kLeastKillsLong), summary);
  expect_at_least("pairs", total.pairs, least(kLeastPairs, kLeastPairsLong), summary);
  expect_at_least("pauses", total.pauses, least(kLeastPauses, kLeastPausesLong), summary);
}

}  // namespace beeline::killpoints
