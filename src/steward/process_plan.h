#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <beeline/processes.h>
#include <beeline/result.h>

namespace beeline::steward {

// Everything that a new process needs, found before it is made.
struct ProcessPlan {
  struct Limit {
    int resource = 0;
    std::uint64_t value = 0;
  };
  std::vector<std::string> argv{};
  std::vector<std::string> programs{};  // paths to try, in the order of PATH
  std::vector<std::string> environment{};
  std::string directory{};  // empty: the steward's
  std::vector<Limit> limits{};
  std::optional<uid_t> uid{};  // nullopt: the steward's
  gid_t gid = 0;
  std::vector<gid_t> groups{};
};

// `ticket` goes to the environment. With `limit_memory` the memory limit is one of the address
// space. Errors: kInvalid (the program is not in PATH, or there is no such user), kDenied (another
// user, and the steward is not root).
[[nodiscard]] Result<ProcessPlan> plan_process(const SpawnOptions& options,
                                               const std::string& ticket, bool limit_memory);

}  // namespace beeline::steward
