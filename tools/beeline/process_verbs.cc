// kill, wait, ps, signal, sleep, wake.

#include "tools/beeline/process_verbs.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/output.h"
#include "tools/beeline/process_view.h"
#include "tools/beeline/session.h"

namespace beeline::cli {
namespace {

constexpr std::chrono::hours kNoLimit(24 * 365);
constexpr int kSignalled = 128;  // and the number of the signal, as a shell says it
constexpr int kMostStatus = 255;

struct ChildArguments {
  std::string child;
  bool not_recursive = false;
};

ExitCode kill_child(const Context& context, const ChildArguments& arguments) {
  auto agent = attach_asker(context);
  if (!agent) return complain(agent.error());
  const auto killed = agent->processes().kill(arguments.child, !arguments.not_recursive);
  if (!killed) return complain(killed.error());
  std::string text;
  for (const Pid pid : *killed) text += fmt::format("{}\n", pid);
  return (context.json ? print_json({{"killed", *killed}}) : print(text)) ? ExitCode::kOk
                                                                          : ExitCode::kError;
}

ExitCode status_of(const ChildExit& end) {
  if (end.signal != 0) return static_cast<ExitCode>(kSignalled + end.signal);
  const bool fits = end.exit_code >= 0 && end.exit_code <= kMostStatus;
  return fits ? static_cast<ExitCode>(end.exit_code) : ExitCode::kError;
}

ExitCode wait_child(const Context& context, const ChildArguments& arguments) {
  auto agent = attach_asker(context);
  if (!agent) return complain(agent.error());
  const auto timeout =
      std::chrono::ceil<std::chrono::milliseconds>(context.timeout.value_or(kNoLimit));
  const auto end = agent->processes().wait(arguments.child, timeout);
  if (!end) return complain(end.error());
  const std::string& output = end->output;
  const bool is_open = !output.empty() && !output.ends_with('\n');
  const bool printed =
      context.json ? print_json(exit_json(*end)) : print(output + (is_open ? "\n" : ""));
  if (!printed) return ExitCode::kError;
  if (!end->known) {
    return complain(ExitCode::kError, fmt::format("nobody saw the end of \"{}\": the hive was not "
                                                  "running then",
                                                  arguments.child));
  }
  return status_of(*end);
}

ExitCode list_children(const Context& context) {
  auto agent = attach_asker(context);
  if (!agent) return complain(agent.error());
  const auto children = agent->processes().list(true);
  if (!children) return complain(children.error());
  const bool printed =
      context.json ? print_json(children_json(*children)) : print(children_text(*children));
  return printed ? ExitCode::kOk : ExitCode::kError;
}

// Prints the state of a child after `call`.
ExitCode change_state(const Context& context,
                      const std::function<Result<std::string>(Processes)>& call) {
  auto agent = attach_asker(context);
  if (!agent) return complain(agent.error());
  const auto state = call(agent->processes());
  if (!state) return complain(state.error());
  return (context.json ? print_json({{"state", *state}}) : print(*state + "\n")) ? ExitCode::kOk
                                                                                 : ExitCode::kError;
}

Signal signal_named(const std::string& name) {
  const auto* const at = std::find(kSignalNames.begin(), kSignalNames.end(), name);
  return static_cast<Signal>(at - kSignalNames.begin());
}

void add_child_name(CLI::App& verb, std::string& child) {
  verb.add_option("NAME", child, "Name or pid of the agent")->required()->check(is_agent());
}

void add_kill(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ChildArguments>();
  auto* verb = app.add_subcommand("kill", "End a spawned agent and all below it");
  add_child_name(*verb, arguments->child);
  verb->add_flag("--no-recursive", arguments->not_recursive,
                 "Refuse if the agent has living children");
  verb->footer(
      "Examples:\n"
      "  beeline kill worker\n"
      "  beeline kill 7 --no-recursive\n"
      "The lowest end first. Each gets the message `shutdown` and SIGTERM, and SIGKILL after the\n"
      "grace of its spawn. Prints the pids that were ended, NAME last. It is not restarted.\n"
      "Exits with 4 if the steward has no such child.");
  verb->callback([&context, arguments] { context.exit = kill_child(context, *arguments); });
}

void add_wait(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ChildArguments>();
  auto* verb = app.add_subcommand("wait", "Wait for the end of a spawned agent");
  add_child_name(*verb, arguments->child);
  verb->footer(
      "Examples:\n"
      "  beeline wait reviewer --timeout 10m && echo \"it is fine\"\n"
      "  beeline wait 7 --json | jq .reason\n"
      "Prints the last lines of its output. Exits with its exit code, 128 + n if signal n ended\n"
      "it, 1 if nobody saw its end, 5 at the timeout. Waits without a limit unless --timeout says\n"
      "otherwise. An end can be asked for again: the newest 1,024 are kept for a day.");
  verb->callback([&context, arguments] { context.exit = wait_child(context, *arguments); });
}

void add_ps(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("ps", "List the agents that were spawned");
  verb->footer(
      "Examples:\n"
      "  beeline ps\n"
      "  beeline ps --json | jq -r '.[] | select(.state == \"running\") | .os_pid'\n"
      "Those that ended are listed until the steward forgets them. `beeline tree` shows all\n"
      "agents.");
  verb->callback([&context] { context.exit = list_children(context); });
}

void add_signal(CLI::App& app, Context& context) {
  struct Arguments {
    std::string child;
    std::string signal;
  };
  auto arguments = std::make_shared<Arguments>();
  auto* verb = app.add_subcommand("signal", "Send a signal to a spawned agent");
  add_child_name(*verb, arguments->child);
  verb->add_option("SIGNAL", arguments->signal, "One of the names below")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kSignalNames.begin(), kSignalNames.end())));
  verb->footer(
      "Examples:\n"
      "  beeline signal worker USR1\n"
      "  beeline signal 7 KILL\n"
      "The agent's process gets it, and those that it has started itself; agents below it do not.\n"
      "Prints the state afterwards: starting, running, sleeping, restarting or ended. An agent\n"
      "that sleeps takes other signals than KILL when it is woken. `kill` ends an agent for good.\n"
      "Exits with 4 if there is no such agent, or if it has ended: no signal brings it back.");
  verb->callback([&context, arguments] {
    context.exit = change_state(context, [&](Processes processes) {
      return processes.signal(arguments->child, signal_named(arguments->signal));
    });
  });
}

