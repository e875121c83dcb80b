#pragma once

#include <string>
#include <vector>

#include <beeline/processes.h>

#include "tools/beeline/output.h"

namespace beeline::cli {

// How a child ended, in a few words: "exit 3", "signal 9".
[[nodiscard]] std::string exit_text(const ChildExit& end);
[[nodiscard]] Json exit_json(const ChildExit& end);

// The children as a table, and as a list of objects.
[[nodiscard]] std::string children_text(const std::vector<ChildInfo>& children);
[[nodiscard]] Json children_json(const std::vector<ChildInfo>& children);

}  // namespace beeline::cli
