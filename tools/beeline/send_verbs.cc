// send, request: as a temporary agent, or as a named one.

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

#include "tools/beeline/asking.h"
#include "tools/beeline/line_reader.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/times.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

struct SendArguments {
  std::string to;
  std::string body;
  SenderArguments sender;
  std::string reply_to;
  bool lines = false;
  bool leave = false;
  AttachArguments attach{"", "agent"};
  MessageArguments message;
};

// Sends one body and prints its id. `where` begins the text of a failure.
ExitCode send_one(const Context& context, const SendArguments& arguments, Agent& agent, Peer peer,
                  std::string_view body, const SendOptions& options, std::string_view where = {}) {
  const SendResult result = context.timeout
                                ? agent.send_until(peer, body, after(*context.timeout), options)
                                : agent.send(peer, body, options);
  if (!result) return complain(result, arguments.to, where);
  const bool printed =
      context.json
          ? print_json({{"id", id_text(result.id)}, {"to", arguments.to}, {"bytes", body.size()}})
          : print(id_text(result.id) + '\n');
  return printed ? ExitCode::kOk : ExitCode::kError;
}

// Sends each line as soon as it comes, up to the first that fails.
ExitCode send_lines(const Context& context, const SendArguments& arguments, LineReader& lines,
                    Agent& agent, Peer peer, const SendOptions& options) {
  for (std::uint64_t number = 1;; ++number) {
    const std::string where = fmt::format("line {}: ", number);
    const auto line = lines.next();
    if (!line) return complain(exit_code(line.error().code), where + line.error().text);
    if (!*line) return ExitCode::kOk;
    const ExitCode code = send_one(context, arguments, agent, peer, **line, options, where);
    if (code != ExitCode::kOk) return code;
  }
}

ExitCode send(const Context& context, const SendArguments& arguments) {
  auto options = arguments.message.options();
  if (!options) return complain(options.error());
  if (!arguments.reply_to.empty()) options->reply_to = *parse_id(arguments.reply_to);
  auto lines = LineReader::open(arguments.lines ? arguments.body : "");
  if (!lines) return complain(lines.error());
  const auto body = arguments.lines ? Result<std::string>() : read_body(arguments.body);
  if (!body) return complain(body.error());
  auto agent = attach_sender(context, arguments.sender, arguments.attach);
  if (!agent) return complain(agent.error());
  const LastWords last_words(*agent, arguments.sender.as);
  const auto peer = agent->peer(arguments.to);
  if (!peer) return complain(peer.error());
  return arguments.lines ? send_lines(context, arguments, *lines, *agent, *peer, *options)
                         : send_one(context, arguments, *agent, *peer, *body, *options);
}

ExitCode print_reply(const Context& context, Message& reply, std::chrono::nanoseconds took) {
  bool printed = false;
  if (context.json) {
    Json json;
    json["id"] = id_text(reply.id());
    json["from"] = reply.from();
    json["round_trip_ms"] = milliseconds(took);
    set_body(json, reply.text());
    printed = print_json(json);
  } else {
    printed = print(fmt::format("{}{}", reply.text(), reply.text().ends_with('\n') ? "" : "\n"));
  }
  reply.done();
  return printed ? ExitCode::kOk : ExitCode::kError;
}

ExitCode request(const Context& context, const SendArguments& arguments) {
  const auto options = arguments.message.options();
  if (!options) return complain(options.error());
  const auto body = read_body(arguments.body);
  if (!body) return complain(body.error());
  auto agent = attach_sender(context, arguments.sender, arguments.attach);
  if (!agent) return complain(agent.error());
  const LastWords last_words(*agent, arguments.sender.as);
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  const Deadline deadline = after(context.timeout.value_or(kRequestPatience));
  // Wait for the receiver, because it may be about to attach.
  const auto peer = agent->wait_for(arguments.to, deadline, {.stop_fd = signals->fd()});
  if (!peer && peer.error().code == ErrorCode::kNotice) {
    return complain(ExitCode::kError, "stopped by a signal: nothing was sent");
  }
  if (!peer) return complain(peer.error());

  Asked asked =
      ask(*agent, *signals, {*peer, arguments.to, deadline, arguments.leave}, *body, *options);
  if (asked.reply && *asked.reply) return print_reply(context, **asked.reply, asked.waited);
  if (asked.reply) return complain(asked.reply->error());
  if (asked.is_stopped) {
    return complain(ExitCode::kError, "stopped by a signal: " + asked.fate);
  }
  return complain(
      ExitCode::kTimeout,
      fmt::format("no reply from \"{}\" within {} ms: {}; allow more with --timeout", arguments.to,
                  asked.waited / std::chrono::milliseconds(1), asked.fate));
}

void add_arguments(CLI::App& verb, SendArguments& arguments) {
  verb.add_option("NAME", arguments.to, "The receiver")->required()->check(is_agent());
  verb.add_option("BODY", arguments.body, "The text itself, - for stdin, @FILE for a file")
      ->required();
  add_sender_options(verb, arguments.sender);
  add_attach_options(verb, arguments.attach);
  add_message_options(verb, arguments.message);
}

}  // namespace

void add_send_verbs(CLI::App& app, Context& context) {
  auto to_send = std::make_shared<SendArguments>();
  auto* send_verb = app.add_subcommand("send", "Send a message and print its id");
  add_arguments(*send_verb, *to_send);
  send_verb->add_flag("--lines", to_send->lines,
                      "Each line of BODY is a message of its own, sent as soon as it comes");
  send_verb
      ->add_option("--reply-to", to_send->reply_to,
                   "Id of the message that this one answers, like 3:21")
      ->check(is_message_id());
  send_verb->footer(
      "Examples:\n"
      "  beeline send worker \"count the stars\"\n"
      "  git diff | beeline send reviewer - --rank high --type diff\n"
      "  beeline send worker @task.json --timeout 5s    wait up to 5 s while the lane is full\n"
      "  ls | beeline send worker - --lines             a message for each line\n"
      "  beeline send asker \"42\" --as worker --reply-to 3:21\n"
      "When it exits with 0 the message is in the receiver's lane and is not lost, even after\n"
      "a kill. Exits with 4 at once if there is no such agent, 6 if the lane is full, 7 if a\n"
      "rule denies it. A request is answered by the agent that it was sent to (--as), while\n"
      "that still holds it: `beeline pipe` holds messages, `beeline recv` finishes each that\n"
      "it prints.");
  send_verb->callback([&context, to_send] { context.exit = send(context, *to_send); });

  auto to_ask = std::make_shared<SendArguments>();
  auto* request_verb =
      app.add_subcommand("request", "Send a message, wait for the reply and print it");
  add_arguments(*request_verb, *to_ask);
  request_verb->add_flag("--leave", to_ask->leave,
                         "Leave the message with NAME when the wait ends without a reply");
  request_verb->footer(
      "Examples:\n"
      "  beeline reply echo --echo &\n"
      "  beeline request echo \"hello\"\n"
      "  beeline request echo - --timeout 500ms --json < question.txt\n"
      "Waits 60 s unless --timeout says otherwise, first for an agent of that name, then for its "
      "reply.\nAfter that, and after Ctrl-C, it takes the message back, unless --leave is given, "
      "and "
      "says\nwhat became of it. Exits with 4 if no such agent came, with 5 if no reply came, with "
      "1 "
      "at\nonce if NAME finished the message without a reply or made it a dead letter.");
  request_verb->callback([&context, to_ask] { context.exit = request(context, *to_ask); });
}

}  // namespace beeline::cli
