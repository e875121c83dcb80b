#include "tools/beeline/reply_service.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/beeline/output.h"
#include "tools/beeline/session.h"

namespace beeline::cli {
namespace {

// How long a reply waits for room on its way.
constexpr std::chrono::nanoseconds kReplyPatience = std::chrono::seconds(5);
// A look without a reason, in case all else has failed.
constexpr std::chrono::nanoseconds kLongestIdle = std::chrono::seconds(10);
// Guards kill after their grace; a guard that cannot kill is not waited for.
constexpr std::chrono::seconds kLeftoverPatience(kCommandGraceSeconds + 1);

// No agent has this pid. A look for its messages takes none, and arms the descriptor again.
constexpr Filter kNoMessage{.from = ~Pid{0}};

std::string seconds_text(std::chrono::nanoseconds time) {
  return fmt::format("{:.3g} s", std::chrono::duration<double>(time).count());
}

// Why a command has not ended by itself. Empty if it has.
std::string why_not_exited(const GuardedCommand::Outcome& outcome) {
  switch (outcome.end) {
    case GuardedCommand::End::kExited:
      return "";
    case GuardedCommand::End::kStopped: {
      const bool reads = outcome.stop == SIGTTIN || outcome.stop == SIGTTOU;
      const char* signal = ::sigabbrev_np(outcome.stop);
      return fmt::format("the command was stopped by SIG{} and ended{}",
                         signal != nullptr ? signal : "?",
                         reads ? ": a command has no terminal, only the message on its stdin" : "");
    }
    case GuardedCommand::End::kTooBig:
      return fmt::format("the command printed more than {} bytes and was ended", kMaxCommandOutput);
    case GuardedCommand::End::kLost:
      return "the guard of the command was killed; the shell has ended with it, but its children "
             "may still run";
  }
  return "";
}

}  // namespace

ExitCode ReplyService::serve() {
  const auto patience = [this] {
    return context_.timeout ? after(*context_.timeout) : Deadline::max();
  };
  idle_end_ = patience();
  for (;;) {
    look_for_the_end();
    const std::size_t before = taken_ + jobs_.size();
    step_jobs();
    take_work();
    if (is_over()) break;
    if (taken_ + jobs_.size() != before || !jobs_.empty()) idle_end_ = patience();
    const auto now = std::chrono::steady_clock::now();
    if (jobs_.empty() && now >= idle_end_) break;
    Deadline until = jobs_.empty() ? idle_end_ : Deadline::max();
    for (const Job& job : jobs_) {
      if (job.reason == Reason::kNone) until = std::min(until, job.end);
    }
    wait(until);
  }
  end_leftovers();
  return exit_code();
}

ExitCode ReplyService::exit_code() const {
  const std::uint64_t wanted = arguments_.receive.count;
  if (ending_ == Reason::kShutdown)
    return complain(ExitCode::kNoCoordinator, went_down(context_.hive));
  if (wanted != 0 && taken_ >= wanted && !ending_) return ExitCode::kOk;
  if (ending_ == Reason::kSignal && wanted == 0) return ExitCode::kOk;
  if (ending_ == Reason::kSignal) {
    return complain(ExitCode::kError,
                    fmt::format("stopped by a signal after {} of {} messages", taken_, wanted));
  }
  return complain(ExitCode::kTimeout,
                  fmt::format("no message for \"{}\" within the time of --timeout ({} came)",
                              arguments_.receive.name, taken_));
}

bool ReplyService::may_take() const {
  return !ending_ && (arguments_.receive.count == 0 || taken_ < arguments_.receive.count);
}

void ReplyService::look_for_the_end() {
  while (signals_.take()) {
    if (!ending_) {
      end_all(Reason::kSignal);
      continue;
    }
    // The second signal kills.
    for (const Job& job : jobs_) job.command.tell(GuardOrder::kKill);
  }
  if (has_shut_down(agent_) && !ending_) end_all(Reason::kShutdown);
}

void ReplyService::end_all(Reason reason) {
  ending_ = reason;
  for (Job& job : jobs_) end_job(job, reason);
  for (const GuardProcess& guard : leftovers_) guard.tell(GuardOrder::kEnd);
}

void ReplyService::end_job(Job& job, Reason reason) {
  if (job.reason != Reason::kNone) return;
  job.reason = reason;
  job.command.tell(GuardOrder::kEnd);
}

void ReplyService::take_work() {
  while (may_take() && jobs_.size() < arguments_.parallel) {
    if (!take_one()) return;
    // Handle a signal before the next message.
    look_for_the_end();
  }
  if (!jobs_.empty()) (void)agent_.try_receive(kNoMessage);
}

// Tasks go first. The look for a message takes tasks out of the lanes, too. False if there is
// neither.
bool ReplyService::take_one() {
  if (take_task()) return true;
  auto message = agent_.try_receive(filter_);
  if (!message) return take_task();
  if (message->is_copy()) {
    message->done();
    return true;
  }
  ++taken_;
  take(std::move(*message));
  return true;
}

bool ReplyService::take_task() {
  auto run = agent_.tasks().next();
  if (!run) return false;
  ++taken_;
  auto work = std::make_unique<TaskWork>(TaskWork{std::move(*run)});
  const Task& task = work->run.task();
  const auto command = command_for(arguments_.command, *work);
  auto started = command ? GuardedCommand::start(*command, task.description, lease_,
                                                 GuardedCommand::Errors::kLines)
                         : tl::unexpected(command.error());
  if (!started) {
    work->run.fail(started.error().text);
    return true;
  }
  const auto most = arguments_.command_timeout.value_or(std::chrono::nanoseconds::max());
  const Deadline end = after(std::min<std::chrono::nanoseconds>(most, task.timeout));
  jobs_.push_back({{}, std::move(work), std::move(*started), end});
  return true;
}

void ReplyService::take(Message message) {
  if (arguments_.echo) return answer(message, message.text());
  const CommandLine command{arguments_.command,
                            {{"BEELINE_MESSAGE_ID", id_text(message.id())},
                             {"BEELINE_MESSAGE_FROM", fmt::format("{}", message.from())},
                             {"BEELINE_MESSAGE_TYPE", std::string(message.type())}}};
  auto started = GuardedCommand::start(command, message.text(), lease_);
  if (!started) return put_back(message, started.error().text);
  const Deadline end =
      arguments_.command_timeout ? after(*arguments_.command_timeout) : Deadline::max();
  jobs_.push_back({std::move(message), nullptr, std::move(*started), end});
}

void ReplyService::step_jobs() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    // Check this first: we may be late, and a command that has ended by itself has done its work.
    auto outcome = job->command.step();
    pass_lines(*job);
    if (!outcome) {
      if (is_taken_back(*job)) end_job(*job, Reason::kTakenBack);
      if (std::chrono::steady_clock::now() >= job->end) end_job(*job, Reason::kTimeout);
      ++job;
      continue;
    }
    if (job->task) {
      finish_task(*job, std::move(*outcome));
    } else {
      finish(*job, *outcome);
    }
    leftovers_.push_back(job->command.take_guard());
    job = jobs_.erase(job);
  }
  drop_ended_leftovers();
}

