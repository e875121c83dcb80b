#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <beeline/result.h>

namespace beeline::control {

/// Whom a directory lets in.
struct DirectoryAccess {
  mode_t mode = 0;
  gid_t group = 0;
};

/// How a directory was before it was opened to a group, and to which.
struct DirectoryOpening {
  DirectoryAccess before;
  gid_t group = 0;
};

/// Who holds the directory of a hive: what its keeper writes into the lock file. No proof of
/// anything, since whoever was killed leaves it behind.
struct HiveHolder {
  std::string hive;   ///< its name; empty where the text does not say
  pid_t pid = 0;      ///< of the keeper; 0 where the text does not say
  std::string since;  ///< when it started; empty where the text does not say
  std::optional<DirectoryOpening> opening{};  ///< nothing where it was not opened to a group
};

[[nodiscard]] std::string holder_text(const HiveHolder& holder);

/// Reads a lock file. Half a line counts as none. Errors: kSystem (ENOENT: nobody ever held it).
[[nodiscard]] Result<HiveHolder> read_holder(const std::string& lock_path);

}  // namespace beeline::control
