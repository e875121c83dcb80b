#pragma once

#include <CLI/CLI.hpp>

#include "tools/beeline/options.h"

namespace beeline::cli {

void add_policy_verb(CLI::App& app, Context& context);

}  // namespace beeline::cli
