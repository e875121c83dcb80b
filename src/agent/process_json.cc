#include "src/agent/process_json.h"

#include <cstddef>
#include <utility>

#include "src/agent/json_answer.h"

namespace beeline {

namespace {

using ProcessJson = nlohmann::json;

ServiceCall to_steward(std::string_view type) { return {"the steward", type}; }

ChildExit exit_in(JsonAnswer& answer) {
  ChildExit end;
  answer.read("pid", end.pid);
  answer.read("exit_code", end.exit_code);
  answer.read("signal", end.signal);
  answer.read("known", end.known);
  answer.read("reason", end.reason);
  answer.read("output", end.output);
  return end;
}

ChildInfo child_in(JsonAnswer& answer) {
  ChildInfo child;
  answer.read("pid", child.pid);
  answer.read("parent", child.parent);
  answer.read("name", child.name);
  answer.read("role", child.role);
  answer.read("tier", child.tier);
  answer.read("model", child.model);
  answer.read("state", child.state);
  answer.read("restart", child.restart);
  answer.read("os_pid", child.os_pid);
  answer.read("restarts", child.restarts);
  answer.read("started_unix_ns", child.started_unix_ns);
  answer.read("log", child.log);
  if (answer.has("end")) {
    JsonAnswer end = answer.inner("end");
    child.end = exit_in(end);
    answer.adopt(end.error());
  }
  return child;
}

}  // namespace

Result<std::string> spawn_request(const SpawnOptions& options) {
  const ChildLimits& limits = options.limits;
  ProcessJson json = {{"name", options.name},
                      {"command", options.command},
                      {"role", options.role},
                      {"tier", options.tier},
                      {"model", options.model},
                      {"directory", options.directory},
                      {"environment", options.environment},
                      {"restart", options.restart},
                      {"limits",
                       {{"memory_bytes", limits.memory_bytes},
                        {"cpu_seconds", limits.cpu_seconds},
                        {"open_files", limits.open_files},
                        {"processes", limits.processes},
                        {"max_children", limits.max_children},
                        {"output_bytes", limits.output_bytes}}},
                      {"ready_within_ms", options.ready_within.count()},
                      {"grace_ms", options.grace.count()},
                      {"key", options.key}};
  if (!options.parent.empty()) json["parent"] = options.parent;
  if (options.uid) json["uid"] = *options.uid;
  // An empty text is the default of these.
  for (const char* const key : {"tier", "model", "directory", "restart", "key"}) {
    if (json[key].get_ref<const std::string&>().empty()) json.erase(key);
  }
  return text_of_request(to_steward(kSpawnRequest), json);
}

Result<std::string> kill_request(std::string_view child, bool recursive) {
  return text_of_request(to_steward(kKillRequest), {{"child", child}, {"recursive", recursive}});
}

Result<std::string> wait_request(std::string_view child, std::chrono::milliseconds timeout) {
  return text_of_request(to_steward(kWaitRequest),
                         {{"child", child}, {"timeout_ms", timeout.count()}});
}

std::string list_request(bool recursive) {
  return recursive ? R"({"recursive":true})" : R"({"recursive":false})";
}

Result<std::string> signal_request(std::string_view child, Signal signal) {
  const auto number = static_cast<std::size_t>(signal);
  if (number >= kSignalNames.size()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is no signal for a child: their numbers are 0 to {}", number,
                            kSignalNames.size() - 1));
  }
  return text_of_request(to_steward(kSignalRequest),
                         {{"child", child}, {"signal", kSignalNames[number]}});
}

Result<std::string> sleep_request(std::string_view type, std::string_view child) {
  return text_of_request(to_steward(type), {{"child", child}});
}

Result<SpawnedChild> read_spawned(std::string_view answer) {
  return read_answer(to_steward(kSpawnRequest), answer, [](JsonAnswer& from) {
    SpawnedChild child;
    from.read("pid", child.pid);
    from.read("name", child.name);
    from.read("os_pid", child.os_pid);
    return child;
  });
}

Result<std::vector<Pid>> read_killed(std::string_view answer) {
  return read_answer(to_steward(kKillRequest), answer, [](JsonAnswer& from) {
    std::vector<Pid> killed;
    from.read("killed", killed);
    return killed;
  });
}

Result<ChildExit> read_exit(std::string_view answer) {
  return read_answer(to_steward(kWaitRequest), answer, exit_in);
}

Result<std::vector<ChildInfo>> read_children(std::string_view answer) {
  return read_answer(to_steward(kListRequest), answer, [](JsonAnswer& from) {
    std::vector<ChildInfo> children;
    from.read_list("children", children, child_in);
    return children;
  });
}

Result<std::string> read_state(std::string_view type, std::string_view answer) {
  return read_answer(to_steward(type), answer, [](JsonAnswer& from) {
    std::string state;
    from.read("state", state);
    return state;
  });
}

}  // namespace beeline
