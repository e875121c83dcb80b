#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "tools/beeline/exit_codes.h"

namespace beeline::cli {

/// The table of exit codes, a line each.
[[nodiscard]] std::string exit_codes_text();

/// The end of a command line that was not carried out: it asked for help or for the version, or is
/// wrong. Says where a word is no verb, and which verb is like it.
[[nodiscard]] ExitCode end_unparsed(const CLI::App& app, const CLI::ParseError& error);

}  // namespace beeline::cli
