#pragma once

// The hives of this machine, as far as this user can see them.

#include <sys/types.h>

#include <string>
#include <vector>

#include "src/control/hive_holder.h"
#include "src/control/hive_paths.h"

namespace beeline::control {

struct FoundHive {
  std::string hive;
  std::string directory;
  uid_t user = 0;     // the owner of the directory
  HiveHolder holder;  // as the lock file says
  bool runs = false;  // a keeper holds the lock. If not, a hive was killed and has left its files
};

// All hives that this user can reach: those in $BEELINE_DIR and in the places of find_hive(), and
// every other one with a listening socket that this user may connect to. Asks no process and
// starts none.
[[nodiscard]] std::vector<FoundHive> find_hives();

// The directories in which another hive of this name runs for the same user, because find_hive()
// chose otherwise in another environment. Empty if $BEELINE_DIR says which hive is meant. Root
// that came by sudo also counts as the user that it was before.
[[nodiscard]] std::vector<std::string> same_name_elsewhere(const HivePaths& paths);

}  // namespace beeline::control
