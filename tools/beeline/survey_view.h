#pragma once

// The part of `tree`, `status` and `info` that shows the state of each agent.

#include <string>
#include <string_view>
#include <vector>

#include "tools/beeline/output.h"
#include "tools/beeline/survey.h"

namespace beeline::cli {

// "0.3 s", "12 min", "5 h" or "3 d".
[[nodiscard]] std::string duration_text(std::int64_t duration_ns);

// Stands for an unreadable value.
inline constexpr std::string_view kUnreadable = "unreadable";

// Headings and cells: messages that wait and in hand, memory, restarts and running time.
[[nodiscard]] std::vector<std::string> vitals_headings();
[[nodiscard]] std::vector<std::string> vitals_cells(const Survey& survey,
                                                    const control::ListedAgent& agent);

// "stopped (T)"; "-" without a process.
[[nodiscard]] std::string process_text(const Survey& survey, const control::ListedAgent& agent);

// Adds these values, the state and the state of the process to a JSON object.
void add_vitals(const Survey& survey, const control::ListedAgent& agent, Json& json);

}  // namespace beeline::cli
