#pragma once

// The verbs below `beeline spool`: the task folder on the command line.

#include <CLI/CLI.hpp>

#include "tools/beeline/options.h"

namespace beeline::cli {

void add_spool_verbs(CLI::App& app, Context& context);

// Each adds its verbs to `spool`.
void add_spool_put_verb(CLI::App& spool, Context& context);
void add_spool_work_verbs(CLI::App& spool,
                          Context& context);  // claim, done, fail, retry, heartbeat
void add_spool_look_verbs(CLI::App& spool, Context& context);  // ls, show, watch
void add_spool_feed_verb(CLI::App& spool, Context& context);

}  // namespace beeline::cli
