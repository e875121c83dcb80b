#include "src/steward/request.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/service/json_fields.h"
#include "src/service/json_request.h"
#include "src/steward/restart.h"
#include "src/steward/role.h"
#include "src/steward/tier.h"

namespace beeline::steward {

namespace {

using Json = nlohmann::json;
using service::JsonFields;
using std::chrono::milliseconds;

constexpr std::size_t kMostRequestBytes = 256 << 10;
// A start file of 1 MiB, with its escapes.
constexpr std::size_t kMostApplyBytes = 8 << 20;
constexpr std::size_t kMostCommandBytes = 128 << 10;
constexpr std::size_t kMostTextBytes = 4096;
constexpr std::size_t kMostKeyBytes = 256;
constexpr std::uint64_t kMostBytes = 1ULL << 50;
constexpr std::uint64_t kMostSeconds = 1ULL << 31;
constexpr std::uint64_t kMostCount = 1ULL << 20;
constexpr std::uint64_t kLeastOutput = 4096;
constexpr std::uint64_t kMostOutput = 1 << 30;
constexpr milliseconds kMostReadyWithin = std::chrono::hours(1);
constexpr milliseconds kMostGrace = std::chrono::minutes(4);
constexpr milliseconds kMostWait = std::chrono::hours(24 * 365);

constexpr std::array<std::pair<std::string_view, int>, 8> kSignals{{{"TERM", SIGTERM},
                                                                    {"KILL", SIGKILL},
                                                                    {"STOP", SIGSTOP},
                                                                    {"CONT", SIGCONT},
                                                                    {"HUP", SIGHUP},
                                                                    {"INT", SIGINT},
                                                                    {"USR1", SIGUSR1},
                                                                    {"USR2", SIGUSR2}}};

void read_ms(JsonFields& fields, const char* key, milliseconds& to, milliseconds most) {
  auto number = static_cast<std::uint64_t>(to.count());
  fields.read(key, number, 0, static_cast<std::uint64_t>(most.count()));
  to = milliseconds(number);
}

void read_limits(JsonFields& fields, ChildLimits& limits) {
  const Json* const object = fields.find("limits");
  if (object == nullptr) return;
  JsonFields inner("\"limits\"", *object);
  inner.read("memory_bytes", limits.memory_bytes, 0, kMostBytes);
  inner.read("cpu_seconds", limits.cpu_seconds, 0, kMostSeconds);
  inner.read("open_files", limits.open_files, 0, kMostCount);
  inner.read("processes", limits.processes, 0, kMostCount);
  inner.read("max_children", limits.max_children, 0, kMostCount);
  inner.read("output_bytes", limits.output_bytes, kLeastOutput, kMostOutput);
  if (const auto read = inner.finish(); !read) fields.refuse(read.error().text);
}

Result<SpawnOptions> read_spawn(const Json& json) {
  SpawnOptions options;
  JsonFields fields("hive.spawn", json);
  fields.read("name", options.name);
  fields.read("command", options.command);
  fields.read("parent", options.parent);
  fields.read("role", options.role);
  fields.read("tier", options.tier);
  fields.read("model", options.model);
  fields.read("directory", options.directory);
  fields.read("environment", options.environment);
  const Json* const uid = fields.find("uid");
  if (uid != nullptr && !uid->is_null()) {
    std::uint32_t number = 0;
    // The highest number means no user.
    fields.read("uid", number, 0, UINT32_MAX - 1);
    options.uid = number;
  }
  fields.read("restart", options.restart);
  read_limits(fields, options.limits);
  read_ms(fields, "ready_within_ms", options.ready_within, kMostReadyWithin);
  read_ms(fields, "grace_ms", options.grace, kMostGrace);
  fields.read("key", options.key);
  if (const auto read = fields.finish(); !read) return tl::unexpected(read.error());
  if (const auto checked = check_options(options); !checked) {
    return tl::unexpected(checked.error());
  }
  return options;
}

Result<HiveRequest> read_signal(JsonFields& fields) {
  SignalRequest request;
  fields.require("child");
  fields.require("signal");
  fields.read("child", request.child);
  fields.read("signal", request.signal);
  if (const auto read = fields.finish(); !read) return tl::unexpected(read.error());
  for (const auto& [name, number] : kSignals) {
    if (name != request.signal) continue;
    request.number = number;
    return request;
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("hive.signal: \"signal\" must be TERM, KILL, STOP, CONT, HUP, INT, USR1 "
                          "or USR2, it is \"{}\"",
                          request.signal.substr(0, kMostKeyBytes)));
}

Result<HiveRequest> read_sleep(bool is_wake, JsonFields& fields) {
  SignalRequest request{"sleep", {}, "STOP", SIGSTOP};
  if (is_wake) request = {"wake", {}, "CONT", SIGCONT};
  fields.require("child");
  fields.read("child", request.child);
  if (const auto read = fields.finish(); !read) return tl::unexpected(read.error());
  return request;
}

Result<HiveRequest> read_of_child(std::string_view type, JsonFields& fields) {
  KillRequest kill;
  WaitRequest wait;
  const bool is_kill = type == "hive.kill";
  fields.require("child");
  fields.read("child", is_kill ? kill.child : wait.child);
  if (is_kill) {
    fields.read("recursive", kill.recursive);
  } else {
    read_ms(fields, "timeout_ms", wait.timeout, kMostWait);
  }
  if (const auto read = fields.finish(); !read) return tl::unexpected(read.error());
  if (is_kill) return kill;
  return wait;
}

Result<void> check_text(const char* key, std::string_view text, std::size_t most) {
  if (text.size() <= most && text.find('\0') == std::string_view::npos) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("hive.spawn: \"{}\" may have {} bytes and no NUL, it has {}", key, most,
                          text.size()));
}

Result<void> check_command(const std::vector<std::string>& command) {
  if (command.empty() || command.front().empty()) {
    return fail(ErrorCode::kInvalid, "hive.spawn: \"command\" must name a program, it is empty");
  }
  std::size_t bytes = 0;
  for (const std::string& word : command) {
    bytes += word.size() + 1;
    if (auto checked = check_text("command", word, kMostCommandBytes); !checked) return checked;
  }
  if (bytes <= kMostCommandBytes) return {};
  return fail(ErrorCode::kInvalid, fmt::format("hive.spawn: \"command\" has {} bytes, at most {}: "
                                               "write long arguments to a file",
                                               bytes, kMostCommandBytes));
}

Result<void> check_environment(const std::map<std::string, std::string>& environment) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : environment) {
    bytes += name.size() + value.size() + 2;
    if (name.empty() || name.find('=') != std::string::npos) {
      return fail(
          ErrorCode::kInvalid,
          fmt::format("hive.spawn: \"environment\" has the name \"{}\": a name is not empty "
                      "and has no '='",
                      name.substr(0, kMostKeyBytes)));
    }
    for (const std::string& text : {name, value}) {
      if (auto checked = check_text("environment", text, kMostCommandBytes); !checked) {
        return checked;
      }
    }
  }
  if (bytes <= kMostCommandBytes) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("hive.spawn: \"environment\" has {} bytes, at most {}: write long values "
                          "to a file",
                          bytes, kMostCommandBytes));
}

