#pragma once

// The verbs of processes: spawn, kill, wait, ps, signal, sleep, wake, log --output.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <beeline/agent.h>

#include "tools/beeline/options.h"

namespace beeline::cli {

void add_spawn_verb(CLI::App& app, Context& context);
void add_process_verbs(CLI::App& app, Context& context);  // kill, wait, ps, signal, sleep, wake

// A temporary agent that asks the steward. It starts no hive.
[[nodiscard]] Result<Agent> attach_asker(const Context& context);

// Prints the output that the steward keeps of a child, and with `follows` what the child goes on to
// write: until the child has ended, a signal, or the timeout.
[[nodiscard]] ExitCode print_output(const Context& context, const std::string& name, bool follows);

}  // namespace beeline::cli
