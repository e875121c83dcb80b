#include "src/steward/process_plan.h"

#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

extern char** environ;

namespace beeline::steward {

namespace {

// These are between keeper, service manager and steward.
bool is_private(std::string_view name) {
  return name == "BEELINE_KING" || name == "BEELINE_KEEPER_FD" || name == "BEELINE_TICKET" ||
         name == "NOTIFY_SOCKET" || name.starts_with("LISTEN_") || name == "WATCHDOG_USEC" ||
         name == "WATCHDOG_PID";
}

std::map<std::string, std::string> child_environment(const SpawnOptions& options,
                                                     const std::string& ticket) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto split = text.find('=');
    if (split == std::string_view::npos || is_private(text.substr(0, split))) continue;
    variables.emplace(text.substr(0, split), text.substr(split + 1));
  }
  for (const auto& [name, value] : options.environment) {
    if (value.empty()) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
  }
  variables["BEELINE_TICKET"] = ticket;
  return variables;
}

// The paths at which the program may lie.
Result<std::vector<std::string>> find_program(const std::string& program, std::string path) {
  if (program.find('/') != std::string::npos) return std::vector{program};
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    const std::string folder = end == begin ? "." : path.substr(begin, end - begin);
    const std::string found = folder + "/" + program;
    if (::access(found.c_str(), X_OK) == 0) return std::vector{found};
    begin = end + 1;
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("cannot start {}: no such program in PATH ({})", program, path));
}

}  // namespace

Result<ProcessPlan> plan_process(const SpawnOptions& options, const std::string& ticket,
                                 bool limit_memory) {
  ProcessPlan plan;
  plan.argv = options.command;
  plan.directory = options.directory;
  auto variables = child_environment(options, ticket);
  auto programs = find_program(options.command.front(), variables["PATH"]);
  if (!programs) return tl::unexpected(std::move(programs.error()));
  plan.programs = std::move(*programs);
  for (const auto& [name, value] : variables) {
    if (!value.empty() || name != "PATH") plan.environment.push_back(name + "=" + value);
  }
  const ChildLimits& limits = options.limits;
  if (limits.cpu_seconds != 0) plan.limits.push_back({RLIMIT_CPU, limits.cpu_seconds});
  if (limits.open_files != 0) plan.limits.push_back({RLIMIT_NOFILE, limits.open_files});
  if (limit_memory && limits.memory_bytes != 0) {
    plan.limits.push_back({RLIMIT_AS, limits.memory_bytes});
  }
  if (!options.uid || *options.uid == ::geteuid()) return plan;
  if (::geteuid() != 0) {
    return fail(
        ErrorCode::kDenied,
        fmt::format("cannot start {} as user {}: the steward runs as user {}, and only root "
                    "may start processes of others",
                    options.command.front(), *options.uid, ::geteuid()));
  }
  const passwd* const user = ::getpwuid(*options.uid);
  if (user == nullptr) {
    return fail(ErrorCode::kInvalid,
                fmt::format("cannot start {} as user {}: there is no such user",
                            options.command.front(), *options.uid));
  }
  plan.uid = user->pw_uid;
  plan.gid = user->pw_gid;
  int count = 256;
  plan.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(user->pw_name, user->pw_gid, plan.groups.data(), &count) < 0) count = 1;
  plan.groups.resize(static_cast<std::size_t>(count));
  return plan;
}

}  // namespace beeline::steward
