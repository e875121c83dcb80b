#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/control/quotes.h"

namespace beeline::control {

// The time now as RFC 3339 in UTC, with milliseconds.
[[nodiscard]] std::string now_rfc3339();

inline constexpr std::int64_t kMaxLogBytes = 4LL << 20;

// Lines in logfmt: `ts=... level=... event=... key=value`. One write for each line. A line that
// cannot be written at once is dropped and counted, so that a full pipe never stops us. A file
// that has grown to kMaxLogBytes, or to our limit of file sizes, is renamed in place of the one
// before, and begun anew. REQUIRES: SIGXFSZ is ignored if there is such a limit. Not thread safe,
// but several processes may write to one file. Does not own the descriptor.
class Log {
 public:
  // `path` names the file behind `fd`; empty if it must not be renamed.
  explicit Log(int fd = 2, std::string path = {}) : fd_(fd), path_(std::move(path)) {}

  // The path of the log before this one.
  [[nodiscard]] static std::string old_path(const std::string& path) { return path + ".1"; }

  template <typename... Args>
  void info(std::string_view event, fmt::format_string<Args...> format, Args&&... args) {
    write("info", event, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warn(std::string_view event, fmt::format_string<Args...> format, Args&&... args) {
    write("warn", event, fmt::format(format, std::forward<Args>(args)...));
  }

  // If our path names another file than ours, or none, goes on there. True if so.
  bool follow();

  // Lines that could not be written so far.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  // Begins the file anew if it is full.
  void rotate();
  // Renames the file and begins it anew. False if ours is not a file with a name.
  bool begin_anew();
  bool reopen();
  // True if our path names our file.
  [[nodiscard]] bool is_ours() const;
  bool put(const std::string& line);
  void write(std::string_view level, std::string_view event, std::string_view fields);

  int fd_;
  std::string path_;
  std::uint64_t dropped_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace beeline::control
