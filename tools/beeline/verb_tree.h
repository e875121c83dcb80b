#pragma once

// Walks over the verbs and options that CLI11 knows, for help texts and for completion.

#include <vector>

#include <CLI/CLI.hpp>

namespace beeline::cli {

// The verbs below a verb, or below the program, in the order of its help, without hidden ones.
[[nodiscard]] std::vector<CLI::App*> listed_verbs(CLI::App& app);

// Its own options and positional arguments, those of its option groups included.
[[nodiscard]] std::vector<CLI::Option*> arguments_of(CLI::App& app);

}  // namespace beeline::cli
