#pragma once

// Requests to pid 1: JSON in, values out.

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include <beeline/processes.h>
#include <beeline/result.h>

namespace beeline::steward {

inline constexpr std::string_view kSpawnRequest = "hive.spawn";

struct SpawnRequest {
  SpawnOptions options{};
};
struct KillRequest {
  std::string child{};
  bool recursive = true;
};
struct WaitRequest {
  std::string child{};
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
};
struct ListRequest {
  bool recursive = false;
};
// A request of type hive.signal, hive.sleep or hive.wake.
struct SignalRequest {
  std::string verb = "signal";  // or "sleep", "wake"
  std::string child{};
  std::string signal{};  // without "SIG"
  int number = 0;
};
struct ApplyRequest {
  std::string text{};
  std::string file{};
  std::string directory{};  // of the file
  // Values for the ${NAME}s of the file.
  std::map<std::string, std::string> variables{};
};
using HiveRequest =
    std::variant<SpawnRequest, KillRequest, WaitRequest, ListRequest, SignalRequest, ApplyRequest>;

// Reads a request of type "hive.*". Errors: kInvalid, with the key, its limits and its value.
[[nodiscard]] Result<HiveRequest> parse_request(std::string_view type, std::string_view payload);

// The options of a spawn as hive.spawn has them, and back. The store keeps this text.
[[nodiscard]] std::string spawn_text(const SpawnOptions& options);
[[nodiscard]] Result<SpawnOptions> parse_spawn(std::string_view text);

// Fails if the options are no possible ones, wherever they come from: kInvalid.
[[nodiscard]] Result<void> check_options(const SpawnOptions& options);

}  // namespace beeline::steward
