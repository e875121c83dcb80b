#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "tools/beeline/exit_codes.h"

// `beeline` and `shm-dump` share this of their command lines.

namespace beeline::cli {

// The table of exit codes, one per line.
[[nodiscard]] std::string exit_codes_text();

// Whether --json is among the words. Needed before parsing, because the parsing itself may fail.
[[nodiscard]] bool wants_json(int argc, char** argv);

// "did you mean ...? " if a verb of `app` is like `word`; `path` are the words that lead to it.
[[nodiscard]] std::string guess_verb(const CLI::App& app, const std::string& path,
                                     const std::string& word);

// Ends the program if no verb ran, because the command line asked for help or the version, or is
// wrong. Names the word that is no verb or no option, and a similar one.
[[nodiscard]] ExitCode end_unparsed(const CLI::App& app, const CLI::ParseError& error);

}  // namespace beeline::cli
