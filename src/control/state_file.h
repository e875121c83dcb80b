#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <beeline/result.h>

#include "shm/identity.h"
#include "src/control/log.h"
#include "src/control/tree.h"

namespace beeline::control {

// The facts that a hive must remember even if keeper and coordinator are lost together: the pids
// that may be in use and the last epoch. Pids are reserved in blocks, so a write is rare. A lost
// file is replaced, and so is one that cannot be parsed, which is moved aside. After that agents
// of an earlier keeper cannot come back, and pids start again above those that the keeper knows.
class StateFile {
 public:
  // Reads the file if there is one and writes the values that count from now on. The keeper says
  // that pids below `reserved` may have been given out, whatever the file says. `epoch()` is
  // higher than in any earlier run, and at least the microseconds since boot. If the file is
  // `optional`, because the keeper knows everything that counts, a file that cannot be read or
  // written now is no error. Errors: kSystem (cannot read, cannot write).
  [[nodiscard]] static Result<StateFile> open(std::string path, Pid reserved = 0,
                                              bool optional = false);

  // Makes the file optional: from here on the keeper knows the reserved pids.
  void make_optional() noexcept { optional_ = true; }

  // Writes the file again. Errors: kSystem, unless it is optional.
  Result<void> renew();

  // Logs, once, that the file could not be written, or that it was written after all.
  void report(Log& log);

  // The next pid; never given out before. Errors: kFull (24 bits are used up), kSystem.
  [[nodiscard]] Result<Pid> take_pid();

  // Makes sure that take_pid() stays above this pid, which an agent brought along.
  void avoid(Pid pid) noexcept { next_pid_ = std::max(next_pid_, pid + 1); }

  // Pids below this one were given out or may be, in this run or an earlier one.
  [[nodiscard]] Pid reserved() const noexcept { return std::max(reserved_, next_pid_); }

  // How many pids were given out so far, or lost with a keeper, and how many are left.
  [[nodiscard]] Pid used() const noexcept { return next_pid_ - 1; }
  [[nodiscard]] Pid left() const noexcept { return shm::kMaxPid - used(); }
  // Less than an eighth is left: time to start another hive.
  [[nodiscard]] bool is_nearly_used_up() const noexcept { return left() < shm::kMaxPid / 8; }

  // The path to which an unparsable file is moved.
  [[nodiscard]] static std::string bad_path(const std::string& path) { return path + ".bad"; }

  // The path of an unparsable file that was moved; empty if there was none.
  [[nodiscard]] const std::string& broken() const noexcept { return broken_; }

  // Pids below this one were reserved by earlier runs.
  [[nodiscard]] Pid first_pid() const noexcept { return first_pid_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

 private:
  explicit StateFile(std::string path) noexcept : path_(std::move(path)) {}
  Result<void> load();
  Result<void> save() const;

  std::string path_;
  std::string broken_;
  bool optional_ = false;
  std::optional<Error> unsaved_;  // the reason why the file is out of date
  std::string reported_;
  Pid first_pid_ = kKingPid + 1;
  Pid next_pid_ = kKingPid + 1;
  Pid reserved_ = kKingPid + 1;  // the lowest pid that is not reserved
  std::uint64_t epoch_ = 0;
};

}  // namespace beeline::control
