#pragma once
// A process that ends a hive when its test is killed or aborts.

#include <sys/types.h>

#include <string>

#include "src/os/fd.h"

namespace beeline::steward::test {

class HiveGuard {
 public:
  // Guards the hive in this directory. REQUIRES: the test has one thread.
  explicit HiveGuard(const std::string& directory);
  // The test has ended as it should, and ends its hive itself.
  ~HiveGuard();
  HiveGuard(const HiveGuard&) = delete;
  HiveGuard& operator=(const HiveGuard&) = delete;

 private:
  os::UniqueFd line_;  // ends with the test
  pid_t pid_ = -1;
};

// Waits for the ends of all processes of the hive in this directory, those that start meanwhile
// included.
void expect_all_end(const std::string& directory);

}  // namespace beeline::steward::test
