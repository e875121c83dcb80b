#pragma once

// Events that the processes of the demo report to the demo: one JSON object per line through a pipe
// that all of them inherit. The demo watches Beeline with it, so it does not go through Beeline.

#include <optional>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "tools/beeline/output.h"

namespace beeline::cli::demo {

// The values of "event". All have "agent", the name, and "os_pid".
inline constexpr std::string_view kHolding = "holding";         // task, pid: kill me now
inline constexpr std::string_view kRestarted = "restarted";     // child, old_os_pid, new_os_pid
inline constexpr std::string_view kGivenAgain = "given_again";  // task, attempts
inline constexpr std::string_view kLost = "lost";               // tasks that dead workers had
inline constexpr std::string_view kSum = "sum";                 // tasks, lines, words, bytes
inline constexpr std::string_view kAccounts = "accounts";       // pid, the counters, links
inline constexpr std::string_view kFailed = "failed";           // text

// The writing end, in each process. Does not own the descriptor.
class EventWriter {
 public:
  EventWriter(int fd, std::string agent) : fd_(fd), agent_(std::move(agent)) {}
  void write(std::string_view event, Json fields) const;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
  std::string agent_;
};

// The reading end, in the demo.
class EventReader {
 public:
  explicit EventReader(os::UniqueFd fd) : fd_(std::move(fd)) {}

  // The next event that has arrived whole. Does not block. After the last process has ended it
  // yields nothing more and at_end() is true. Errors: kProtocol (no JSON), kSystem.
  [[nodiscard]] Result<std::optional<Json>> next();
  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  // Readable when something arrives.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  os::UniqueFd fd_;
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace beeline::cli::demo
