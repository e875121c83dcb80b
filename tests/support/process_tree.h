#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>
#include <vector>

namespace beeline::test {

// The processes that a process has started or adopted, and has not reaped.
inline std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

}  // namespace beeline::test
