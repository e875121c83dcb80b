#pragma once
// Messages whose attempt has failed and which are to be handed out again only after a pause. Until
// then they stay leases: if the process dies they come again at once, as every lease does.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "shm/ids.h"

namespace beeline {

class Retries {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  // No pause is longer than this and the first one.
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::minutes(1);

  // `first`: the pause before the second attempt; 0 = none.
  explicit Retries(std::chrono::nanoseconds first = {}) : first_ns_(first.count()) {}

  [[nodiscard]] bool on() const { return first_ns_ > 0; }
  // The pause doubles with each attempt that has failed before.
  [[nodiscard]] std::int64_t pause_ns(std::uint32_t failed_before) const {
    std::int64_t pause = first_ns_;
    while (failed_before-- != 0 && pause < kLongest.count()) pause *= 2;
    return std::min(pause, std::max(first_ns_, std::int64_t{kLongest.count()}));
  }
  void put_off(shm::EntryIndex entry, std::int64_t until_ns) {
    waiting_.push_back({entry, until_ns});
    next_ns_ = std::min(next_ns_, until_ns);
  }
  // When the first of them is due, on the monotonic clock.
  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  // Calls `put_back` with each that is due, or that `is_unwanted` says nobody wants any more.
  template <typename IsUnwanted, typename PutBack>
  void release(std::int64_t now_ns, IsUnwanted&& is_unwanted, PutBack&& put_back) {
    next_ns_ = kNever;
    std::erase_if(waiting_, [&](const Waiting& each) {
      const bool is_over = each.until_ns <= now_ns || is_unwanted(each.entry);
      if (is_over) {
        put_back(each.entry);
      } else {
        next_ns_ = std::min(next_ns_, each.until_ns);
      }
      return is_over;
    });
  }

 private:
  struct Waiting {
    shm::EntryIndex entry;
    std::int64_t until_ns = 0;
  };
  std::int64_t first_ns_;
  std::int64_t next_ns_ = kNever;
  std::vector<Waiting> waiting_;
};

}  // namespace beeline
