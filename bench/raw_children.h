#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::bench {

// Processes that posix_spawn() starts, which say one byte each once they have attached.
class RawChildren {
 public:
  // Makes the pipe for their bytes. Errors: kSystem.
  [[nodiscard]] static Result<RawChildren> prepare();
  RawChildren(RawChildren&& other) noexcept;
  RawChildren& operator=(RawChildren&&) = delete;
  // Kills and reaps all.
  ~RawChildren();

  // Errors: kSystem.
  [[nodiscard]] Result<void> start(const std::vector<std::string>& command);
  // Waits until all have said that they have attached. Errors: kSystem (one has failed), kTimeout.
  [[nodiscard]] Result<void> await_all(std::chrono::nanoseconds patience);

 private:
  RawChildren(os::UniqueFd read_end, os::UniqueFd write_end)
      : read_end_(std::move(read_end)), write_end_(std::move(write_end)) {}

  os::UniqueFd read_end_;
  os::UniqueFd write_end_;  // of the children
  std::vector<pid_t> processes_;
};

}  // namespace beeline::bench
