// exec: gives a task to an agent, as its parent, and prints the result.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(20);  // between two looks
constexpr std::chrono::nanoseconds kGrace = std::chrono::seconds(1);
constexpr int kMostExitCode = 255;

struct ExecArguments {
  std::string child;
  std::string description;
  std::vector<std::string> params;
  std::string context;
  SenderArguments parent;
};

// The outcome of a task. Without a result, a signal ended the wait before the child has confirmed
// that it gave the task up.
struct Given {
  std::optional<Result<TaskResult>> result;
  bool is_stopped = false;  // by a signal
};

CLI::Validator is_param() {
  const auto check = [](const std::string& text) -> std::string {
    const auto end = text.find('=');
    if (end != std::string::npos && end != 0) return "";
    return fmt::format("\"{}\" is no parameter: write NAME=VALUE", text);
  };
  return {check, ""};
}

Result<Task> make_task(const Context& context, const ExecArguments& arguments) {
  if (arguments.description == "-" && arguments.context == "-") {
    return fail(ErrorCode::kInvalid, "stdin is either the description or the context, not both");
  }
  Task task;
  auto description = read_body(arguments.description);
  if (!description) return tl::unexpected(std::move(description.error()));
  task.description = std::move(*description);
  if (!arguments.context.empty()) {
    auto text = read_body(arguments.context == "-" ? "-" : '@' + arguments.context);
    if (!text) return tl::unexpected(std::move(text.error()));
    task.context = std::move(*text);
  }
  for (const std::string& param : arguments.params) {
    const auto end = param.find('=');
    task.params[param.substr(0, end)] = param.substr(end + 1);
  }
  if (context.timeout)
    task.timeout = std::chrono::ceil<std::chrono::milliseconds>(*context.timeout);
  return task;
}

// Waits for the child, because it may be about to attach.
Result<Peer> await_child(Agent& agent, const ExecArguments& arguments, Signals& signals,
                         Deadline deadline) {
  auto child = agent.wait_for(arguments.child, deadline, {.stop_fd = signals.fd()});
  if (!child && child.error().code == ErrorCode::kNotice) {
    return fail(ErrorCode::kNotice, "stopped by a signal: nothing was sent");
  }
  return child;
}

// The parent as the hive lists it. It must have no process, because we are to be its next one.
// Errors: kNoAgent, kDenied (it is the coordinator), kAlreadyRunning, those of the registry.
Result<std::string> free_parent(const Context& context, const ExecArguments& arguments,
                                Signals& signals, Deadline deadline) {
  auto visitor = attach_sender(context, {}, {"", "agent"});
  if (!visitor) return tl::unexpected(std::move(visitor.error()));
  const auto child = await_child(*visitor, arguments, signals, deadline);
  if (!child) return tl::unexpected(child.error());
  const auto known = visitor->info(child->pid);
  if (!known) return tl::unexpected(known.error());
  const std::string rule =
      fmt::format("only the parent of \"{}\" may give it a task", arguments.child);
  auto parent = visitor->info(known->parent);
  if (!parent || parent->state == State::kDead) {
    return fail(ErrorCode::kNoAgent,
                fmt::format("{}, and that has ended; start \"{}\" below another one: `beeline "
                            "reply {} --parent PARENT --tasks ...`",
                            rule, arguments.child, arguments.child));
  }
  if (parent->role == "kernel") {
    return fail(ErrorCode::kDenied,
                fmt::format("{}, and that is the coordinator; attach it below an agent: `beeline "
                            "reply NAME --parent PARENT --tasks ...`",
                            rule));
  }
  if (parent->os_pid == 0) return std::move(parent->name);
  return fail(ErrorCode::kAlreadyRunning,
              fmt::format("{}, and that is \"{}\", which runs as process {}: give the task from "
                          "there (Tasks::execute), or end that process first",
                          rule, parent->name, parent->os_pid));
}

// Attaches as the parent: as the agent of --as, or as the one that the hive knows.
Result<Agent> attach_parent(const Context& context, const ExecArguments& arguments,
                            Signals& signals, Deadline deadline) {
  SenderArguments parent = arguments.parent;
  if (parent.as.empty()) {
    auto found = free_parent(context, arguments, signals, deadline);
    if (!found) return tl::unexpected(std::move(found.error()));
    parent.as = std::move(*found);
  }
  auto agent = attach_sender(context, parent, {"", "agent"});
  if (!agent && agent.error().code == ErrorCode::kAlreadyRunning) {
    return fail(ErrorCode::kAlreadyRunning,
                agent.error().text +
                    ": give the task from there (Tasks::execute), or end that "
                    "process first");
  }
  return agent;
}

Given give(Agent& agent, Signals& signals, Peer child, const std::string& name, const Task& task,
           Deadline deadline) {
  Given given;
  const auto then = [&](Result<TaskResult> result) {
    given.result.emplace(std::move(result));
    agent.stop_serving();
  };
  const auto progress = [&](const TaskProgress& told) {
    remark(fmt::format("{}: {}", name, told.text));
  };
  const auto id = agent.tasks().execute_then(child, task, then, progress, deadline);
  if (!id) given.result.emplace(tl::unexpected(id.error()));
  // Hands out no message: the messages in the inbox of the parent are not for this verb.
  const Filter none{.reply_to = std::numeric_limits<MessageId>::max()};
  for (Deadline end = Deadline::max(); !given.result && Clock::now() < end;) {
    if (signals.take()) {
      if (std::exchange(given.is_stopped, true)) break;
      (void)agent.tasks().cancel(*id);
      end = after(kGrace);
    }
    const auto served =
        agent.serve([](Message&) { return Ack{}; }, {.until = after(kSlice), .filter = none});
    if (!served && !given.result) given.result.emplace(tl::unexpected(served.error()));
  }
  return given;
}

