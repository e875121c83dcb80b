#pragma once
// The choices of one execution, and the way from it to the next one: depth first.
//
// A choice has some options now, and perhaps one more: to wait for later stores. That one is
// explored only if a later part of the execution showed that it makes a difference (`defer`), so
// that
// equal executions are not explored twice.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace beeline::explore {

class Path {
 public:
  // The option to take, below `options`, or `options` itself: wait.
  [[nodiscard]] std::uint32_t choose(std::uint32_t options) {
    if (depth_ == nodes_.size()) nodes_.push_back({options, 0, false});
    if (nodes_[depth_].options != options) abort_run();
    return nodes_[depth_++].pick;
  }
  // The number of the latest choice.
  [[nodiscard]] std::uint32_t latest() const { return static_cast<std::uint32_t>(depth_ - 1); }
  // Waiting at this choice makes a difference.
  void defer(std::uint32_t node) { nodes_[node].may_wait = true; }

  void restart() { depth_ = 0; }
  void clear() { nodes_.clear(); }
  // Steps to the next execution; false if there is none.
  [[nodiscard]] bool advance() {
    while (!nodes_.empty()) {
      Node& last = nodes_.back();
      const std::uint32_t end = last.options + (last.may_wait ? 1 : 0);
      if (++last.pick < end) return true;
      nodes_.pop_back();
    }
    return false;
  }

 private:
  struct Node {
    std::uint32_t options;
    std::uint32_t pick;
    bool may_wait;
  };
  [[noreturn]] static void abort_run() {
    std::fprintf(stderr,
                 "explorer: the same choices led elsewhere: a scenario or what it calls "
                 "depends on more than they say, a clock perhaps\n");
    std::abort();
  }

  std::vector<Node> nodes_;
  std::size_t depth_ = 0;
};

}  // namespace beeline::explore
