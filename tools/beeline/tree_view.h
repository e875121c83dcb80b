#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/control/wire.h"
#include "tools/beeline/output.h"
#include "tools/beeline/survey.h"

namespace beeline::cli {

// The tree of a hive as lines: names with branches, then pid, role, state and OS pid in columns.
// Agents that are finally dead are left out.
[[nodiscard]] std::string draw_tree(const std::vector<control::ListedAgent>& agents,
                                    std::string_view indent = "");

// The same, with the findings of a survey about each agent in further columns.
[[nodiscard]] std::string draw_tree(const Survey& survey);

// The same as nested objects with "children".
[[nodiscard]] Json tree_json(const std::vector<control::ListedAgent>& agents);
[[nodiscard]] Json tree_json(const Survey& survey);

}  // namespace beeline::cli
