#pragma once

// The part of `tree`, `status` and `info` that shows how each agent fares.

#include <string>
#include <string_view>
#include <vector>

#include "tools/beeline/output.h"
#include "tools/beeline/survey.h"

namespace beeline::cli {

/// "0.3 s", "12 min", "5 h" or "3 d".
[[nodiscard]] std::string duration_text(std::int64_t duration_ns);

/// Stands for what cannot be read.
inline constexpr std::string_view kUnreadable = "unreadable";

/// Headings and cells of what waits and what is in hand, of memory, restarts and time of this life.
[[nodiscard]] std::vector<std::string> vitals_headings();
[[nodiscard]] std::vector<std::string> vitals_cells(const Survey& survey,
                                                    const control::ListedAgent& agent);

/// "stopped (T)"; "-" without a process.
[[nodiscard]] std::string process_text(const Survey& survey, const control::ListedAgent& agent);

/// Adds the same, the state and what the process does to an object of JSON.
void add_vitals(const Survey& survey, const control::ListedAgent& agent, Json& json);

}  // namespace beeline::cli
