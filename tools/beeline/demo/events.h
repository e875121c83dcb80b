#pragma once

// Events that the processes of the demo report to the demo: one JSON object per line through a
// named pipe. The demo watches Beeline with it, so it does not go through Beeline.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "tools/beeline/output.h"

namespace beeline::cli::demo {

// The values of "event". All have "agent", the name, and "os_pid".
inline constexpr std::string_view kHolding = "holding";         // task, pid: kill me now
inline constexpr std::string_view kRestarted = "restarted";     // child, signal, new_os_pid
inline constexpr std::string_view kGivenAgain = "given_again";  // task, attempts
inline constexpr std::string_view kLost = "lost";               // tasks that dead workers had
inline constexpr std::string_view kSum = "sum";                 // tasks, lines, words, bytes
inline constexpr std::string_view kAccounts = "accounts";       // pid, the counters, links
inline constexpr std::string_view kFailed = "failed";           // text

// The writing end, in each process.
class EventWriter {
 public:
  // Errors: kSystem.
  [[nodiscard]] static Result<EventWriter> open(const std::string& path, std::string agent);
  void write(std::string_view event, Json fields) const;

 private:
  EventWriter(os::UniqueFd fd, std::string agent) : fd_(std::move(fd)), agent_(std::move(agent)) {}

  os::UniqueFd fd_;
  std::string agent_;
};

// The reading end, in the demo.
class EventReader {
 public:
  // Makes the pipe. Errors: kSystem.
  [[nodiscard]] static Result<EventReader> make(const std::string& path);

  // The next event that has arrived whole. Does not block. Errors: kProtocol (no JSON), kSystem.
  [[nodiscard]] Result<std::optional<Json>> next();
  // Readable when something arrives.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  explicit EventReader(os::UniqueFd fd) : fd_(std::move(fd)) {}

  os::UniqueFd fd_;
  std::string buffer_;
};

}  // namespace beeline::cli::demo
