#pragma once
// The tree of the hive, as the directory shows it now.

#include "shm/directory.h"
#include "src/control/tree.h"

namespace beeline {

[[nodiscard]] control::Tree read_tree(const shm::DirectoryView& directory);

}  // namespace beeline
