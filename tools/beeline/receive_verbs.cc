// recv, reply: attach under a name until enough messages came or a signal says stop.

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "src/control/hive_paths.h"
#include "tools/beeline/message_json.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/shell.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// How long a reply waits for room on its way.
constexpr std::chrono::nanoseconds kReplyPatience = std::chrono::seconds(5);

struct ReceiveArguments {
  std::string name;
  AttachArguments attach;
  bool temporary = false;
  std::uint64_t count = 0;  ///< 0: until stopped
  std::string type;
  std::string channel;
  bool echo = false;
  std::string command;
  std::string retry_pause = "0";  // of recv there is none
};

Result<Signals> stop_signals() { return Signals::block({SIGINT, SIGTERM, SIGHUP}); }

Result<Agent> attach_as(const Context& context, const ReceiveArguments& arguments) {
  AttachOptions options = attach_options(context);
  options.name = arguments.name;
  options.parent = arguments.attach.parent;
  options.role = arguments.attach.role;
  options.temporary = arguments.temporary;
  const auto pause = parse_duration(arguments.retry_pause);
  if (!pause) return tl::unexpected(pause.error());
  options.retry_pause = *pause;
  return attach(context, options);
}

/// What a handler says after a message: go on, or end with this exit code.
using Verdict = std::optional<ExitCode>;
constexpr Verdict kGoOn = std::nullopt;

/// What is made of copies of messages between children: they are no messages to this agent.
enum class Copies { kShow, kEndUnseen };

std::string where_down(const Context& context) {
  const auto paths = control::find_hive(context.hive);
  return paths ? fmt::format("the hive in {} went down", paths->directory) : "the hive went down";
}

/// Hands messages to `handle(agent, signals, message)` until it says how to end, or enough came, or
/// it is time to end.
template <class Handle>
ExitCode serve(const Context& context, const ReceiveArguments& arguments, Copies copies,
               Handle&& handle) {
  auto signals = stop_signals();
  if (!signals) return complain(signals.error());
  auto agent = attach_as(context, arguments);
  if (!agent) return complain(agent.error());
  const LastWords last_words(*agent, arguments.name);
  Filter filter;
  filter.type = arguments.type;
  filter.channel = arguments.channel;
  const auto next_deadline = [&context] {
    return context.timeout ? after(*context.timeout) : Deadline::max();
  };
  auto deadline = next_deadline();
  for (std::uint64_t taken = 0; arguments.count == 0 || taken < arguments.count;) {
    Next next = next_message(*agent, *signals, filter, deadline);
    switch (next.arrival) {
      case Arrival::kMessage:
        break;
      case Arrival::kSignal:
        if (arguments.count == 0) return ExitCode::kOk;
        return complain(ExitCode::kError, fmt::format("stopped by a signal after {} of {} messages",
                                                      taken, arguments.count));
      case Arrival::kShutdown:
        return complain(ExitCode::kNoCoordinator, where_down(context));
      case Arrival::kTimeout:
        return complain(ExitCode::kTimeout,
                        fmt::format("no message for \"{}\" within the time of --timeout ({} came)",
                                    arguments.name, taken));
    }
    if (copies == Copies::kEndUnseen && next.message.is_copy()) {
      next.message.done();
      continue;
    }
    ++taken;
    if (const Verdict verdict = handle(*agent, *signals, next.message)) return *verdict;
    deadline = next_deadline();
  }
  return ExitCode::kOk;
}

std::string sender_of(const Message& message) {
  const std::string_view name = message.from_name();
  return name.empty() ? fmt::format("{}", message.from()) : std::string(name);
}

bool print_message(const Context& context, const Message& message) {
  if (!context.json) {
    const std::string mark =
        message.is_copy() ? fmt::format("[copy, {} to {}] ", sender_of(message), message.to()) : "";
    return print(
        fmt::format("{}{}{}", mark, message.text(), message.text().ends_with('\n') ? "" : "\n"));
  }
  return print_json(message_json(message));
}

/// What becomes of a message that is put back.
std::string fate_of(const Message& message) {
  const std::uint32_t most = AttachOptions{}.max_attempts;  // as we have attached
  const std::uint32_t attempt = message.attempts() + 1;
  if (message.is_copy()) return "it is a copy and not shown again";
  if (attempt < most) return fmt::format("it is put back, attempt {} of {}", attempt, most);
  return fmt::format("attempt {} of {}: it is a dead letter at the next look, see `beeline dlq`",
                     attempt, most);
}

ExitCode recv(const Context& context, const ReceiveArguments& arguments) {
  const auto take = [&context](Agent&, Signals&, Message& message) -> Verdict {
    // Not printed is not taken: it comes again at the next attach.
    if (!print_message(context, message)) {
      const std::string id = id_text(message.id());
      message.put_back();
      return complain(ExitCode::kError, fmt::format("{}, message {}: it is put back, no attempt is "
                                                    "spent",
                                                    take_output_failure(), id));
    }
    message.done();
    return kGoOn;
  };
  return serve(context, arguments, Copies::kShow, take);
}

/// Sends the reply and ends the message. A sender that has left gets none, which is no failure.
void answer(Agent& agent, Message& message, std::string_view text) {
  const SendResult result = agent.reply_until(message, text, after(kReplyPatience));
  if (!result) {
    (void)complain(result, fmt::format("pid {}", message.from()), text.size(), {});
  }
  switch (result.status) {
    case SendStatus::kOk:
    case SendStatus::kNoRoute:
    case SendStatus::kNoAgent:
    case SendStatus::kPeerDead:
      return message.done();
    case SendStatus::kFull:
    case SendStatus::kNoMemory:
    case SendStatus::kRateLimited:
      return message.requeue();  // an attempt, so it ends as a dead letter at the latest
    case SendStatus::kTooBig:
    case SendStatus::kDenied:
    case SendStatus::kLoop:
      return message.reject();
  }
}

