#pragma once

// All that is wrong in one file, as lines FILE:LINE:COLUMN: TEXT.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/yaml/node.h"

namespace beeline::yaml {

class Mistakes {
 public:
  static constexpr std::size_t kMost = 20;

  explicit Mistakes(std::string file) : file_(std::move(file)) {}

  void add(YamlMark mark, std::string_view text) {
    if (count_++ < kMost) lines_ += (lines_.empty() ? "" : "\n") + line(mark, text);
  }
  void warn(YamlMark mark, std::string_view text) {
    if (warnings_.size() < kMost) warnings_.push_back(line(mark, text));
  }

  [[nodiscard]] bool any() const noexcept { return count_ != 0; }
  // The first mistakes, one in a line, and the number of the others.
  [[nodiscard]] std::string text() const {
    if (count_ <= kMost) return lines_;
    return fmt::format("{}\n{}: {} more mistakes are not shown", lines_, file_, count_ - kMost);
  }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  [[nodiscard]] std::string line(YamlMark mark, std::string_view text) const {
    return fmt::format("{}:{}:{}: {}", file_, mark.line, mark.column, text);
  }

  std::string file_;
  std::string lines_;
  std::size_t count_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace beeline::yaml
