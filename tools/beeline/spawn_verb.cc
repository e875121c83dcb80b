// spawn: starts an agent as a child of another one.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "tools/beeline/output.h"
#include "tools/beeline/process_verbs.h"
#include "tools/beeline/session.h"

namespace beeline::cli {
namespace {

struct SpawnArguments {
  SpawnOptions options;
  std::vector<std::string> environment;
  std::string ready_within;
  std::string grace;
};

CLI::Validator is_variable() {
  const auto check = [](const std::string& text) -> std::string {
    const auto end = text.find('=');
    if (end != std::string::npos && end != 0) return "";
    return fmt::format("\"{}\" is no variable: write NAME=VALUE", text);
  };
  return {check, ""};
}

Result<void> read_time(const char* option, const std::string& text,
                       std::chrono::milliseconds& time) {
  if (text.empty()) return {};
  const auto parsed = parse_duration(text);
  if (!parsed) return fail(ErrorCode::kInvalid, fmt::format("{}: {}", option, parsed.error().text));
  time = std::chrono::ceil<std::chrono::milliseconds>(*parsed);
  return {};
}

Result<SpawnOptions> options_of(const SpawnArguments& arguments) {
  SpawnOptions options = arguments.options;
  for (const std::string& variable : arguments.environment) {
    const auto end = variable.find('=');
    options.environment[variable.substr(0, end)] = variable.substr(end + 1);
  }
  if (auto good = read_time("--ready-within", arguments.ready_within, options.ready_within);
      !good) {
    return tl::unexpected(good.error());
  }
  if (auto good = read_time("--grace", arguments.grace, options.grace); !good) {
    return tl::unexpected(good.error());
  }
  return options;
}

ExitCode spawn(const Context& context, const SpawnArguments& arguments) {
  const auto options = options_of(arguments);
  if (!options) return complain(options.error());
  // The hive makes a name of the role; children are seldom called agent-N.
  auto agent = attach_sender(context, {}, {"", "agent"});
  if (!agent) return complain(agent.error());
  const auto child = agent->processes().spawn(*options);
  if (!child) return complain(child.error());
  const bool printed =
      context.json
          ? print_json({{"pid", child->pid}, {"name", child->name}, {"os_pid", child->os_pid}})
          : print(fmt::format("{}\n", child->pid));
  return printed ? ExitCode::kOk : ExitCode::kError;
}

void add_limits(CLI::App& verb, ChildLimits& limits) {
  verb.add_option("--memory", limits.memory_bytes, "Most memory, like 512M")
      ->transform(CLI::AsSizeValue(false));
  verb.add_option("--cpu", limits.cpu_seconds, "Most seconds of processor time");
  verb.add_option("--open-files", limits.open_files, "Most open files");
  verb.add_option("--processes", limits.processes, "Most processes, where control groups allow it");
  verb.add_option("--max-children", limits.max_children, "Most children of the child; 0: no limit")
      ->capture_default_str();
  verb.add_option("--keep-output", limits.output_bytes, "Bytes of its output that are kept")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("1M");
}

}  // namespace

void add_spawn_verb(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<SpawnArguments>();
  SpawnOptions& options = arguments->options;
  auto* verb = app.add_subcommand("spawn", "Start an agent as a child of another one");
  verb->add_option("NAME", options.name, "Name of the new agent")->required()->check(is_agent());
  verb->add_option("COMMAND", options.command, "The program and its arguments, after --")
      ->required();
  verb->add_option("--parent", options.parent, "Name or pid of the parent; the king if not given")
      ->check(is_agent());
  verb->add_option("--role", options.role, "Role of the child")
      ->check(is_agent_role())
      ->capture_default_str();
  verb->add_option("--tier", options.tier, "strategic, tactical or operational; by the role")
      ->check(CLI::IsMember({"strategic", "tactical", "operational"}));
  verb->add_option("--model", options.model, "A word for the child; by the tier");
  verb->add_option("--restart", options.restart, "always, on-failure, notify or never; by the role")
      ->check(CLI::IsMember({"always", "on-failure", "notify", "never"}));
  verb->add_option("--directory", options.directory, "Where it starts; that of the hive");
  verb->add_option("--env", arguments->environment,
                   "A variable, NAME=VALUE, any number of them; NAME= removes it")
      ->check(is_variable())
      ->expected(1)
      ->allow_extra_args(false)  // else it would take the -- behind it
      ->take_all();
  add_limits(*verb, options.limits);
  verb->add_option("--ready-within", arguments->ready_within,
                   "Longest time until it attaches; then it is ended, and the spawn has failed")
      ->default_str("10s");
  verb->add_option("--grace", arguments->grace, "Time to end by itself before it is killed")
      ->default_str("5s");
  verb->add_option("--key", options.key, "A second spawn with this key gets the first answer");
  verb->footer(
      "Examples:\n"
      "  beeline spawn echo -- beeline reply echo --echo\n"
      "  beeline spawn reviewer --parent queen --role task --env TOKEN=x -- ./reviewer --fast\n"
      "  pid=$(beeline spawn w --memory 512M --restart always -- python3 worker.py)\n"
      "Prints the pid of the child in the hive once it has attached. The process gets a ticket in\n"
      "$BEELINE_TICKET, so any attach under NAME, or under none, becomes this agent. If it does "
      "not\n"
      "attach in time, or ends first, the error has the last lines of its output. `beeline wait`,\n"
      "`kill`, `ps` and `log --output` go on from here. Exits with 7 if the parent may not have\n"
      "such a child.");
  verb->callback([&context, arguments] { context.exit = spawn(context, *arguments); });
}

}  // namespace beeline::cli
