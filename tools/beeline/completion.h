#pragma once

// Completion for shells: the words that may come next on a command line.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tools/beeline/options.h"

namespace beeline::cli {

// The shells that there is a script for.
inline constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

struct Candidate {
  std::string word;
  std::string about;  // for people; may be empty
};

// Candidates for the last of these words: verbs, options, and names of agents, hives, roles and
// ranks, as its place requires. `words` are those after the name of the program. Reads the command
// line as `app` describes it. Asks the hive for its agents, and never starts a hive.
[[nodiscard]] std::vector<Candidate> complete(CLI::App& app, std::vector<std::string> words);

}  // namespace beeline::cli
