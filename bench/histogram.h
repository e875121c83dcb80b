#pragma once
// A histogram of durations with a bounded relative error, in the layout of HdrHistogram for three
// significant digits.
//
//   values    0 .. 2047     one counter each
//          2048 .. 4095     one counter for 2 values each
//          4096 .. 8191     one counter for 4, and so on: 1,024 counters for each power of two
//
// A value is reported as the highest that shares its counter, so it is at most 0.1 % too high and
// never too low. All bytes zero is an empty histogram: it may lie in fresh shared memory. One
// thread or process at a time.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace beeline::bench {

class Histogram {
 public:
  // Larger values count as this one: 2^40 - 1, in nanoseconds 18 minutes.
  static constexpr std::uint64_t kLargest = (1ULL << 40) - 1;

  // Negative values count as 0.
  void record(std::int64_t value) {
    const auto counted =
        std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)), kLargest);
    ++counters_[index_of(counted)];
    ++count_;
    max_ = std::max(max_, counted);
  }

  void add(const Histogram& other) {
    for (std::size_t i = 0; i < kCounters; ++i) counters_[i] += other.counters_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
  }

  void clear() { *this = Histogram(); }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }

  // The smallest value that at least `percent` of all recorded values do not exceed; 0 if there is
  // none. REQUIRES: 0 <= percent <= 100.
  [[nodiscard]] std::uint64_t percentile(double percent) const {
    const double share = percent / 100.0 * static_cast<double>(count_);
    // Rounding must not push an exact share to the next value.
    const auto wanted = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::ceil(share - 1e-9 * static_cast<double>(count_))));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kCounters; ++i) {
      seen += counters_[i];
      if (seen >= wanted) return std::min(highest_of(i), max_);
    }
    return max_;
  }

  // The counter of a value. REQUIRES: value <= kLargest.
  [[nodiscard]] static constexpr std::size_t index_of(std::uint64_t value) {
    const std::uint64_t shift = shift_of(value);
    return static_cast<std::size_t>((shift << kHalfBits) + (value >> shift));
  }

  // How many values a counter holds. REQUIRES: index < kCounters.
  [[nodiscard]] std::uint64_t count_at(std::size_t index) const { return counters_[index]; }

  // The lowest value that shares the counter.
  [[nodiscard]] static constexpr std::uint64_t lowest_of(std::size_t index) {
    return index == 0 ? 0 : highest_of(index - 1) + 1;
  }
  // The highest value that shares the counter.
  [[nodiscard]] static constexpr std::uint64_t highest_of(std::size_t index) {
    if (index < 2 * kHalf) return index;
    const std::uint64_t shift = (index >> kHalfBits) - 1;
    return ((index - (shift << kHalfBits) + 1) << shift) - 1;
  }

  static constexpr std::uint64_t kHalfBits = 10;
  static constexpr std::size_t kHalf = std::size_t{1} << kHalfBits;
  static constexpr std::size_t kCounters = (40 - kHalfBits + 1) * kHalf;

 private:
  static constexpr std::uint64_t shift_of(std::uint64_t value) {
    const auto width = static_cast<std::uint64_t>(std::bit_width(value));
    return width > kHalfBits + 1 ? width - kHalfBits - 1 : 0;
  }

  std::array<std::uint64_t, kCounters> counters_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

static_assert(Histogram::index_of(2047) == 2047);
static_assert(Histogram::index_of(2048) == 2048 && Histogram::index_of(2049) == 2048);
static_assert(Histogram::highest_of(Histogram::index_of(Histogram::kLargest)) ==
              Histogram::kLargest);

}  // namespace beeline::bench