template <typename Words>
Result<void> check_word(const char* key, std::string_view word, const Words& words) {
  if (word.empty() || std::ranges::find(words, word) != std::end(words)) return {};
  return fail(ErrorCode::kInvalid, fmt::format("hive.spawn: \"{}\" must be one of {}, it is \"{}\"",
                                               key, listed(words), word.substr(0, kMostKeyBytes)));
}

Result<void> check_number(const char* key, std::uint64_t value, std::uint64_t least,
                          std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return fail(ErrorCode::kInvalid, fmt::format("hive.spawn: \"{}\" must be {} to {}, it is {}", key,
                                               least, most, value));
}

}  // namespace

Result<void> check_options(const SpawnOptions& options) {
  const auto ready_ms = static_cast<std::uint64_t>(options.ready_within.count());
  const auto grace_ms = static_cast<std::uint64_t>(options.grace.count());
  const auto most_ready = static_cast<std::uint64_t>(kMostReadyWithin.count());
  const auto most_grace = static_cast<std::uint64_t>(kMostGrace.count());
  for (const auto& checked : {
           check_command(options.command),
           check_environment(options.environment),
           check_word("role", options.role, kRoleWords),
           check_word("tier", options.tier, kTierWords),
           check_word("restart", options.restart, kRestartWords),
           check_text("parent", options.parent, kMostTextBytes),
           check_text("model", options.model, kMostTextBytes),
           check_text("directory", options.directory, kMostTextBytes - 1),
           check_text("key", options.key, kMostKeyBytes),
           check_number("output_bytes", options.limits.output_bytes, kLeastOutput, kMostOutput),
           check_number("ready_within_ms", ready_ms, 1, most_ready),
           check_number("grace_ms", grace_ms, 0, most_grace),
       }) {
    if (!checked) return checked;
  }
  return {};
}

