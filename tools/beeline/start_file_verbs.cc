// apply, and the parts of `up` that read a start file.

#include "tools/beeline/start_file_verbs.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <beeline/agent.h>

#include "src/control/names.h"
#include "tools/beeline/asking.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

constexpr Pid kSteward = 1;
constexpr std::array<const char*, 3> kChanges = {"started", "restarted", "ended"};

std::optional<std::string> value_of_variable(const std::string& name) {
  const char* const value = ::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

Json agent_json(const steward::StartAgent& agent) {
  const SpawnOptions& options = agent.options;
  return {{"name", options.name},
          {"parent", options.parent.empty() ? Json(nullptr) : Json(options.parent)},
          {"role", options.role},
          {"tier", options.tier},
          {"model", options.model},
          {"restart", options.restart},
          {"command", options.command},
          {"directory", options.directory},
          {"line", agent.line}};
}

// The agents, each below its parent.
std::string tree_text(const std::vector<steward::StartAgent>& agents) {
  Table table({"AGENT", "ROLE", "TIER", "MODEL", "RESTART", "COMMAND"});
  std::map<std::string, std::size_t> depths;
  for (const auto& [options, line] : agents) {
    const auto parent = depths.find(options.parent);
    const std::size_t depth = parent == depths.end() ? 0 : parent->second + 1;
    depths.emplace(options.name, depth);
    table.add({std::string(2 * depth, ' ') + options.name, options.role, options.tier,
               options.model, options.restart, fmt::format("{}", fmt::join(options.command, " "))});
  }
  return table.text();
}

// Each agent may take its time to end and its time to get ready.
std::chrono::nanoseconds patience_for(const steward::StartFile& file) {
  std::chrono::nanoseconds patience = std::chrono::minutes(1);
  for (const auto& [options, line] : file.agents) patience += options.ready_within + options.grace;
  return patience;
}

ErrorCode code_of(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kFailed); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (to_string(code) == word) return code;
  }
  return ErrorCode::kSystem;
}

// The answer of the steward, as an object. Errors: the one that it answered, kProtocol.
Result<Json> read_answer(std::string_view text) {
  Json answer = Json::parse(text, nullptr, false);
  const auto broken = [&] {
    return fail(ErrorCode::kProtocol, fmt::format("pid 1 answered hive.apply with \"{}\", which is "
                                                  "no such answer; see the log of the hive",
                                                  text));
  };
  if (!answer.is_object()) return broken();
  if (answer.contains("error")) {
    const Json& error = answer["error"];
    if (!error.is_object() || !error.contains("text") || !error["text"].is_string()) {
      return broken();
    }
    const Json code = error.value("code", Json(""));
    return fail(code_of(code.is_string() ? code.get<std::string>() : ""),
                error["text"].get<std::string>());
  }
  for (const char* const key : kChanges) {
    if (!answer.contains(key) || !answer[key].is_array()) return broken();
    for (const Json& name : answer[key]) {
      const bool is_name = name.is_string() && control::check_agent_name(name.get<std::string>());
      if (!is_name) return broken();
    }
  }
  if (!answer.contains("same") || !answer["same"].is_number_unsigned()) return broken();
  return answer;
}

std::string changes_text(const Json& answer) {
  std::string text;
  for (const char* const key : kChanges) {
    for (const Json& name : answer[key]) {
      text += fmt::format("{:<9}  {}\n", key, name.get<std::string>());
    }
  }
  return text + fmt::format("{} as before\n", answer["same"].get<std::uint64_t>());
}

// A temporary agent that starts no hive. It has a name of its own: the hive would make one of its
// role and pid, like worker-2, which an agent of the file may need.
Result<Agent> attach_applier(const Context& context) {
  Context running = context;
  running.no_start = true;
  return attach_sender(running, {.as = fmt::format("apply-{}", ::getpid())}, {"", "agent"});
}

