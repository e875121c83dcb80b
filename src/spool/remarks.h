#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace beeline::spool {

// The remarks of a Spool about files that it left alone or moved away. Each text is said once.
class Remarks {
 public:
  void add(std::string text) {
    if (said_.size() >= kMostKnown) said_.clear();
    if (!said_.insert(text).second) return;
    if (waiting_.size() >= kMostWaiting) {
      ++dropped_;
      return;
    }
    waiting_.push_back(std::move(text));
  }
  [[nodiscard]] std::vector<std::string> take() {
    if (dropped_ != 0) waiting_.push_back(fmt::format("and {} more", dropped_));
    dropped_ = 0;
    return std::exchange(waiting_, {});
  }

 private:
  static constexpr std::size_t kMostWaiting = 100;
  static constexpr std::size_t kMostKnown = 10'000;
  std::vector<std::string> waiting_;
  std::unordered_set<std::string> said_;
  std::size_t dropped_ = 0;
};

}  // namespace beeline::spool