Verdict answer_by_command(const ReceiveArguments& arguments, Agent& agent, Signals& signals,
                          Message& message) {
  const auto outcome = run_shell(arguments.command, message.text(),
                                 {{"BEELINE_MESSAGE_ID", id_text(message.id())},
                                  {"BEELINE_MESSAGE_FROM", fmt::format("{}", message.from())},
                                  {"BEELINE_MESSAGE_TYPE", std::string(message.type())}},
                                 signals);
  if (!outcome) {
    (void)complain(outcome.error());
    message.reject();
    return kGoOn;
  }
  if (outcome->interrupted) {
    const std::string fate = fate_of(message);
    message.requeue();
    return complain(arguments.count == 0 ? ExitCode::kOk : ExitCode::kError,
                    fmt::format("stopped by a signal: {}", fate));
  }
  if (outcome->exit_code != 0) {
    (void)complain(ExitCode::kError,
                   fmt::format("the command exited with {} for message {}: {}", outcome->exit_code,
                               id_text(message.id()), fate_of(message)));
    message.requeue();
    return kGoOn;
  }
  answer(agent, message, outcome->output);
  return kGoOn;
}

ExitCode reply(const Context& context, const ReceiveArguments& arguments) {
  const auto take = [&](Agent& agent, Signals& signals, Message& message) {
    if (!arguments.echo) return answer_by_command(arguments, agent, signals, message);
    answer(agent, message, message.text());
    return kGoOn;
  };
  return serve(context, arguments, Copies::kEndUnseen, take);
}

void add_arguments(CLI::App& verb, ReceiveArguments& arguments) {
  verb.add_option("NAME", arguments.name, "The agent to be")->required()->check(is_agent());
  verb.add_option("--count", arguments.count, "End after this many messages; 0 = never")
      ->capture_default_str();
  verb.add_option("--type", arguments.type, "Only messages of this type; the others wait")
      ->check(is_label("type"));
  verb.add_option("--channel", arguments.channel, "Only messages of this channel")
      ->check(is_label("channel"));
  add_attach_options(verb, arguments.attach);
  verb.add_flag("--temporary", arguments.temporary,
                "Forget NAME at the end; what still waits for it becomes dead letters");
}

}  // namespace

void add_receive_verbs(CLI::App& app, Context& context) {
  auto to_receive = std::make_shared<ReceiveArguments>();
  auto* recv_verb = app.add_subcommand("recv", "Be agent NAME and print what arrives");
  add_arguments(*recv_verb, *to_receive);
  recv_verb->footer(
      "Examples:\n"
      "  beeline recv worker                     until Ctrl-C\n"
      "  beeline recv worker --count 1 --timeout 2s\n"
      "  beeline recv lead --parent queen --role lead --json\n"
      "One body per line in delivery order. With --json: id, from, from_name, to, copy, type,\n"
      "channel, rank, relation, attempts, redelivered, reply_to, cause, hops, sent_unix_ms,\n"
      "ttl_ms, requires_ack, trace and body (body_base64 where it is no UTF-8). A message counts\n"
      "as taken once it is printed; one that could not be is put back and spends no attempt. The\n"
      "others wait for the next attach under NAME until `beeline forget NAME` or `beeline down`,\n"
      "unless --temporary is given. What the children of NAME send to each other comes as copies,\n"
      "marked [copy, FROM to TO], FROM a name where it is known. --timeout is the longest wait\n"
      "for each message. Exits with 3 if the name is taken or the hive went down, with 5 after a\n"
      "timeout.");
  recv_verb->callback([&context, to_receive] { context.exit = recv(context, *to_receive); });

  auto to_reply = std::make_shared<ReceiveArguments>();
  auto* reply_verb = app.add_subcommand("reply", "Be agent NAME and answer what arrives");
  add_arguments(*reply_verb, *to_reply);
  auto* how = reply_verb->add_option_group("answer", "Exactly one of these");
  how->add_flag("--echo", to_reply->echo, "Reply with the body itself");
  how->add_option("--command", to_reply->command,
                  "Run this by /bin/sh -c with the body on stdin; its stdout is the reply");
  how->require_option(1);
  to_reply->retry_pause = "100ms";
  reply_verb
      ->add_option("--retry-pause", to_reply->retry_pause,
                   "Pause before a second attempt; it doubles with each, up to a minute")
      ->capture_default_str();
  reply_verb->footer(
      "Examples:\n"
      "  beeline reply echo --echo &\n"
      "  beeline reply shout --command 'tr a-z A-Z' --parent queen\n"
      "  beeline request shout hello\n"
      "The command finds BEELINE_MESSAGE_ID, _FROM and _TYPE in its environment. When it exits "
      "with "
      "other\nthan 0, the message comes again, up to three times in all; then it is a dead "
      "letter,\nand so it goes with a reply for which its asker has no room. A signal ends the "
      "command, a second\none kills it. Copies of what the children of NAME send to each other are "
      "not answered.");
  reply_verb->callback([&context, to_reply] { context.exit = reply(context, *to_reply); });
}

}  // namespace beeline::cli