Result<Json> ask_for_it(const Context& context, Agent& agent, const LoadedStartFile& loaded) {
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return tl::unexpected(signals.error());
  const auto steward = agent.peer(To(kSteward));
  if (!steward) return tl::unexpected(steward.error());
  const Json request{{"text", loaded.text},
                     {"file", loaded.name},
                     {"directory", loaded.directory},
                     {"variables", loaded.file.variables}};
  SendOptions options;
  options.type = "hive.apply";
  const auto patience = context.timeout.value_or(patience_for(loaded.file));
  const Asked asked = ask(agent, *signals, {*steward, "king", after(patience)},
                          request.dump(-1, ' ', false, Json::error_handler_t::replace), options);
  if (asked.reply && *asked.reply) return read_answer((*asked.reply)->text());
  if (asked.reply) return tl::unexpected(asked.reply->error());
  if (asked.is_stopped) return fail(ErrorCode::kNotice, "stopped by a signal: " + asked.fate);
  return fail(ErrorCode::kTimeout,
              fmt::format("{} was not applied within {} ms: {}; allow more with --timeout, and see "
                          "`beeline ps`",
                          loaded.name, asked.waited / std::chrono::milliseconds(1), asked.fate));
}

}  // namespace

Result<LoadedStartFile> load_start_file(const Context& context, const std::string& path) {
  const bool is_stdin = path == "-";
  auto text = read_body(is_stdin ? "-" : '@' + path);
  if (!text) return tl::unexpected(std::move(text.error()));
  LoadedStartFile loaded;
  loaded.text = std::move(*text);
  loaded.name = is_stdin ? "stdin" : path;
  std::error_code error;
  const auto whole = std::filesystem::absolute(is_stdin ? "." : path, error).lexically_normal();
  if (error) {
    return fail(ErrorCode::kSystem,
                fmt::format("cannot tell the directory of {}: {}", path, error.message()));
  }
  loaded.directory = whole.parent_path().string();
  auto file =
      steward::read_start_file({loaded.text, loaded.name, loaded.directory, value_of_variable});
  if (!file) return tl::unexpected(std::move(file.error()));
  loaded.file = std::move(*file);
  for (const std::string& warning : loaded.file.warnings) remark(warning);
  const std::string& hive = loaded.file.hive;
  if (!hive.empty() && !context.hive.empty() && hive != context.hive) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: the file is for hive \"{}\", --hive says \"{}\"; leave one out",
                            loaded.name, hive, context.hive));
  }
  return loaded;
}

Context context_of(const Context& context, const LoadedStartFile& loaded) {
  Context of_file = context;
  if (!loaded.file.hive.empty()) of_file.hive = loaded.file.hive;
  return of_file;
}

ExitCode show_start_file(const Context& context, const LoadedStartFile& loaded) {
  const steward::StartFile& file = loaded.file;
  if (context.json) {
    Json agents = Json::array();
    for (const steward::StartAgent& agent : file.agents) agents.push_back(agent_json(agent));
    print_json({{"file", loaded.name},
                {"ok", true},
                {"hive", file.hive.empty() ? Json(nullptr) : Json(file.hive)},
                {"agents", agents},
                {"warnings", file.warnings}});
    return ExitCode::kOk;
  }
  print(fmt::format("{}: OK, {} agents\n", loaded.name, file.agents.size()));
  if (!file.agents.empty()) print(tree_text(file.agents));
  return ExitCode::kOk;
}

ExitCode apply_start_file(const Context& context, const LoadedStartFile& loaded) {
  auto agent = attach_applier(context);
  if (!agent) return complain(agent.error());
  const auto answer = ask_for_it(context, *agent, loaded);
  if (!answer) return complain(answer.error());
  print(context.json ? json_line(*answer) : changes_text(*answer));
  return ExitCode::kOk;
}

void add_apply_verb(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("apply", "Make the agents of a hive those of a start file");
  verb->add_option("FILE", *path, "The start file, - for stdin")->required();
  verb->footer(
      "Examples:\n"
      "  beeline apply hive.yaml\n"
      "  beeline apply hive.yaml --json | jq -r '.restarted[]'\n"
      "  beeline up --check hive.yaml     only say what is wrong with it\n"
      "Starts the agents that are new in the file, restarts those that changed, ends those that\n"
      "are not in it any more, and leaves the others alone. Agents that no start file started\n"
      "are not touched. `${NAME}` is taken from the environment of this command. Exits with 2\n"
      "if the file has mistakes, and with 3 if no coordinator runs: `beeline up --config FILE`\n"
      "starts it.");
  verb->callback([&context, path] {
    const auto loaded = load_start_file(context, *path);
    context.exit =
        loaded ? apply_start_file(context_of(context, *loaded), *loaded) : complain(loaded.error());
  });
}

}  // namespace beeline::cli
