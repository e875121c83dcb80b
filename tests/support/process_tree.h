#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
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

// The steward that the log of a keeper names last; 0 if it does not run. A child that waits for its
// release looks like its steward, and the keeper adopts it; so the log counts.
inline pid_t steward_of(pid_t keeper, const std::string& keeper_log) {
  constexpr std::string_view kWord = "event=steward_started process=";
  const auto at = keeper_log.rfind(kWord);
  if (at == std::string::npos) return 0;
  const pid_t process = std::atoi(keeper_log.c_str() + at + kWord.size());
  const std::vector<pid_t> running = children_of(keeper);
  return std::ranges::find(running, process) == running.end() ? 0 : process;
}

}  // namespace beeline::test
