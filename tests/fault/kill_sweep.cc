#include "tests/fault/kill_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "tests/fault/event_sweep.h"
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

// In the short form each operation starts at another event, and ends with the last event of the
// last run.
void KillSweep::sweep(const KillOperation& operation, Row& row) {
  sweep_events({.name = operation.name,
                .events = row.calls + row.stores,
                .step = row.step,
                .second = 2 + rows_.size() * 7 % row.step},
               [&](std::uint64_t at) {
                 shoot(operation, at, row);
                 return aim_->killed() != 0;
               });
  const KillOrder& order = aim_->order();
  if (row.step > 1 && !testing::Test::HasFailure()) {
    shoot(operation, order.calls.load() + order.stores.load(), row);
  }
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
