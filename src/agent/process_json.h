#pragma once
// The requests about processes that go to the steward, and its answers, as JSON.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/processes.h>
#include <beeline/result.h>

namespace beeline {

// The types of the requests.
inline constexpr std::string_view kSpawnRequest = "hive.spawn";
inline constexpr std::string_view kKillRequest = "hive.kill";
inline constexpr std::string_view kWaitRequest = "hive.wait";
inline constexpr std::string_view kListRequest = "hive.list";
inline constexpr std::string_view kSignalRequest = "hive.signal";
inline constexpr std::string_view kSleepRequest = "hive.sleep";
inline constexpr std::string_view kWakeRequest = "hive.wake";

// Errors of the requests: kInvalid (a text is no UTF-8, a number is no Signal).
[[nodiscard]] Result<std::string> spawn_request(const SpawnOptions& options);
[[nodiscard]] Result<std::string> kill_request(std::string_view child, bool recursive);
[[nodiscard]] Result<std::string> wait_request(std::string_view child,
                                               std::chrono::milliseconds timeout);
[[nodiscard]] std::string list_request(bool recursive);
[[nodiscard]] Result<std::string> signal_request(std::string_view child, Signal signal);
// `type` is kSleepRequest or kWakeRequest.
[[nodiscard]] Result<std::string> sleep_request(std::string_view type, std::string_view child);

// Errors of the answers: the one that the steward answered; kProtocol (the answer has no such
// form).
[[nodiscard]] Result<SpawnedChild> read_spawned(std::string_view answer);
[[nodiscard]] Result<std::vector<Pid>> read_killed(std::string_view answer);
[[nodiscard]] Result<ChildExit> read_exit(std::string_view answer);
[[nodiscard]] Result<std::vector<ChildInfo>> read_children(std::string_view answer);
// The state in the answer to a kSignalRequest, kSleepRequest or kWakeRequest.
[[nodiscard]] Result<std::string> read_state(std::string_view type, std::string_view answer);

}  // namespace beeline
