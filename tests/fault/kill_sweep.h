#pragma once
// Repeats an operation and lets the process that works die before its first event, its second, and
// so on, to the last one, and once after it (kill_order.h defines an event).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/fault/kill_aim.h"

namespace beeline::test {

struct KillOperation {
  std::string name;
  // A sweep over fewer has proved nothing.
  std::uint64_t least_calls = 1;
  std::uint64_t least_stores = 1;
  // Runs the operation once. The victim dies before its `at`-th event; after the last one if there
  // are fewer, or if it is 0. Returns after the death.
  std::function<void(std::uint64_t at)> act = nullptr;
  // The killed process is there again; no message is lost, and nothing is left behind.
  std::function<void()> check = nullptr;
  // The short form kills at this many of the events, spread over all of them.
  std::uint64_t short_kills = 60;
};

class KillSweep {
 public:
  explicit KillSweep(KillAim& aim) : aim_(&aim) {}

  void run(const KillOperation& operation);
  // The present case, for a watchdog that ends a hanging one.
  [[nodiscard]] std::string where() const;
  // Operation, calls, stores, kills before each of these, seconds; one line each.
  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::uint64_t kills() const;

 private:
  struct Row {
    std::string name;
    std::uint64_t calls = 0;   // of one run to the end
    std::uint64_t stores = 0;  // likewise
    std::uint64_t step = 1;
    std::uint64_t killed_at_calls = 0;
    std::uint64_t killed_at_stores = 0;
    std::uint64_t not_reached = 0;  // runs that ended before their event: the last one, and shorter
                                    // ones
    double seconds = 0;
  };
  void shoot(const KillOperation& operation, std::uint64_t at, Row& row);
  void sweep(const KillOperation& operation, Row& row);

  KillAim* aim_;
  std::string name_;
  std::uint64_t at_ = 0;
  std::vector<Row> rows_;
};

}  // namespace beeline::test
