// reply: an agent that answers with a fixed text, or runs a command for each message.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/beeline/command_lease.h"
#include "tools/beeline/output.h"
#include "tools/beeline/reply_service.h"
#include "tools/beeline/session.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// Each command takes one more process, its guard, and three descriptors.
constexpr std::uint32_t kMostCommands = 256;
// The limit of AttachOptions::max_attempts.
constexpr std::uint32_t kMostAttempts = 255;

struct ReplyTexts {
  ReplyArguments arguments;
  std::string retry_pause = "100ms";
  std::string command_timeout;
};

ExitCode reply(const Context& context, ReplyTexts texts) {
  ReplyArguments& arguments = texts.arguments;
  AttachOptions options = receive_options(context, arguments.receive);
  const auto pause = parse_duration(texts.retry_pause);
  if (!pause) return complain(pause.error());
  options.retry_pause = *pause;
  options.max_attempts = arguments.max_attempts;
  if (!texts.command_timeout.empty()) {
    const auto timeout = parse_duration(texts.command_timeout);
    if (!timeout) return complain(timeout.error());
    if (timeout->count() == 0) {
      return complain(ExitCode::kUsage,
                      "--command-timeout is 0: give a time such as 30s, or leave it out");
    }
    arguments.command_timeout = *timeout;
  }
  auto signals = stop_signals();
  if (!signals) return complain(signals.error());
  auto agent = attach(context, options);
  if (!agent) return complain(agent.error());
  agent->tasks().accept(arguments.tasks);
  const LastWords last_words(*agent, options.name);
  std::optional<CommandLease> lease;
  if (!arguments.echo) {
    auto mine = CommandLease::of(context, *agent);
    if (!mine) return complain(mine.error());
    lease = std::move(*mine);
    const auto waited = lease->acquire(*agent, *signals);
    if (!waited) return complain(waited.error());
    if (*waited == CommandLease::Wait::kSignal) return ExitCode::kOk;
    if (*waited == CommandLease::Wait::kShutdown) {
      return complain(ExitCode::kNoCoordinator, went_down(context.hive));
    }
  }
  return ReplyService(context, arguments, *agent, *signals, lease ? lease->fd() : -1).serve();
}

void add_command_options(CLI::App& verb, ReplyTexts& texts) {
  auto* how = verb.add_option_group("answer", "Exactly one of these");
  how->add_flag("--echo", texts.arguments.echo, "Reply with the body itself");
  auto* command =
      how->add_option("--command", texts.arguments.command,
                      "Run this by /bin/sh -c with the body on stdin; its stdout is the reply");
  how->require_option(1);
  verb.add_flag("--tasks", texts.arguments.tasks,
                "Run the command for each task of the parent too (`beeline exec`)")
      ->needs(command);
  verb.add_option("--command-timeout", texts.command_timeout,
                  "Longest time of a command; then it is ended and its message rejected")
      ->needs(command);
  verb.add_option("--parallel", texts.arguments.parallel,
                  "Commands that may run at once, each for one message")
      ->check(CLI::Range(std::uint32_t{1}, kMostCommands))
      ->capture_default_str()
      ->needs(command);
  verb.add_option("--max-attempts", texts.arguments.max_attempts,
                  "Attempts at a message before it is a dead letter")
      ->check(CLI::Range(std::uint32_t{1}, kMostAttempts))
      ->capture_default_str();
  verb.add_option("--retry-pause", texts.retry_pause,
                  "Pause before a second attempt; it doubles with each, up to a minute")
      ->capture_default_str();
}

}  // namespace

void add_reply_verb(CLI::App& app, Context& context) {
  auto texts = std::make_shared<ReplyTexts>();
  auto* verb = app.add_subcommand("reply", "Be agent NAME and answer its messages");
  add_receive_arguments(*verb, texts->arguments.receive);
  add_command_options(*verb, *texts);
  verb->footer(
      "Examples:\n"
      "  beeline reply echo --echo &\n"
      "  beeline reply shout --command 'tr a-z A-Z' --parent queen\n"
      "  beeline reply review --command ./review --command-timeout 10m --parallel 4\n"
      "  beeline request shout hello\n"
      "The command finds BEELINE_MESSAGE_ID, _FROM and _TYPE in its environment. Its output\n"
      "until it exits is the reply; its stderr is that of reply. With --parallel messages are\n"
      "taken in their order, and answered as their commands end. The end of a message:\n"
      "  exit code 0            answered, and done\n"
      "  another, or a signal   comes again after --retry-pause, a dead letter (exhausted) after\n"
      "                         --max-attempts\n"
      "  --command-timeout      a dead letter (rejected); the same if the command was stopped, "
      "for\n"
      "                         example by reading from the terminal, or printed over 64 MiB\n"
      "  taken back             the command is ended: its sender wants no answer any more\n"
      "  no room for the reply  stays in hand until there is some, if its sender waits for it; a\n"
      "                         dead letter (rejected) if it does not, after 5 s at most\n"
      "An asker is told why. A command is ended by SIGTERM, and by SIGKILL 5 s later, with all\n"
      "that it has started. Its commands end with reply: a signal ends them and puts their\n"
      "messages back, a second one kills; after a kill -9 of reply they are killed, and the\n"
      "next `reply NAME` begins when none runs any more. With `beeline down` they end too. A\n"
      "process that a command which exits with 0 leaves in the background runs on until reply\n"
      "ends, and its output is read no more; a daemon (setsid) is left alone. Copies of\n"
      "messages between the children of NAME are not answered.\n"
      "With --tasks the command does tasks as well, and they go first. It has the description\n"
      "on stdin, and in its environment BEELINE_TASK_ID, _PARENT (the task that this one is a\n"
      "part of), _CONTEXT (a file, empty if there is none) and BEELINE_PARAM_NAME for each\n"
      "parameter. Its stdout is the output, its exit code that of the task, and each line of\n"
      "its stderr a log line for the parent. A task is never put back: one whose command was\n"
      "stopped or took longer than --command-timeout fails. The command ends when the parent\n"
      "gives the task up or dies.");
  verb->callback([&context, texts] { context.exit = reply(context, *texts); });
}

}  // namespace beeline::cli
