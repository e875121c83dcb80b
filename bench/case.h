#pragma once
// A case to measure, and its outcome: one row of a report.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/types.h>

#include "bench/windows.h"
#include "shm/directory.h"

namespace beeline::bench {

// The way of the payload.
enum class Carry : std::uint8_t {
  kLane,       // written whole, sent by send(), read whole
  kLoan,       // written whole in a loan, read whole in place
  kUntouched,  // a loan that neither side reads
  kRequest,    // written whole, copied by request() and by reply(), read whole
  kExecute,    // the context of a task and the output of its result
};

// The means of measuring the machine's own limit.
enum class LimitKind : std::uint8_t { kCacheLine, kFutex, kEventFd, kFutexes };

// The players of a run. One process plays ping and one pong; in a larger run, those from number 2
// on play with pong.
enum class Side : std::uint8_t { kPing = 0, kPong = 1 };

[[nodiscard]] constexpr std::size_t number_of(Side side) { return static_cast<std::size_t>(side); }
[[nodiscard]] constexpr Side side_of(std::size_t number) { return static_cast<Side>(number); }

// The CPUs of a run. Sides without a CPU of their own share that of pong.
struct Cpus {
  int ping = 0;
  int pong = 0;
  std::vector<int> more{};  // for the sides from number 2 on

  [[nodiscard]] int of(Side side) const {
    if (side == Side::kPing) return ping;
    const std::size_t at = number_of(side) - 2;
    return side == Side::kPong || at >= more.size() ? pong : more[at];
  }
  [[nodiscard]] bool shared() const { return ping == pong; }
};

// How often a row is measured at most, until it is stable.
inline constexpr int kMostAttempts = 5;

struct Case {
  std::size_t size = 0;
  WaitMode mode = WaitMode::kSpin;
  Carry carry = Carry::kLane;
  double seconds = 0.3;
  int most_attempts = kMostAttempts;
  double rate = 0.0;        // round trips that are due in a second; 0: each one right after the
                            // last
  bool events = false;      // the agents wait on Agent::fd()
  bool broadcast = false;   // fan-out by Agent::broadcast()
  std::size_t depth = 0;    // of the inbox
  std::size_t batch = 1;    // messages that a receiver takes for one call, at most
  std::size_t members = 2;  // processes
  std::optional<shm::HistoryLevel> history{};  // what the hive records meanwhile, if that is asked
  Cpus cpus{};

  // A sleeping side is limited by the object that it sleeps on, a spinning one by the cache line.
  [[nodiscard]] LimitKind limit() const {
    if (events) return LimitKind::kEventFd;
    if (carry == Carry::kExecute && members > 2) return LimitKind::kFutexes;
    return mode == WaitMode::kSleep ? LimitKind::kFutex : LimitKind::kCacheLine;
  }
};

struct Percentiles {
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t p999 = 0;
  std::uint64_t max = 0;
};

// Whether figures at two limits may be compared: the machine was the same, because they differ by
// at most 30 %.
[[nodiscard]] inline bool limits_agree(double one, double other) {
  const auto [low, high] = std::minmax(one, other);
  return high <= 1.3 * low;
}

// Nanoseconds of a round trip, p50, before and after the measurement.
struct LimitPair {
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  // The one limit to compare with.
  [[nodiscard]] double middle() const { return static_cast<double>(before + after) / 2.0; }
  // The machine was the same before and after.
  [[nodiscard]] bool stable() const {
    return limits_agree(static_cast<double>(before), static_cast<double>(after));
  }
};

struct Outcome {
  // With fewer rounds or messages a figure means nothing: other programs use the CPUs.
  static constexpr std::uint64_t kFewest = 100;

  Percentiles rtt_ns;                    // for rounds that were timed one by one
  Percentiles late_ns;                   // how late due messages were sent
  double messages_per_s = 0.0;           // for messages that were timed together
  Windows::Rates window_messages_per_s;  // for its windows
  double messages_per_look = 0.0;  // that the receiver took from its lanes in a look that found any
  std::uint64_t copy_ns = 0;       // bare copies of the payload, see copied_per_clock(), p50
  std::uint64_t clock_ns = 0;      // the clock reads of one round, p50
  LimitPair limit;
  std::uint64_t count = 0;  // rounds or messages
  int attempts = 1;         // if more than one, the earlier ones were not stable

  [[nodiscard]] bool stable() const { return limit.stable() && count >= kFewest; }
};

[[nodiscard]] constexpr std::string_view to_string(Carry carry) {
  switch (carry) {
    case Carry::kLane:
      return "lane";
    case Carry::kLoan:
      return "loan";
    case Carry::kUntouched:
      return "untouched";
    case Carry::kRequest:
      return "request";
    case Carry::kExecute:
      return "execute";
  }
  return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(LimitKind kind) {
  switch (kind) {
    case LimitKind::kCacheLine:
      return "cache line";
    case LimitKind::kFutex:
      return "futex";
    case LimitKind::kEventFd:
      return "eventfd";
    case LimitKind::kFutexes:
      return "futexes";
  }
  return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(WaitMode mode) {
  switch (mode) {
    case WaitMode::kSpin:
      return "spin";
    case WaitMode::kAdaptive:
      return "adaptive";
    case WaitMode::kSleep:
      return "sleep";
  }
  return "unknown";
}

}  // namespace beeline::bench
