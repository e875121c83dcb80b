#pragma once

// Control groups of version 2 for the limits of memory and processes, below the steward's own
// group. If the steward may not make any, it says why.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include <beeline/processes.h>
#include <beeline/result.h>

namespace beeline::steward {

class ControlGroups {
 public:
  // Looks for the steward's own group and tries to hand its controllers on. Changes nothing where
  // that fails.
  [[nodiscard]] static ControlGroups find();

  [[nodiscard]] bool are_usable() const { return missing_.empty(); }
  // The reason why they are not usable.
  [[nodiscard]] const std::string& missing() const { return missing_; }

  // Makes the group of a child, of this number, with its limits. Errors: kSystem.
  [[nodiscard]] Result<void> make(std::int64_t child, const ChildLimits& limits) const;
  // Puts a process into it. Errors: kSystem.
  [[nodiscard]] Result<void> join(std::int64_t child, pid_t process) const;
  // Kills everything in it, if there is one.
  void kill(std::int64_t child) const;
  // Removes it, once it is empty.
  void remove(std::int64_t child) const;

 private:
  [[nodiscard]] std::string path_of(std::int64_t child) const;

  std::string root_;  // the steward's own group
  std::string missing_;
};

}  // namespace beeline::steward