// The text of the error, and what to do next.
std::string advice(const Error& error, const std::string& name) {
  if (error.text.find("no task handler") != std::string::npos) {
    return fmt::format(
        "{}; start it with one: `beeline reply {} --tasks --command ...`, or Tasks::handle() in "
        "its program",
        error.text, name);
  }
  if (error.code == ErrorCode::kTimeout) return error.text + "; allow more with --timeout";
  if (error.code == ErrorCode::kPeerDead || error.code == ErrorCode::kPeerDeadTaken) {
    return fmt::format("{}; start \"{}\" again, then give the task again", error.text, name);
  }
  return error.text;
}

ExitCode print_result(const Context& context, const TaskResult& result) {
  bool printed = true;
  if (context.json) {
    Json json;
    json["exit_code"] = result.exit_code;
    set_text(json, "output", result.output);
    for (const auto& [key, pairs] :
         {std::pair("artifacts", &result.artifacts), std::pair("metadata", &result.metadata)}) {
      json[key] = Json::object();
      for (const auto& [name, value] : *pairs) set_text(json[key], name, value);
    }
    printed = print_json(json);
  } else if (!result.output.empty()) {
    printed = print(result.output + (result.output.ends_with('\n') ? "" : "\n"));
  }
  if (!printed) return ExitCode::kError;
  const bool fits = result.exit_code >= 0 && result.exit_code <= kMostExitCode;
  return fits ? static_cast<ExitCode>(result.exit_code) : ExitCode::kError;
}

ExitCode exec(const Context& context, const ExecArguments& arguments) {
  const auto task = make_task(context, arguments);
  if (!task) return complain(task.error());
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  const Deadline deadline = after(task->timeout);
  auto agent = attach_parent(context, arguments, *signals, deadline);
  if (!agent) return complain(agent.error());
  const LastWords last_words(*agent, arguments.parent.as);
  const auto child = await_child(*agent, arguments, *signals, deadline);
  if (!child) return complain(child.error());

  const Given given = give(*agent, *signals, *child, arguments.child, *task, deadline);
  if (given.result && *given.result) return print_result(context, **given.result);
  if (given.is_stopped) {
    return complain(ExitCode::kError,
                    given.result ? "stopped by a signal: the task was cancelled"
                                 : "stopped by a signal: an order to cancel the task was sent and "
                                   "is not confirmed yet");
  }
  const Error& error = given.result->error();
  return complain(Error{error.code, error.sys_errno, advice(error, arguments.child)});
}

}  // namespace

void add_exec_verb(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ExecArguments>();
  auto* verb = app.add_subcommand("exec", "Give an agent a task, wait for its result and print it");
  verb->add_option("NAME", arguments->child, "The agent that does the task")
      ->required()
      ->check(is_agent());
  verb->add_option("DESCRIPTION", arguments->description,
                   "The text itself, - for stdin, @FILE for a file")
      ->required();
  verb->add_option("--param", arguments->params, "A parameter, NAME=VALUE; any number of them")
      ->check(is_param())
      ->expected(1)
      ->take_all();
  verb->add_option("--context", arguments->context, "File with the context, - for stdin");
  auto* as = verb->add_option("--as", arguments->parent.as,
                              "The parent to act as: one that is away is taken over, and stays "
                              "with its inbox; a new one is forgotten at the end. If not given, "
                              "the parent of NAME, which must be away")
                 ->check(is_agent());
  verb->add_flag("--keep", arguments->parent.keep, "Keep the new name of --as")->needs(as);
  verb->footer(
      "Examples:\n"
      "  beeline exec worker \"count the words\" --param language=en --context book.txt\n"
      "  git diff | beeline exec reviewer - --timeout 10m --json | jq -r .output\n"
      "  beeline exec worker \"count\" --as boss --keep &     boss waits for its child\n"
      "  beeline reply worker --parent boss --tasks --command 'wc -w'\n"
      "Only the parent of an agent may give it a task, so exec runs as the parent of NAME. Waits\n"
      "120 s unless --timeout says otherwise, first for NAME, then for its result; after that,\n"
      "and after Ctrl-C, the task is cancelled. A task goes past the inbox of NAME. It is done\n"
      "once or not at all: nobody does it again when NAME dies. The output goes to stdout, and\n"
      "reports of progress go to stderr. Exits with the exit code of the task (1 if that is no\n"
      "number from 0 to 255). Without a result: 1 if the task failed or was refused, 3 if the\n"
      "parent runs, 4 if there is no such agent or it died, 5 after the timeout, 7 if we may not.");
  verb->callback([&context, arguments] { context.exit = exec(context, *arguments); });
}

}  // namespace beeline::cli