Result<HiveRequest> parse_request(std::string_view type, std::string_view payload) {
  const std::size_t most = type == "hive.apply" ? kMostApplyBytes : kMostRequestBytes;
  if (payload.size() > most) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: the request has {} bytes, at most {}", type,
                                                 payload.size(), most));
  }
  const auto json = service::parse_json_request(type, payload);
  if (!json) return tl::unexpected(json.error());
  JsonFields fields(std::string(type), *json);
  if (type == kSpawnRequest) {
    auto options = read_spawn(*json);
    if (!options) return tl::unexpected(std::move(options.error()));
    return SpawnRequest{std::move(*options)};
  }
  if (type == "hive.kill" || type == "hive.wait") return read_of_child(type, fields);
  if (type == "hive.signal") return read_signal(fields);
  if (type == "hive.sleep" || type == "hive.wake") return read_sleep(type == "hive.wake", fields);
  if (type == "hive.list") {
    ListRequest request;
    fields.read("recursive", request.recursive);
    if (const auto read = fields.finish(); !read) return tl::unexpected(read.error());
    return request;
  }
  if (type == "hive.apply") {
    ApplyRequest request;
    fields.require("text");
    fields.read("text", request.text);
    fields.read("file", request.file);
    fields.read("directory", request.directory);
    fields.read("variables", request.variables);
    if (const auto read = fields.finish(); !read) return tl::unexpected(read.error());
    return request;
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("pid 1 does not know requests of type \"{}\"; it knows hive.spawn, "
                          "hive.kill, hive.wait, hive.list, hive.signal, hive.sleep, hive.wake and "
                          "hive.apply",
                          type));
}

std::string spawn_text(const SpawnOptions& options) {
  Json json{{"name", options.name},
            {"command", options.command},
            {"parent", options.parent},
            {"role", options.role},
            {"tier", options.tier},
            {"model", options.model},
            {"directory", options.directory},
            {"environment", options.environment},
            {"restart", options.restart},
            {"ready_within_ms", options.ready_within.count()},
            {"grace_ms", options.grace.count()},
            {"key", options.key},
            {"limits",
             {{"memory_bytes", options.limits.memory_bytes},
              {"cpu_seconds", options.limits.cpu_seconds},
              {"open_files", options.limits.open_files},
              {"processes", options.limits.processes},
              {"max_children", options.limits.max_children},
              {"output_bytes", options.limits.output_bytes}}}};
  if (options.uid) json["uid"] = *options.uid;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SpawnOptions> parse_spawn(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::kInvalid, "hive.spawn: the text is no JSON");
  return read_spawn(json);
}

}  // namespace beeline::steward
