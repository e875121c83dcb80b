#pragma once

// Start files on the command line: `up --check`, `up --config` and `apply`.

#include <string>

#include <CLI/CLI.hpp>

#include <beeline/result.h>

#include "src/steward/start_file.h"
#include "tools/beeline/options.h"

namespace beeline::cli {

// A start file that was read and is sound.
struct LoadedStartFile {
  steward::StartFile file{};
  std::string text{};
  std::string name{};       // as the user wrote it
  std::string directory{};  // that it lies in, absolute
};

// Reads the file, "-" for stdin, with the variables of this process, and prints its warnings.
// Errors: kSystem, kInvalid (its mistakes; the hive that it names is not the one of --hive).
[[nodiscard]] Result<LoadedStartFile> load_start_file(const Context& context,
                                                      const std::string& path);

// The context for the hive that the file names.
[[nodiscard]] Context context_of(const Context& context, const LoadedStartFile& loaded);

// Says that the file is sound, and shows the tree of its agents.
[[nodiscard]] ExitCode show_start_file(const Context& context, const LoadedStartFile& loaded);

// Lets the steward of a running hive make the agents those of the file, and prints the changes.
[[nodiscard]] ExitCode apply_start_file(const Context& context, const LoadedStartFile& loaded);

void add_apply_verb(CLI::App& app, Context& context);

}  // namespace beeline::cli
