#pragma once

// The start file of a hive: the agents that the steward starts. Its own form is YAML; HiveKernel's
// startup*.json is read as well.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/processes.h>
#include <beeline/result.h>

#include "src/steward/tier.h"

namespace beeline::steward {

struct StartAgent {
  // `parent` is the name of an agent that comes before; empty: pid 1. Tier, model, restart and
  // directory are set.
  SpawnOptions options{};
  int line = 0;  // of its name in the file
};

struct StartFile {
  std::string hive{};                // empty: any
  std::vector<StartAgent> agents{};  // parents first
  std::vector<std::string> warnings{};
  // The variables that the file used, with their values.
  std::map<std::string, std::string> variables{};
};

// The value of a variable for ${NAME}; nullopt if it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string&)>;

struct StartFileSource {
  std::string_view text{};
  std::string name{};       // of the file, in messages
  std::string directory{};  // for relative directories, and for agents that name none
  Lookup lookup{};
};

// Errors: kInvalid; the text has a line for each mistake, FILE:LINE:COLUMN: WHAT, at most 20.
[[nodiscard]] Result<StartFile> read_start_file(const StartFileSource& source);

}  // namespace beeline::steward
