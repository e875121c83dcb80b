#pragma once

// Answers of pid 1, as JSON.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/processes.h>
#include <beeline/result.h>

namespace beeline::steward {

[[nodiscard]] std::string error_text(const Error& error);
[[nodiscard]] std::string spawned_text(const SpawnedChild& child);
[[nodiscard]] std::string killed_text(const std::vector<Pid>& pids);
[[nodiscard]] std::string exit_text(const ChildExit& end);
[[nodiscard]] std::string children_text(const std::vector<ChildInfo>& children);
[[nodiscard]] std::string signalled_text(Pid pid, std::string_view state);
[[nodiscard]] std::string applied_text(const std::vector<std::string>& started,
                                       const std::vector<std::string>& restarted,
                                       const std::vector<std::string>& ended, std::size_t same,
                                       const std::vector<std::string>& warnings);

// Messages of pid 1 to the parent of a child.
[[nodiscard]] std::string child_exited_text(const ChildExit& end, std::string_view name);
[[nodiscard]] std::string child_crashed_text(const ChildExit& end, std::string_view name,
                                             std::uint32_t attempts);

// An end as exit_text() has written it.
[[nodiscard]] std::optional<ChildExit> parse_exit(std::string_view text);

}  // namespace beeline::steward
