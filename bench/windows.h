#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace beeline::bench {

// A stream in five windows of equal length, which show how much it varied. A window lasts from the
// first look after the previous one until the first look after its own time; windows without a
// look between them are equally fast. Reads no clock.
class Windows {
 public:
  static constexpr std::size_t kCount = 5;

  struct Rates {
    double min = 0.0;
    double p50 = 0.0;
    double max = 0.0;
  };

  // No stream.
  Windows() = default;
  Windows(std::int64_t start_ns, std::int64_t length_ns)
      : start_ns_(start_ns),
        window_ns_(std::max<std::int64_t>(1, length_ns / static_cast<std::int64_t>(kCount))),
        since_ns_(start_ns) {}

  // This many messages have passed since the start.
  void look(std::int64_t now_ns, std::uint64_t messages) {
    const auto over = static_cast<std::size_t>((now_ns - start_ns_) / window_ns_);
    if (over <= closed_ || closed_ == kCount) return;
    const double per_s =
        static_cast<double>(messages - messages_) * 1e9 / static_cast<double>(now_ns - since_ns_);
    while (closed_ < std::min(over, kCount)) per_s_[closed_++] = per_s;
    since_ns_ = now_ns;
    messages_ = messages;
  }

  // Messages a second. REQUIRES: the last look was at the end, or later.
  [[nodiscard]] Rates messages_per_s() const {
    auto sorted = per_s_;
    std::sort(sorted.begin(), sorted.end());
    return {sorted.front(), sorted[kCount / 2], sorted.back()};
  }

 private:
  std::int64_t start_ns_ = 0;
  std::int64_t window_ns_ = 1;
  std::int64_t since_ns_ = 0;  // the look that closed the last window
  std::uint64_t messages_ = 0;
  std::size_t closed_ = 0;
  std::array<double, kCount> per_s_{};
};

}  // namespace beeline::bench
