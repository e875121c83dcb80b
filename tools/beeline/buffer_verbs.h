#pragma once

// The verbs below `beeline buffer`: the durable buffer on the command line.

#include <CLI/CLI.hpp>

#include "tools/beeline/options.h"

namespace beeline::cli {

void add_buffer_verbs(CLI::App& app, Context& context);

// Each adds its verbs to `buffer`.
void add_buffer_run_verb(CLI::App& buffer, Context& context);
void add_buffer_work_verbs(CLI::App& buffer, Context& context);  // put, next, ack, prune
void add_buffer_look_verbs(CLI::App& buffer, Context& context);  // status, ls, tasks, show

}  // namespace beeline::cli
