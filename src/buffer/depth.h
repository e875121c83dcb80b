#pragma once

// Counts the messages that are not done, and says once for each crossing that they are more than
// the threshold. The buffer grows all the same.

#include <algorithm>
#include <cstdint>

namespace beeline::buffer {

class Depth {
 public:
  Depth(std::uint64_t threshold, std::uint64_t open) : threshold_(threshold), open_(open) {
    was_above_ = open_ > threshold_;
  }

  // True if this message crossed the threshold.
  [[nodiscard]] bool add() noexcept {
    ++open_;
    const bool has_crossed = open_ > threshold_ && !was_above_;
    was_above_ = open_ > threshold_;
    return has_crossed;
  }
  void remove(std::uint64_t messages) noexcept {
    // Other programs may have written some that were not counted.
    open_ -= std::min(open_, messages);
    was_above_ = open_ > threshold_;
  }
  [[nodiscard]] std::uint64_t open() const noexcept { return open_; }

 private:
  std::uint64_t threshold_;
  std::uint64_t open_;
  bool was_above_ = false;
};

}  // namespace beeline::buffer
