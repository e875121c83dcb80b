#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>

#include "src/os/fd.h"
#include "tools/beeline/command_guard.h"

namespace beeline::cli {

// A guard as its parent sees it. The destructor makes the guard kill all that still runs of its
// command.
class GuardProcess {
 public:
  GuardProcess(pid_t pid, os::UniqueFd line) : pid_(pid), line_(std::move(line)) {}
  GuardProcess(GuardProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), line_(std::move(other.line_)) {}
  GuardProcess& operator=(GuardProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(line_, other.line_);
    return *this;
  }

  // Readable when the guard reports, and when it has ended.
  [[nodiscard]] int fd() const noexcept { return line_.get(); }
  void tell(GuardOrder order) const noexcept;
  // The guard's report, once; nullopt if it has not come yet or was taken already.
  [[nodiscard]] std::optional<GuardReport> take_report();
  // Whether take_report() has found that the guard has ended; then it is reaped. This function
  // reads nothing itself, because a report that comes meanwhile would be lost.
  [[nodiscard]] bool has_ended() const;

 private:
  pid_t pid_ = 0;
  os::UniqueFd line_;
  bool is_closed_ = false;
};

}  // namespace beeline::cli
