#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <beeline/result.h>

namespace beeline::control {

// The owner and mode of a directory: they decide which users may enter it.
struct DirectoryAccess {
  mode_t mode = 0;
  gid_t group = 0;
};

// The directory's state before it was opened to a group, and that group.
struct DirectoryOpening {
  DirectoryAccess before;
  gid_t group = 0;
};

// The holder of a hive's directory, as its keeper writes it into the lock file. No proof of
// anything, because a killed keeper leaves it behind.
struct HiveHolder {
  std::string hive;                           // its name; empty if the text does not say
  pid_t pid = 0;                              // of the keeper; 0 if the text does not say
  std::string since;                          // when it started; empty if the text does not say
  std::optional<DirectoryOpening> opening{};  // nothing if the directory was not opened to a
                                              // group
};

[[nodiscard]] std::string holder_text(const HiveHolder& holder);

// Reads a lock file. Half a line counts as none. Errors: kSystem (ENOENT: no process ever held
// it).
[[nodiscard]] Result<HiveHolder> read_holder(const std::string& lock_path);

}  // namespace beeline::control
