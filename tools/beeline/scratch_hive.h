#pragma once

#include <sys/types.h>

#include <string>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::cli {

// A hive for one command, in a temporary directory that $BEELINE_DIR names while this object
// lives.
//
// A guard takes the hive down and removes the directory as soon as we close the hive or end in any
// way. The guard is a child of ours that no signal of the terminal reaches. For single-threaded
// programs only.
class ScratchHive {
 public:
  // Makes the directory below $TMPDIR (else /tmp), points the environment at it, starts the guard
  // and then the coordinator. Errors: kSystem, kNoCoordinator, kTimeout.
  [[nodiscard]] static Result<ScratchHive> start(const std::string& purpose);

  ScratchHive(ScratchHive&& other) noexcept;
  ScratchHive& operator=(ScratchHive&&) = delete;
  ScratchHive(const ScratchHive&) = delete;
  ScratchHive& operator=(const ScratchHive&) = delete;
  ~ScratchHive();

  // The directory for files of its programs, which goes with the hive.
  [[nodiscard]] const std::string& place() const noexcept { return place_; }

  // Ends the hive and waits until nothing of it is left. Errors: kSystem, naming the leftover.
  [[nodiscard]] Result<void> close();

 private:
  ScratchHive() = default;

  std::string place_;        // holds the directory of the hive; empty when closed
  os::UniqueFd guard_pipe_;  // closing it wakes the guard
  pid_t guard_ = 0;
};

}  // namespace beeline::cli
