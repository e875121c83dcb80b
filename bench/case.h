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

namespace beeline::bench {

/// How the payload travels.
enum class Carry : std::uint8_t {
  kLane,       ///< written whole, sent by send(), read whole
  kLoan,       ///< written whole in a loan, read whole in place
  kUntouched,  ///< a loan that neither side looks into
};

/// What the machine's own limit is measured with.
enum class LimitKind : std::uint8_t { kCacheLine, kFutex };

/// The two CPUs of a run.
struct Cpus {
  int ping = 0;
  int pong = 0;
  [[nodiscard]] bool shared() const { return ping == pong; }
};

struct Case {
  std::size_t size = 0;
  WaitMode mode = WaitMode::kSpin;
  Carry carry = Carry::kLane;
  double seconds = 0.3;
  Cpus cpus;

  /// Who sleeps is limited by the futex, who spins by the cache line.
  [[nodiscard]] LimitKind limit() const {
    return mode == WaitMode::kSleep ? LimitKind::kFutex : LimitKind::kCacheLine;
  }
};

struct Percentiles {
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t p999 = 0;
  std::uint64_t max = 0;
};

/// Nanoseconds of a round trip, p50, before and after what was measured between them.
struct LimitPair {
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  /// The one figure to compare with.
  [[nodiscard]] double middle() const { return static_cast<double>(before + after) / 2.0; }
  /// The machine was the same before and after: they differ by 30 % at most.
  [[nodiscard]] bool stable() const {
    const auto [low, high] = std::minmax(before, after);
    return static_cast<double>(high) <= 1.3 * static_cast<double>(low);
  }
};

struct Outcome {
  /// Fewer rounds or messages than this say nothing: others use the CPUs.
  static constexpr std::uint64_t kFewest = 100;

  Percentiles rtt_ns;           // latency and limit
  double messages_per_s = 0.0;  // throughput
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
  }
  return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(LimitKind kind) {
  return kind == LimitKind::kFutex ? "futex" : "cache line";
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
