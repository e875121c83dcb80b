// recv: attach under a name until enough messages have come or a signal ends it.

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

#include "tools/beeline/message_json.h"
#include "tools/beeline/output.h"
#include "tools/beeline/receive_arguments.h"
#include "tools/beeline/session.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// The decision of a handler after a message: go on, or end with this exit code.
using Verdict = std::optional<ExitCode>;
constexpr Verdict kGoOn = std::nullopt;

// Hands messages to `handle(message)` until its verdict ends it, enough messages came, or a signal
// or the deadline ends it.
template <typename Handle>
ExitCode serve(const Context& context, const ReceiveArguments& arguments, Handle&& handle) {
  auto signals = stop_signals();
  if (!signals) return complain(signals.error());
  auto agent = attach(context, receive_options(context, arguments));
  if (!agent) return complain(agent.error());
  const LastWords last_words(*agent, arguments.name);
  const Filter filter = receive_filter(arguments);
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
        return complain(ExitCode::kNoCoordinator, went_down(context.hive));
      case Arrival::kTimeout:
        return complain(ExitCode::kTimeout,
                        fmt::format("no message for \"{}\" within the time of --timeout ({} came)",
                                    arguments.name, taken));
    }
    ++taken;
    if (const Verdict verdict = handle(next.message)) return *verdict;
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

ExitCode recv(const Context& context, const ReceiveArguments& arguments) {
  const auto take = [&context](Message& message) -> Verdict {
    // A message that was not printed is not taken: it comes again at the next attach.
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
  return serve(context, arguments, take);
}

}  // namespace

void add_receive_verbs(CLI::App& app, Context& context) {
  auto to_receive = std::make_shared<ReceiveArguments>();
  auto* recv_verb = app.add_subcommand("recv", "Be agent NAME and print its messages");
  add_receive_arguments(*recv_verb, *to_receive);
  recv_verb->footer(
      "Examples:\n"
      "  beeline recv worker                     until Ctrl-C\n"
      "  beeline recv worker --count 1 --timeout 2s\n"
      "  beeline recv lead --parent queen --role lead --json\n"
      "One body per line in delivery order. With --json: id, from, from_name, to, copy, type,\n"
      "channel, rank, relation, attempts, redelivered, reply_to, cause, hops, sent_unix_ms,\n"
      "ttl_ms, requires_ack, trace and body (body_base64 if it is no UTF-8). A message counts\n"
      "as taken once it is printed. If it cannot be printed, it is put back and spends no\n"
      "attempt. The others wait for the next attach under NAME until `beeline forget NAME` or\n"
      "`beeline down`, unless --temporary is given. Messages between the children of NAME come\n"
      "as copies, marked [copy, FROM to TO], FROM a name if it is known. --timeout is the\n"
      "longest wait for each message. Exits with 3 if the name is taken or the hive went down,\n"
      "with 5 after a timeout.");
  recv_verb->callback([&context, to_receive] { context.exit = recv(context, *to_receive); });
}

}  // namespace beeline::cli
