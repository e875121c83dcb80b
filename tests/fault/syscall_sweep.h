#pragma once
// Repeats an operation, and lets its first system call fail with each plausible error, then its
// second, and so on, to the last one (event_sweep.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "tests/fault/injector.h"

namespace beeline::test {

// The end of the operation: nothing (success), or its error.
using Ending = std::optional<Error>;

struct Operation {
  std::string name;
  // It makes at least this many calls that can fail: a sweep that reached fewer has proved nothing.
  std::uint32_t least_calls = 1;
  std::function<void()> prepare = nullptr;
  std::function<Ending()> act = nullptr;
  // Afterwards nothing fails any more: the world is whole, and the same operation succeeds.
  std::function<void(const Ending&)> check = nullptr;
  // The calls that fail, and the first one that counts.
  Injector::Whose whose = Injector::Whose::kOwn;
  std::optional<int> from_call = std::nullopt;  // not before this one; see Injector::aim_from
  // Unless 0: in the short form only every n-th call fails, with one of its errors, another one
  // each time.
  std::uint32_t short_step = 0;
};

class SyscallSweep {
 public:
  explicit SyscallSweep(Injector& injector) : injector_(&injector) {}

  void run(const Operation& operation);
  // The present case, for a watchdog that ends a hanging one.
  [[nodiscard]] std::string where() const;
  // Operation, calls, injected runs, errors, successes; one line each.
  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::uint64_t injected() const;

 private:
  struct Row {
    std::string name;
    std::uint32_t calls = 0;
    std::uint64_t injected = 0;
    std::uint64_t errors = 0;
    std::uint64_t successes = 0;
    double seconds = 0;
  };
  // With `call` 0 nothing fails. Repeats the run if the operation gave up because the machine is
  // busy.
  Injector::Shot shoot(const Operation& operation, std::uint32_t call, std::uint32_t error,
                       Row& row);
  // Nothing: the run was not hit, and has waited too long for another process.
  std::optional<Injector::Shot> shoot_once(const Operation& operation, std::uint32_t call,
                                           std::uint32_t error, Row& row);

  Injector* injector_;
  std::string name_;
  std::uint32_t call_ = 0;
  std::vector<Row> rows_;
};

}  // namespace beeline::test
