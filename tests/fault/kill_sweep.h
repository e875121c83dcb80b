#pragma once
// Runs an operation again and again and lets the process that does its work die before its first
// event, its second, and so on, to the last one, and once after it (kill_order.h says what an event
// is).

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
  // Does it all once; the victim dies before its `at`-th event, or after the last if there are
  // fewer, or if it is 0. Returns when that has happened.
  std::function<void(std::uint64_t at)> act = nullptr;
  // Whatever died is there again; nothing is lost, and nothing left behind.
  std::function<void()> check = nullptr;
  // The short form kills at so many of the events, spread over all of them.
  std::uint64_t short_kills = 60;
};

class KillSweep {
 public:
  explicit KillSweep(KillAim& aim) : aim_(&aim) {}

  void run(const KillOperation& operation);
  // Which case is under way, for whoever has to end a hanging one.
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
    std::uint64_t not_reached = 0;  // runs that ended before: the last, and shorter ones
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
