#pragma once
// Who stands above whom, read from the directory at one moment.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <beeline/types.h>

#include "shm/directory.h"

namespace beeline {

inline constexpr Pid kCoordinatorPid = 1;

class Family {
 public:
  explicit Family(const shm::DirectoryView& directory);

  // Parent, grandparent and so on; nearest first, the coordinator last.
  [[nodiscard]] std::vector<Pid> ancestors(Pid pid) const;
  // The nearest on both chains, each its own included; 0 when there is none (HK-035).
  [[nodiscard]] Pid nearest_common_ancestor(Pid a, Pid b) const;

 private:
  std::unordered_map<Pid, Pid> parents_;
};

}  // namespace beeline
