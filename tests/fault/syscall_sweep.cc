#include "tests/fault/syscall_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "tests/fault/event_sweep.h"
#include "tests/support/soak.h"

namespace beeline::test {

void SyscallSweep::run(const Operation& operation) {
  const auto begin = std::chrono::steady_clock::now();
  Row row;
  row.name = operation.name;
  name_ = operation.name;
  const std::uint32_t calls = shoot(operation, 0, 0, row).calls;
  const bool one_error = operation.short_step != 0 && !is_soak();
  const std::uint32_t step = one_error ? operation.short_step : 1;
  const auto fail_at = [&](std::uint64_t event) {
    const auto call = static_cast<std::uint32_t>(event);
    std::uint32_t error = one_error ? call / step : 0;
    Injector::Shot shot = shoot(operation, call, error, row);
    while (!one_error && shot.hit() && !shot.last_error && !testing::Test::HasFailure()) {
      shot = shoot(operation, call, ++error, row);
    }
    if (shot.hit()) row.calls = std::max(row.calls, call);
    return shot.hit();
  };
  // In the short form each operation starts at another call.
  sweep_events({.name = operation.name,
                .events = calls,
                .step = step,
                .second = 2 + rows_.size() * 7 % step},
               fail_at);
  EXPECT_GE(row.calls, operation.least_calls)
      << operation.name << ": fewer system calls could fail than it makes; has the operation "
      << "done its work, and does errno_table.cc know its calls?";
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rows_.push_back(std::move(row));
}

Injector::Shot SyscallSweep::shoot(const Operation& operation, std::uint32_t call,
                                   std::uint32_t error, Row& row) {
  constexpr int kTries = 4;
  std::optional<Injector::Shot> shot;
  for (int i = 0; i < kTries && !shot && !testing::Test::HasFailure(); ++i) {
    shot = shoot_once(operation, call, error, row);
  }
  EXPECT_TRUE(shot || testing::Test::HasFailure())
      << operation.name << ", call " << call
      << ": it waited too long each time, although nothing was made to fail";
  return shot.value_or(Injector::Shot());
}

std::optional<Injector::Shot> SyscallSweep::shoot_once(const Operation& operation,
                                                       std::uint32_t call, std::uint32_t error,
                                                       Row& row) {
  call_ = call;
  if (operation.prepare) operation.prepare();
  if (operation.from_call) {
    injector_->aim_from(*operation.from_call, call, error);
  } else {
    injector_->aim(call, error, operation.whose);
  }
  const Ending ending = operation.act();
  const Injector::Shot shot = injector_->stop();
  const testing::ScopedTrace trace(
      __FILE__, __LINE__,
      fmt::format("{}, call {}: {}; it {}", operation.name, call, shot.describe(),
                  ending ? fmt::format("said {}: {}", to_string(ending->code), ending->text)
                         : "succeeded"));
  const bool is_late = !shot.hit() && ending && ending->code == ErrorCode::kTimeout;
  if (shot.hit()) {
    ++row.injected;
    ++(ending ? row.errors : row.successes);
  } else if (!is_late) {
    EXPECT_FALSE(ending) << "it failed although nothing was made to fail";
  }
  EXPECT_FALSE(ending && ending->text.empty()) << "an error that says nothing";
  operation.check(ending);
  return is_late ? std::nullopt : std::optional(shot);
}

std::string SyscallSweep::where() const {
  return fmt::format("{}, call {}: {}", name_, call_, injector_->look().describe());
}

std::string SyscallSweep::table() const {
  std::string text = fmt::format("{:<44}{:>7}{:>10}{:>8}{:>11}{:>8}\n", "operation", "calls",
                                 "injected", "errors", "successes", "s");
  for (const Row& row : rows_) {
    text += fmt::format("{:<44}{:>7}{:>10}{:>8}{:>11}{:>8.2f}\n", row.name, row.calls, row.injected,
                        row.errors, row.successes, row.seconds);
  }
  return text;
}

std::uint64_t SyscallSweep::injected() const {
  std::uint64_t sum = 0;
  for (const Row& row : rows_) sum += row.injected;
  return sum;
}

}  // namespace beeline::test
