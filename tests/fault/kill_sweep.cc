#include "tests/fault/kill_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "tests/support/soak.h"

namespace beeline::test {

void KillSweep::run(const KillOperation& operation) {
  const auto begin = std::chrono::steady_clock::now();
  Row row;
  row.name = operation.name;
  name_ = operation.name;
  shoot(operation, 0, row);
  row.calls = aim_->order().calls.load();
  row.stores = aim_->order().stores.load();
  EXPECT_GE(row.calls, operation.least_calls)
      << operation.name << ": fewer system calls than it makes; was the victim under the trap?";
  EXPECT_GE(row.stores, operation.least_stores)
      << operation.name << ": fewer stores into segments than it makes; does kill_trap.cc see its "
      << "segments?";
  if (!is_soak()) row.step = std::max(1UL, (row.calls + row.stores) / operation.short_kills);
  sweep(operation, row);
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rows_.push_back(std::move(row));
}

// The first event, every n-th from the second on (in the short form from another one on for each
// operation), to the last of the first run, and on until a run has fewer; and the last of that run.
// Runs differ in length: one that ends early is repeated, and does not end the sweep.
void KillSweep::sweep(const KillOperation& operation, Row& row) {
  constexpr std::uint64_t kMostEvents = 20'000;  // more: it goes round in circles
  constexpr int kTries = 3;                      // to reach an event of the first run
  constexpr std::uint64_t kMayBeShorter = 3;     // one event in so many may not be reached
  const auto is_over = [] { return testing::Test::HasFailure(); };
  const std::uint64_t events = row.calls + row.stores;
  std::uint64_t at = 1;
  std::uint64_t aimed = 0;   // at events of the first run
  std::uint64_t missed = 0;  // of these
  do {
    if (is_over()) return;  // the rest would fail for the same reason
    shoot(operation, at, row);
    if (at <= events) {
      for (int i = 1; i < kTries && aim_->killed() == 0 && !is_over(); ++i)
        shoot(operation, at, row);
      ++aimed;
      missed += aim_->killed() == 0 ? 1 : 0;
    }
    at += at == 1 ? 1 + rows_.size() * 7 % row.step : row.step;
  } while ((at <= events || aim_->killed() != 0) && at < kMostEvents);
  EXPECT_LT(at, kMostEvents) << operation.name << " does not come to its end";
  EXPECT_LE(missed, aimed / kMayBeShorter)
      << operation.name << ": so many of " << aimed << " events of the first run were not reached "
      << "again; what makes the others so much shorter?";
  const KillOrder& order = aim_->order();
  if (!is_over() && row.step > 1) shoot(operation, order.calls.load() + order.stores.load(), row);
}

void KillSweep::shoot(const KillOperation& operation, std::uint64_t at, Row& row) {
  at_ = at;
  operation.act(at);
  const bool was_killed = aim_->killed() != 0;
  const testing::ScopedTrace trace(
      __FILE__, __LINE__, fmt::format("{}, event {}: {}", operation.name, at, aim_->describe()));
  if (was_killed) {
    ++(aim_->order().call >= 0 ? row.killed_at_calls : row.killed_at_stores);
  } else if (at != 0) {
    ++row.not_reached;
  }
  operation.check();
}

std::string KillSweep::where() const {
  return fmt::format("{}, event {}: {}", name_, at_, aim_->describe());
}

std::string KillSweep::table() const {
  std::string text =
      fmt::format("{:<40}{:>7}{:>8}{:>6}{:>15}{:>16}{:>9}{:>8}\n", "operation", "calls", "stores",
                  "step", "kills at calls", "kills at stores", "no more", "s");
  for (const Row& row : rows_) {
    text += fmt::format("{:<40}{:>7}{:>8}{:>6}{:>15}{:>16}{:>9}{:>8.2f}\n", row.name, row.calls,
                        row.stores, row.step, row.killed_at_calls, row.killed_at_stores,
                        row.not_reached, row.seconds);
  }
  return text + fmt::format("{} kills\n", kills());
}

std::uint64_t KillSweep::kills() const {
  std::uint64_t sum = 0;
  for (const Row& row : rows_) sum += row.killed_at_calls + row.killed_at_stores;
  return sum;
}

}  // namespace beeline::test
