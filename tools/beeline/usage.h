#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "tools/beeline/exit_codes.h"

// `beeline` and `shm-dump` share this of their command lines.

namespace beeline::cli {

/// The table of exit codes, a line each.
[[nodiscard]] std::string exit_codes_text();

/// Whether --json is among the words. Known before the command line is read, which may be what is
/// wrong.
[[nodiscard]] bool wants_json(int argc, char** argv);

/// "did you mean ...? " where a verb of `app` is like `word`; `path` is how it is reached.
[[nodiscard]] std::string guess_verb(const CLI::App& app, const std::string& path,
                                     const std::string& word);

/// The end of a command line that was not carried out: it asked for help or for the version, or is
/// wrong. Says where a word is no verb or no option, and which one is like it.
[[nodiscard]] ExitCode end_unparsed(const CLI::App& app, const CLI::ParseError& error);

}  // namespace beeline::cli
