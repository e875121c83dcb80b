#pragma once
// A token bucket: so many a second, and so many at once after a pause. A value of one word of
// state: `origin` is the time at which the bucket would have been empty if nothing had been taken
// from it since; what is in it is the time since then in steps of one token.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace beeline::limit {

inline constexpr double kMinRate = 0.001;  // per second
inline constexpr double kMaxRate = 1e6;
inline constexpr std::uint32_t kMaxBurst = 1'000'000;

class TokenBucket {
 public:
  // Off: there is no limit, and nobody asks it for tokens.
  TokenBucket() = default;
  // Full. `burst`: most tokens that it holds, 0 = as many as come in a second, 1 at least.
  // REQUIRES: kMinRate <= per_second <= kMaxRate, burst <= kMaxBurst.
  TokenBucket(double per_second, std::uint32_t burst)
      : step_ns_(std::llround(1e9 / per_second)),
        burst_(burst != 0 ? burst : std::llround(std::max(1.0, per_second))) {}

  [[nodiscard]] bool on() const { return step_ns_ != 0; }

  // Tokens at this time. A clock that goes back finds no more than before.
  // REQUIRES for all below: on(); now_ns >= 0.
  [[nodiscard]] std::uint32_t available(std::int64_t now_ns) const {
    if (now_ns <= origin_ns_) return 0;
    return static_cast<std::uint32_t>(std::min(burst_, (now_ns - origin_ns_) / step_ns_));
  }

  // Takes `count` tokens. False, and nothing taken, if there are fewer.
  bool take(std::int64_t now_ns, std::uint32_t count = 1) {
    if (available(now_ns) < count) return false;
    // What ran over is lost: it never held more than the burst.
    origin_ns_ = std::max(origin_ns_, now_ns - burst_ * step_ns_) + count * step_ns_;
    return true;
  }

  // Puts back one that was taken.
  void give_back() { origin_ns_ -= step_ns_; }

  // How long until there is one, 0 if there is one now.
  [[nodiscard]] std::int64_t ns_until(std::int64_t now_ns) const {
    return std::max<std::int64_t>(0, origin_ns_ - now_ns + step_ns_);
  }

 private:
  std::int64_t step_ns_ = 0;  // between two tokens; 0 = off
  std::int64_t burst_ = 0;
  std::int64_t origin_ns_ = std::numeric_limits<std::int64_t>::min() / 2;
};

}  // namespace beeline::limit