void add_sleep(CLI::App& app, Context& context) {
  auto child = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("sleep", "Stop a spawned agent until `wake`");
  add_child_name(*verb, *child);
  verb->footer(
      "Examples:\n"
      "  beeline sleep worker\n"
      "The agent's process is stopped; its messages wait in its inbox, and its deadlines go on.\n"
      "Prints its state. Does nothing if it sleeps. Agents below it run on. `kill` ends it as it\n"
      "ends a running one. Exits with 4 if it has ended.");
  verb->callback([&context, child] {
    context.exit =
        change_state(context, [&](Processes processes) { return processes.sleep(*child); });
  });
}

void add_wake(CLI::App& app, Context& context) {
  auto child = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("wake", "Let an agent that sleeps run on");
  add_child_name(*verb, *child);
  verb->footer(
      "Examples:\n"
      "  beeline wake worker\n"
      "Prints its state. Exits with 2 if it does not sleep, 4 if it has ended.");
  verb->callback([&context, child] {
    context.exit =
        change_state(context, [&](Processes processes) { return processes.wake(*child); });
  });
}

}  // namespace

Result<Agent> attach_asker(const Context& context) {
  Context asking = context;
  asking.no_start = true;
  return attach_sender(asking, {}, {"", "agent"});
}

void add_process_verbs(CLI::App& app, Context& context) {
  add_kill(app, context);
  add_wait(app, context);
  add_ps(app, context);
  add_signal(app, context);
  add_sleep(app, context);
  add_wake(app, context);
}

}  // namespace beeline::cli
