#pragma once

// The two streams of `beeline pipe`: lines in, lines out. Neither ever blocks, even if the program
// at the other end does nothing.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/beeline/output.h"

namespace beeline::cli {

// The lines of stdin.
class PipeInput {
 public:
  struct Line {
    std::string text;          // empty if it is too long
    std::uint64_t number = 0;  // from 1
    std::size_t bytes = 0;
    bool is_too_long = false;
  };

  // `most`: the longest line in bytes, without its line end.
  explicit PipeInput(std::size_t most) : most_(most) {}

  // Reads once. REQUIRES: stdin is readable. False at the end of stdin.
  [[nodiscard]] bool read();
  // The next complete line. After the end of stdin also a last line without a line end.
  [[nodiscard]] std::optional<Line> next();

 private:
  Line cut(std::size_t end);

  std::size_t most_;
  std::string rest_;
  std::size_t begin_ = 0;    // of the part that was not handed out yet
  std::size_t scanned_ = 0;  // no line end before this offset
  std::size_t dropped_ = 0;  // bytes of the overlong line
  std::uint64_t number_ = 0;
  bool has_ended_ = false;
};

// The lines of stdout. Keeps the part that its reader has not taken yet.
class PipeOutput {
 public:
  void add(const Json& line);
  [[nodiscard]] bool is_empty() const { return kept() == 0; }
  // Fewer bytes wait than an active reader may leave, so more may be added.
  [[nodiscard]] bool has_room() const;
  // Writes as much as stdout takes now. False if stdout takes nothing any more, or fails.
  [[nodiscard]] bool write();
  // Writes the rest. Gives up if the reader takes nothing for `patience`.
  [[nodiscard]] bool finish(std::chrono::milliseconds patience);

 private:
  [[nodiscard]] std::size_t kept() const { return text_.size() - begin_; }

  std::string text_;
  std::size_t begin_ = 0;
};

}  // namespace beeline::cli
