#pragma once
// What is measured and what came out: one row of a report.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/types.h>

#include "bench/windows.h"

namespace beeline::bench {

/// How the payload travels.
enum class Carry : std::uint8_t {
  kLane,       ///< written whole, sent by send(), read whole
  kLoan,       ///< written whole in a loan, read whole in place
  kUntouched,  ///< a loan that neither side looks into
  kRequest,    ///< written whole, copied by request() and by reply(), read whole
};

/// What the machine's own limit is measured with.
enum class LimitKind : std::uint8_t { kCacheLine, kFutex, kEventFd };

/// Who plays in a run. One process plays ping and one pong; in a run of more, those from number 2
/// on play with pong.
enum class Side : std::uint8_t { kPing = 0, kPong = 1 };

[[nodiscard]] constexpr std::size_t number_of(Side side) { return static_cast<std::size_t>(side); }
[[nodiscard]] constexpr Side side_of(std::size_t number) { return static_cast<Side>(number); }

/// The CPUs of a run. Sides that have none of their own share that of pong.
struct Cpus {
  int ping = 0;
  int pong = 0;
  std::vector<int> more{};  ///< of the sides from number 2 on

  [[nodiscard]] int of(Side side) const {
    if (side == Side::kPing) return ping;
    const std::size_t at = number_of(side) - 2;
    return side == Side::kPong || at >= more.size() ? pong : more[at];
  }
  [[nodiscard]] bool shared() const { return ping == pong; }
};

/// How often a row is measured at most, until it is stable.
inline constexpr int kMostAttempts = 5;

struct Case {
  std::size_t size = 0;
  WaitMode mode = WaitMode::kSpin;
  Carry carry = Carry::kLane;
  double seconds = 0.3;
  int most_attempts = kMostAttempts;
  double rate = 0.0;        ///< round trips that are due in a second; 0: the next after the last
  bool events = false;      ///< the agents wait on Agent::fd()
  bool broadcast = false;   ///< fan-out by Agent::broadcast()
  std::size_t depth = 0;    ///< of the inbox
  std::size_t batch = 1;    ///< messages that a receiver takes for one call, at most
  std::size_t members = 2;  ///< processes
  Cpus cpus{};

  /// Who sleeps is limited by what it sleeps on, who spins by the cache line.
  [[nodiscard]] LimitKind limit() const {
    if (events) return LimitKind::kEventFd;
    return mode == WaitMode::kSleep ? LimitKind::kFutex : LimitKind::kCacheLine;
  }
};

struct Percentiles {
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t p999 = 0;
  std::uint64_t max = 0;
};

/// Two limits that a figure may be compared across: the machine was the same, they differ by 30 %
/// at most.
[[nodiscard]] inline bool limits_agree(double one, double other) {
  const auto [low, high] = std::minmax(one, other);
  return high <= 1.3 * low;
}

/// Nanoseconds of a round trip, p50, before and after what was measured between them.
struct LimitPair {
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  /// The one figure to compare with.
  [[nodiscard]] double middle() const { return static_cast<double>(before + after) / 2.0; }
  /// The machine was the same before and after.
  [[nodiscard]] bool stable() const {
    return limits_agree(static_cast<double>(before), static_cast<double>(after));
  }
};

struct Outcome {
  /// Fewer rounds or messages than this say nothing: others use the CPUs.
  static constexpr std::uint64_t kFewest = 100;

  Percentiles rtt_ns;                    // of what was timed one by one
  Percentiles late_ns;                   // how late what was due was sent
  double messages_per_s = 0.0;           // of what was timed together
  Windows::Rates window_messages_per_s;  // of its windows
  double messages_per_look = 0.0;  // that the receiver took from its lanes, where it found any
  std::uint64_t copy_ns = 0;       // bare copies of the payload, see copied_per_clock(), p50
  std::uint64_t clock_ns = 0;      // what the clock reads of one round take, p50
  LimitPair limit;
  std::uint64_t count = 0;  // rounds or messages
  int attempts = 1;         // more than one: the earlier ones were not stable

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
