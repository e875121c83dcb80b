#pragma once

// The two streams of `beeline pipe`: lines that come in, lines that go out. Neither ever blocks on
// a program at the other end that does nothing.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/beeline/output.h"

namespace beeline::cli {

/// The lines of stdin.
class PipeInput {
 public:
  struct Line {
    std::string text;          ///< empty if it is too long
    std::uint64_t number = 0;  ///< from 1
    std::size_t bytes = 0;
    bool is_too_long = false;
  };

  /// `most`: the longest line in bytes, without its end.
  explicit PipeInput(std::size_t most) : most_(most) {}

  /// Reads once. REQUIRES: stdin is readable. False at its end.
  [[nodiscard]] bool read();
  /// The next line that has come whole; after the end what has no end of line, too.
  [[nodiscard]] std::optional<Line> next();

 private:
  Line cut(std::size_t end);

  std::size_t most_;
  std::string rest_;
  std::size_t begin_ = 0;    // of what was not handed out yet
  std::size_t scanned_ = 0;  // up to here there is no end of line
  std::size_t dropped_ = 0;  // bytes of the line that is too long
  std::uint64_t number_ = 0;
  bool has_ended_ = false;
};

/// The lines of stdout. What its reader does not take is kept here.
class PipeOutput {
 public:
  void add(const Json& line);
  [[nodiscard]] bool is_empty() const { return kept() == 0; }
  /// Less waits than a reader that reads may leave: more may be added on its behalf.
  [[nodiscard]] bool has_room() const;
  /// Writes as much as stdout takes now. False when it takes nothing any more, or fails.
  [[nodiscard]] bool write();
  /// Writes the rest, and gives up when its reader takes nothing for so long.
  [[nodiscard]] bool finish(std::chrono::milliseconds patience);

 private:
  [[nodiscard]] std::size_t kept() const { return text_.size() - begin_; }

  std::string text_;
  std::size_t begin_ = 0;
};

}  // namespace beeline::cli