// Their reports were taken before.
void ReplyService::drop_ended_leftovers() {
  std::erase_if(leftovers_, [](GuardProcess& guard) {
    (void)guard.take_report();
    return guard.has_ended();
  });
}

// The parent sees what the command prints to its stderr. A line that finds no room is not sent
// later: it goes to our stderr.
void ReplyService::pass_lines(Job& job) {
  while (const auto line = job.command.take_error_line()) {
    if (!job.task->run.log(*line)) remark(*line);
  }
}

bool ReplyService::is_taken_back(Job& job) {
  return job.task ? job.task->run.is_cancelled() : job.message.cancelled();
}

// ---- The end of a command -----------------------------------------------------------------------

void ReplyService::finish(Job& job, const GuardedCommand::Outcome& outcome) {
  // The command ended by itself before its guard heard the order to end.
  if (job.reason != Reason::kNone && outcome.was_told) return finish_ended(job);
  const bool is_good = outcome.end == GuardedCommand::End::kExited && outcome.status == 0;
  if (!is_good) return finish_failed(job, outcome);
  answer(job.message, outcome.output);
}

void ReplyService::finish_failed(Job& job, const GuardedCommand::Outcome& outcome) {
  switch (outcome.end) {
    case GuardedCommand::End::kExited:
      return put_back(job.message, fmt::format("the command exited with {}", outcome.status));
    case GuardedCommand::End::kStopped:
    case GuardedCommand::End::kTooBig:
      return reject(job.message, why_not_exited(outcome));
    case GuardedCommand::End::kLost:
      return put_back(job.message, why_not_exited(outcome));
  }
}

