#pragma once
// A token bucket: a number of tokens each second, and a number at once after a pause. Its state is
// one word: `origin` is the time at which the bucket would have been empty if nothing had been
// taken from it since. The bucket holds the time since `origin`, in steps of one token.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shm/check.h"

namespace beeline::limit {

inline constexpr double kMinRate = 0.001;  // per second
inline constexpr double kMaxRate = 1e6;
inline constexpr std::uint32_t kMaxBurst = 1'000'000;

class TokenBucket {
 public:
  // Off: there is no limit, and no caller asks it for tokens.
  TokenBucket() = default;
  // Full. `burst`: the most tokens that it holds, 0 = as many as come in a second, at least 1.
  TokenBucket(double per_second, std::uint32_t burst)
      : step_ns_(std::llround(1e9 / per_second)),
        burst_(burst != 0 ? burst : std::llround(std::max(1.0, per_second))) {
    BEELINE_CHECK(kMinRate <= per_second && per_second <= kMaxRate, per_second);
    BEELINE_CHECK(burst <= kMaxBurst, burst);
  }

  [[nodiscard]] bool on() const { return step_ns_ != 0; }

  // Tokens at this time. A clock that goes back finds no more than before. REQUIRES for all below:
  // on(); now_ns >= 0.
  [[nodiscard]] std::uint32_t available(std::int64_t now_ns) const {
    BEELINE_DCHECK(on());
    if (now_ns <= origin_ns_) return 0;
    return static_cast<std::uint32_t>(std::min(burst_, (now_ns - origin_ns_) / step_ns_));
  }

  // Takes `count` tokens. False, and nothing taken, if there are fewer.
  bool take(std::int64_t now_ns, std::uint32_t count = 1) {
    if (available(now_ns) < count) return false;
    // Tokens beyond the burst are lost.
    origin_ns_ = std::max(origin_ns_, now_ns - burst_ * step_ns_) + count * step_ns_;
    return true;
  }

  // Puts one token back.
  void give_back() { origin_ns_ -= step_ns_; }

  // Time until there is a token, 0 if there is one now.
  [[nodiscard]] std::int64_t ns_until(std::int64_t now_ns) const {
    return std::max<std::int64_t>(0, origin_ns_ - now_ns + step_ns_);
  }

 private:
  std::int64_t step_ns_ = 0;  // between two tokens; 0 = off
  std::int64_t burst_ = 0;
  std::int64_t origin_ns_ = std::numeric_limits<std::int64_t>::min() / 2;
};

}  // namespace beeline::limit
