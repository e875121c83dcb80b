#pragma once

#include <cstdint>
#include <string>

#include <beeline/result.h>

#include "src/control/tree.h"

namespace beeline::control {

/// What a hive must remember even if keeper and coordinator are lost together: which pids may be in
/// use and how high the epoch was. Pids are reserved in blocks, so a write is rare. A lost or
/// broken file is replaced: pids then start again, and agents of an earlier keeper cannot come
/// back.
class StateFile {
 public:
  /// Reads the file if there is one and reserves the first block. `epoch()` is higher than in any
  /// earlier run, and at least the microseconds since boot. Errors: kSystem (cannot write).
  [[nodiscard]] static Result<StateFile> open(std::string path);

  /// The next pid; never given out before. Errors: kFull (24 bits are used up), kSystem.
  [[nodiscard]] Result<Pid> take_pid();

  /// Makes sure that take_pid() stays above this pid, which an agent brought along.
  void avoid(Pid pid) noexcept;

  /// Pids below this one were reserved by earlier runs.
  [[nodiscard]] Pid first_pid() const noexcept { return first_pid_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

 private:
  explicit StateFile(std::string path) noexcept : path_(std::move(path)) {}
  Result<void> save() const;

  std::string path_;
  Pid first_pid_ = kKingPid + 1;
  Pid next_pid_ = kKingPid + 1;
  Pid reserved_ = kKingPid + 1;  // the first that is not reserved
  std::uint64_t epoch_ = 0;
};

}  // namespace beeline::control
