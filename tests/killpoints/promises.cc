#include "tests/killpoints/promises.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/killpoints/expected_states.h"

namespace beeline::killpoints {
namespace {

constexpr std::uint64_t kLeastScenarios = 299;
constexpr std::uint64_t kLeastPreparedStates = 152;
constexpr std::uint64_t kLeastPoints = 300'000;
constexpr std::uint64_t kLeastKills = 50'000;
constexpr std::uint64_t kLeastPairs = 1'000'000;
constexpr std::uint64_t kLeastPauses = 5'000;
constexpr std::uint64_t kLeastPausesLong = 150'000;

void expect_states(const Row& row, Summary& summary) {
  const auto& all = kExpectedStates;
  const auto expected = std::find_if(
      all.begin(), all.end(), [&](const ExpectedStates& entry) { return row.name == entry.name; });
  const ExpectedStates wanted = expected == all.end() ? ExpectedStates{} : *expected;
  // For a compiler without recorded numbers the others are about right.
  const auto enough = [](std::uint64_t found, std::uint64_t least) {
    return kCountsAreExact ? found == least : found >= (least + 1) / 2;
  };
  if (wanted.states != 0 && enough(row.tally.states, wanted.states) &&
      enough(row.tally.sender_states, wanted.sender_states)) {
    return;
  }
  summary.shortfalls.push_back(
      fmt::format("{}: {} states, of the sender {}; expected {}{} and {}; see expected_states.h",
                  row.name, row.tally.states, row.tally.sender_states,
                  kCountsAreExact ? "" : "at least half of ", wanted.states, wanted.sender_states));
}

// Every scenario with recorded numbers was swept.
void expect_all_swept(Summary& summary) {
  for (const ExpectedStates& wanted : kExpectedStates) {
    const bool is_swept = std::any_of(summary.rows.begin(), summary.rows.end(),
                                      [&](const Row& row) { return row.name == wanted.name; });
    if (is_swept) continue;
    summary.shortfalls.push_back(
        fmt::format("{} was not swept; see expected_states.h", wanted.name));
  }
}

// Each operation has a scenario that was killed at every instruction.
void expect_whole_kills(Summary& summary) {
  for (const Row& row : summary.rows) {
    if (row.is_pair()) continue;
    const auto is_same = [&](const Row& other) {
      return !other.is_pair() &&
             other.scenario->operation->code() == row.scenario->operation->code();
    };
    const auto first = std::find_if(summary.rows.begin(), summary.rows.end(), is_same);
    if (&*first != &row) continue;
    const bool is_whole =
        std::any_of(summary.rows.begin(), summary.rows.end(),
                    [&](const Row& other) { return is_same(other) && other.tally.whole != 0; });
    if (is_whole) continue;
    summary.shortfalls.push_back(fmt::format(
        "{}: no scenario of it was killed at every instruction", row.scenario->operation->name));
  }
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
  }
  expect_whole_kills(summary);
  if (!extent.is_whole) return;
  expect_all_swept(summary);
  const Tally& total = summary.total;
  expect_at_least("scenarios", summary.scenarios, kLeastScenarios, summary);
  expect_at_least("prepared states", summary.prepared_states, kLeastPreparedStates, summary);
  expect_at_least("points", total.points, kLeastPoints, summary);
  expect_at_least("kills", total.kills, kLeastKills, summary);
  expect_at_least("pairs", total.pairs, kLeastPairs, summary);
  expect_at_least("pauses", total.pauses, extent.is_long ? kLeastPausesLong : kLeastPauses,
                  summary);
}

}  // namespace beeline::killpoints