void ReplyService::finish_ended(Job& job) {
  switch (job.reason) {
    case Reason::kTimeout:
      return reject(job.message, fmt::format("the command was ended after {} (--command-timeout)",
                                             seconds_text(*arguments_.command_timeout)));
    case Reason::kTakenBack:
      return reject(job.message,
                    "the message was taken back by its sender, so its command was "
                    "ended");
    case Reason::kShutdown:
      (void)complain(ExitCode::kNoCoordinator,
                     fmt::format("message {}: the hive went down, so the command was ended",
                                 id_text(job.message.id())));
      return job.message.requeue();
    case Reason::kSignal:
    case Reason::kNone:
      return put_back(job.message, "stopped by a signal");
  }
}

// A task is never put back: it is done once or not at all.
void ReplyService::finish_task(Job& job, GuardedCommand::Outcome outcome) {
  TaskRun& run = job.task->run;
  if (job.reason != Reason::kNone && outcome.was_told) {
    const bool is_late = job.reason == Reason::kTimeout;
    const bool is_given_up = job.reason == Reason::kTakenBack;
    return run.fail(is_late       ? "the command took too long and was ended"
                    : is_given_up ? "the task was given up, so its command was ended"
                                  : "`beeline reply` was stopped, so the command was ended");
  }
  if (outcome.end != GuardedCommand::End::kExited) return run.fail(why_not_exited(outcome));
  run.finish({.exit_code = outcome.status, .output = std::move(outcome.output)});
}

void ReplyService::put_back(Message& message, const std::string& why) {
  const std::uint32_t most = arguments_.max_attempts;
  const std::uint32_t attempt = message.attempts() + 1;
  const std::string fate =
      attempt < most
          ? fmt::format("it is put back, attempt {} of {}", attempt, most)
          : fmt::format("attempt {} of {}: it is a dead letter at the next look, see `beeline dlq`",
                        attempt, most);
  (void)complain(ExitCode::kError,
                 fmt::format("message {}: {}: {}", id_text(message.id()), why, fate));
  message.requeue();
}

void ReplyService::reject(Message& message, const std::string& why) {
  (void)complain(ExitCode::kError, fmt::format("message {}: {}: it is a dead letter, see "
                                               "`beeline dlq`",
                                               id_text(message.id()), why));
  message.reject(why);
}

// Sends the reply and ends the message. The work is done, so the message is not put back. A
// question stays leased until its reply finds room; any other message becomes a dead letter. We
// wait for room once for each sender, until that sender reads again. If the sender has left, no
// reply is sent, and that is no failure.
void ReplyService::answer(Message& message, std::string_view text) {
  const Pid to = message.from();
  const bool is_waited_for = !message.requires_ack() && !full_.contains(to);
  const Deadline until = is_waited_for ? after(kReplyPatience) : Deadline::min();
  const SendResult result = agent_.reply_until(message, text, until);
  if (result) full_.erase(to);
  switch (result.status) {
    case SendStatus::kOk:
    case SendStatus::kNoRoute:
    case SendStatus::kNoAgent:
    case SendStatus::kPeerDead:
      return message.done();
    case SendStatus::kFull:
    case SendStatus::kNoMemory:
    case SendStatus::kRateLimited:
      if (message.requires_ack()) return message.done(text);
      full_.insert(to);
      [[fallthrough]];
    case SendStatus::kTooBig:
    case SendStatus::kDenied:
    case SendStatus::kLoop:
      return reject(message, "its reply was " + not_sent(result, fmt::format("pid {}", to)));
  }
}

// ---- Waiting ------------------------------------------------------------------------------------

void ReplyService::wait(Deadline until) const {
  std::vector<pollfd> fds{{agent_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
  for (const Job& job : jobs_) job.command.add_to(fds);
  for (const GuardProcess& guard : leftovers_) fds.push_back({guard.fd(), POLLIN, 0});
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds left = until - now > kLongestIdle ? kLongestIdle : until - now;
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(left);
  (void)::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(limit.count(), 0)));
}

// Ends processes that commands left in the background.
void ReplyService::end_leftovers() {
  for (const GuardProcess& guard : leftovers_) guard.tell(GuardOrder::kEnd);
  const Deadline end = after(kLeftoverPatience);
  for (;;) {
    drop_ended_leftovers();
    const auto left = end - std::chrono::steady_clock::now();
    if (leftovers_.empty() || left.count() <= 0) return;
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
    for (const GuardProcess& guard : leftovers_) fds.push_back({guard.fd(), POLLIN, 0});
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(left);
    (void)::poll(fds.data(), fds.size(), static_cast<int>(limit.count()));
    while (signals_.take()) {
      for (const GuardProcess& guard : leftovers_) guard.tell(GuardOrder::kKill);
    }
  }
}

}  // namespace beeline::cli
