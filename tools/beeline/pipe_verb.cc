// pipe: an agent that another program drives, by a JSON object on each line.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "tools/beeline/output.h"
#include "tools/beeline/pipe_command.h"
#include "tools/beeline/pipe_lines.h"
#include "tools/beeline/pipe_session.h"
#include "tools/beeline/session.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// A payload of 64 MiB in base64, and the other fields of its command.
constexpr std::size_t kLongestLine = 96U << 20;
constexpr std::chrono::milliseconds kLastPatience = std::chrono::seconds(2);

struct PipeArguments {
  std::string name;
  AttachArguments attach;
  bool temporary = false;
  std::uint32_t max_attempts = AttachOptions{}.max_attempts;
};

void carry_out(PipeSession& session, const PipeInput::Line& line) {
  const std::string where = fmt::format("line {} ", line.number);
  if (line.is_too_long) {
    return session.refuse(nullptr, "too_big",
                          fmt::format("{}has {} bytes, the limit is {}: send the body in parts",
                                      where, line.bytes, kLongestLine));
  }
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
  const auto command = parse_command(line.text);
  if (command) return session.carry_out(*command);
  session.refuse(command.error().seq, "invalid", where + command.error().text);
}

class PipeLoop {
 public:
  PipeLoop(Agent agent, Signals& signals)
      : signals_(signals), session_(std::move(agent), output_) {}

  ExitCode run() {
    for (;;) {
      const auto next = session_.turn();
      if (!next) return end_of_life();
      if (!output_.write()) return end_of_reader();
      const Ready ready = wait(*next);
      if (ready.output_is_gone) return end_of_reader();
      if (const auto signal = signals_.take()) {
        return end(PipeSession::Ending::kOfPipe, ExitCode::kOk, "signal",
                   fmt::format("the pipe got signal {} ({})", signal->number,
                               ::strsignal(signal->number)));
      }
      if (ready.has_input && !read()) {
        (void)session_.turn();  // for the last line, which may lack its line end
        return end(PipeSession::Ending::kOfProgram, ExitCode::kOk, "input",
                   "stdin of the pipe has ended");
      }
    }
  }

 private:
  struct Ready {
    bool has_input = false;
    bool output_is_gone = false;
  };

  Ready wait(Deadline until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(until - std::chrono::steady_clock::now(), Deadline::duration(0)));
    const short wants = output_.is_empty() ? short{0} : short{POLLOUT};
    // No command is read while the reader of stdout has much to read.
    std::array<pollfd, 4> fds{{{output_.has_room() ? STDIN_FILENO : -1, POLLIN, 0},
                               {STDOUT_FILENO, wants, 0},
                               {session_.fd(), POLLIN, 0},
                               {signals_.fd(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0) return {};
    return {fds[0].revents != 0, (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0};
  }

  // False at the end of stdin.
  bool read() {
    const bool goes_on = input_.read();
    while (const auto line = input_.next()) carry_out(session_, *line);
    return goes_on;
  }

  ExitCode end(PipeSession::Ending ending, ExitCode code, std::string_view why,
               std::string_view text) {
    const std::size_t held = session_.leave(ending, why, text);
    return output_.finish(kLastPatience) ? code : complain_of_reader(ending, held);
  }

  // A full disk is no fault of the program; a pipe without a reader shows that the program has
  // ended.
  ExitCode end_of_reader() {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    const bool is_known = ::poll(&out, 1, 0) == 1;
    const bool is_gone = is_known && (out.revents & (POLLERR | POLLHUP)) != 0;
    const auto ending = is_gone ? PipeSession::Ending::kOfProgram : PipeSession::Ending::kOfPipe;
    return complain_of_reader(ending, session_.leave(ending, "output", ""));
  }

  ExitCode end_of_life() {
    const bool by_hive = session_.has_shut_down();
    const std::string text = by_hive ? "the hive went down"
                                     : "this life of the agent has ended: another process took its "
                                       "name, or the coordinator gave it up; start it again";
    return complain(end(PipeSession::Ending::kOfPipe, ExitCode::kNoCoordinator,
                        by_hive ? "hive" : "life", text),
                    text);
  }

  static ExitCode complain_of_reader(PipeSession::Ending ending, std::size_t held) {
    std::string text = take_output_failure();
    if (text.empty()) text = "nobody reads our stdout";
    const bool spends = ending == PipeSession::Ending::kOfProgram;
    return complain(ExitCode::kError,
                    fmt::format("{}: {} messages are put back, {}", text, held,
                                spends ? "an attempt each" : "no attempt is spent"));
  }

  Signals& signals_;
  PipeInput input_{kLongestLine};
  PipeOutput output_;
  PipeSession session_;
};

ExitCode run_pipe(const Context& context, const PipeArguments& arguments) {
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  AttachOptions options = attach_options(context);
  options.name = arguments.name;
  options.parent = arguments.attach.parent;
  options.role = arguments.attach.role;
  options.temporary = arguments.temporary;
  options.max_attempts = arguments.max_attempts;
  auto agent = attach(context, options);
  if (!agent) return complain(agent.error());
  return PipeLoop(std::move(*agent), *signals).run();
}

}  // namespace

void add_pipe_verb(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<PipeArguments>();
  auto* verb = app.add_subcommand("pipe", "Be agent NAME for a program in any language");
  verb->add_option("NAME", arguments->name, "The agent to be")->required()->check(is_agent());
  add_attach_options(*verb, arguments->attach);
  verb->add_flag("--temporary", arguments->temporary,
                 "The agent ends for good with the pipe, and its messages with it");
  verb->add_option("--max-attempts", arguments->max_attempts,
                   "Deliveries before a message becomes a dead letter")
      ->check(CLI::Range(1, 255))
      ->capture_default_str();
  verb->footer(
      "A program starts it as its child, writes commands to its stdin and reads results and "
      "events\n"
      "from its stdout: one JSON object on each line. Each command gets one result, which repeats\n"
      "its `seq`; several may be under way. docs/pipe.md has every field, examples/worker.py is a\n"
      "worker in Python.\n"
      "  {\"do\":\"receive\",\"seq\":1}\n"
      "  {\"seq\":1,\"ok\":true,\"message\":{\"id\":\"3:21\",...,\"body\":\"6 * 7\"}}\n"
      "  {\"do\":\"done\",\"seq\":2,\"id\":\"3:21\",\"body\":\"42\"}\n"
      "Commands: receive, done, requeue, put_back, reject, reply, send, request, broadcast, "
      "cancel,\n"
      "inbox. Events: ready, taken_back, late_answer, child_away, child_dead, end.\n"
      "A message that was handed out is held until done, requeue, put_back or reject. If stdin\n"
      "ends before that, or nobody reads stdout, the program may have died of it: it is put back "
      "as\n"
      "a failed attempt. A signal and the end of the hive put it back and spend no attempt;\n"
      "if the pipe is killed it comes again as another attempt. Exits with 0 at the end of stdin\n"
      "and after a signal, with 1 if nobody reads stdout, with 3 if the name is taken or the hive\n"
      "went down.");
  verb->callback([&context, arguments] { context.exit = run_pipe(context, *arguments); });
}

}  // namespace beeline::cli
