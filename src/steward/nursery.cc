#include "src/steward/nursery.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/uninterrupted.h"
#include "src/service/log.h"
#include "src/steward/answer.h"
#include "src/steward/child_process.h"
#include "src/steward/sleep.h"
#include "src/steward/supervisor.h"

namespace beeline::steward {

namespace {

constexpr std::int64_t kMs = 1'000'000;
// Between the message `shutdown` and SIGTERM.
constexpr std::int64_t kTermAfterNs = 250 * kMs;
constexpr std::int64_t kForgetAfterNs = 60'000 * kMs;
constexpr std::int64_t kForgetAgainNs = 100 * kMs;
constexpr int kNameTries = 10;
constexpr auto kLetterPatience = std::chrono::seconds(60);
constexpr std::string_view kNeverReady = "never ready";
constexpr std::string_view kChildExited = "child_exited";
constexpr std::string_view kChildCrashed = "child_crashed";

}  // namespace

Result<Child*> Nursery::start(Child wanted) {
  (void)free_name(wanted.spec.name);
  auto added = parts_.roster.add(std::move(wanted));
  if (!added) return tl::unexpected(std::move(added.error()));
  Child& child = **added;
  auto launched = launch(child);
  const auto is_taken = [&] {
    return !launched && launched.error().code == ErrorCode::kAlreadyRunning;
  };
  // The coordinator was being restarted when it was to forget the last holder of the name.
  for (int tries = 0; tries < kNameTries && is_taken() && free_name(child.spec.name); ++tries) {
    launched = launch(child);
  }
  if (!launched) {
    const Error error = launched.error();
    abandon(child);
    return tl::unexpected(error);
  }
  return &child;
}

void Nursery::abandon(Child& child) {
  clear_alarms(child);
  if (child.pid != 0) {
    parts_.launcher.log_of(child).remove();
    forget(child.pid);
  }
  parts_.roster.remove(child.id);
}

Result<void> Nursery::launch(Child& child) {
  auto launched = parts_.launcher.launch(child);
  // An earlier steward may have made the same reservation.
  parts_.alarms.clear(Duty::kForget, -std::int64_t{child.pid});
  return launched;
}

bool Nursery::free_name(const std::string& name) {
  bool has_any = false;
  for (Child* const child : parts_.roster.all()) {
    if (child->phase != Phase::kEnded || child->is_forgotten || child->spec.name != name) continue;
    forget_child(*child);
    has_any = true;
  }
  const Member* const holder = parts_.family.find(name);
  if (holder == nullptr || !parts_.alarms.is_set(Duty::kForget, -std::int64_t{holder->pid})) {
    return has_any;
  }
  forget(holder->pid);
  return true;
}

void Nursery::forget(Pid pid) {
  const auto forgotten = parts_.king.forget(pid);
  if (forgotten || forgotten.error().code == ErrorCode::kNoAgent ||
      forgotten.error().code == ErrorCode::kPeerDead) {
    parts_.alarms.clear(Duty::kForget, -std::int64_t{pid});
    parts_.family.remove(pid);
    return;
  }
  // The coordinator has not seen the end of its process yet, or is being restarted. The numbers of
  // agents without a child are negative here.
  parts_.alarms.set(Duty::kForget, -std::int64_t{pid}, os::monotonic_ns() + kForgetAgainNs);
}

void Nursery::forget_child(Child& child) {
  parts_.alarms.clear(Duty::kForget, child.id);
  child.is_forgotten = true;
  parts_.roster.save(child);
  forget(child.pid);
}

void Nursery::clear_alarms(const Child& child) {
  for (const Duty duty : {Duty::kReady, Duty::kTerm, Duty::kKill, Duty::kRestart}) {
    parts_.alarms.clear(duty, child.id);
  }
}

void Nursery::ask_to_end(Child& child, const std::string& reason) {
  if (child.phase == Phase::kEnded) return;
  child.next_spec.reset();
  child.is_unwanted = true;
  child.end_reason = reason;
  parts_.roster.save(child);
  if (child.phase == Phase::kRestarting) {
    clear_alarms(child);
    if (child.end) child.end->reason = reason;
    return retire(child);
  }
  // Only a process that runs can take the message `shutdown`.
  if (is_asleep(child)) parts_.launcher.signal(child, SIGCONT);
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t grace = child.spec.grace.count() * kMs;
  parts_.alarms.set(Duty::kKill, child.id, now + grace);
  const bool is_ready = child.phase == Phase::kRunning;
  parts_.alarms.set(Duty::kTerm, child.id,
                    is_ready ? now + std::min(kTermAfterNs, grace / 2) : now);
  if (!is_ready) return;
  parts_.letters.send_shutdown(child.pid, [this, id = child.id] {
    if (parts_.alarms.is_set(Duty::kTerm, id)) {
      parts_.alarms.set(Duty::kTerm, id, os::monotonic_ns());
    }
  });
}

void Nursery::replace(Child& child, SpawnOptions options, const std::string& file_spec) {
  child.file_spec = file_spec;
  if (child.phase == Phase::kRestarting) {
    child.spec = std::move(options);
    parts_.roster.save(child);
    return parts_.alarms.set(Duty::kRestart, child.id, os::monotonic_ns());
  }
  ask_to_end(child, "restarted");
  child.next_spec = std::move(options);
}

void Nursery::hear_ready(Pid pid) {
  Child* const child = parts_.roster.find_pid(pid);
  if (child == nullptr || child->phase != Phase::kStarting) return;
  child->phase = Phase::kRunning;
  parts_.alarms.clear(Duty::kReady, child->id);
  events_.ready(*child);
}

void Nursery::hear_link(std::int64_t id) {
  Child* const child = parts_.roster.find(id);
  if (child == nullptr || !child->link.valid()) return;
  const auto report = read_report(child->link.get());
  if (!report) return;
  parts_.watch.remove(child->link.get());
  child->link.reset();
  // The process ends by itself.
  if (!report->is_started) {
    child->trouble = fmt::format("cannot start {}: {}", child->spec.command.front(), report->error);
  }
}

void Nursery::hear_process(std::int64_t id) {
  Child* const child = parts_.roster.find(id);
  if (child == nullptr || !child->pidfd.valid() || child->is_adopted) return;
  siginfo_t info{};
  const auto done = os::uninterrupted([&] {
    return ::waitid(P_PIDFD, static_cast<id_t>(child->pidfd.get()), &info,
                    WEXITED | WNOHANG | WNOWAIT);
  });
  if (done != 0 || info.si_pid == 0) return;
  hear_link(id);
  const bool has_exited = info.si_code == CLD_EXITED;
  finish(*child, {has_exited ? info.si_status : -1, has_exited ? 0 : info.si_status, true});
}

void Nursery::hear_exit(Child& child, int wait_status) {
  const bool has_exited = WIFEXITED(wait_status);
  finish(child, {has_exited ? WEXITSTATUS(wait_status) : -1, has_exited ? 0 : WTERMSIG(wait_status),
                 true});
}

void Nursery::hear_unknown_end(Child& child) { finish(child, {-1, 0, false}); }

void Nursery::finish(Child& child, const Facts& facts) {
  clear_alarms(child);
  child.is_stopping = false;
  parts_.launcher.kill_rest(child);
  const bool has_begun = !child.is_adopted || facts.signal != unreleased_signal();
  if (!has_begun && !child.is_unwanted) return start_over(child);
  ChildExit end;
  end.pid = child.pid;
  end.exit_code = facts.exit_code;
  end.signal = facts.signal;
  end.known = facts.is_known;
  end.output = parts_.launcher.log_of(child).last_lines();
  end.reason = facts.signal != 0 ? "signalled" : "exited";
  if (!facts.is_known) end.reason = "unknown";
  if (!child.trouble.empty()) end.reason = child.trouble;
  if (!child.end_reason.empty()) end.reason = child.end_reason;
  child.end = end;
  child.ended_unix_ns = os::realtime_ns();
  // The end is on record before the process is reaped: nobody could tell it afterwards.
  const bool is_first = child.phase == Phase::kStarting && child.restarts == 0;
  if (is_first && !child.next_spec) return fail_start(child, end);
  follow_policy(child);
}

void Nursery::fail_start(Child& child, const ChildExit& end) {
  std::string text = child.trouble;
  if (!child.end_reason.empty()) {
    text = fmt::format("{} before it was ready", child.end_reason);
  } else if (text.empty() && end.signal != 0) {
    text = fmt::format("signal {} ended it before it was ready", end.signal);
  } else if (text.empty() && !end.known) {
    text = "ended before it was ready, while there was no steward";
  } else if (text.empty()) {
    text = fmt::format("exited with status {} before it was ready", end.exit_code);
  }
  text = fmt::format("spawn of {}: {}", child.spec.name, text);
  if (!end.output.empty()) text += "; its last output:\n" + end.output;
  // An agent that hears of the failure finds no such agent any more.
  forget(child.pid);
  const bool is_late = child.trouble.starts_with(kNeverReady);
  const ErrorCode code = is_late ? ErrorCode::kTimeout : ErrorCode::kSystem;
  parts_.launcher.log_of(child).remove();
  // A start file that comes next starts another child of this name.
  child.is_forgotten = true;
  events_.failed(child, Error{code, 0, std::move(text)});
  // The record goes before the process is reaped: the next steward would wait for its end.
  Child failed = parts_.roster.take_out(child.id);
  parts_.launcher.release_process(failed);
}

void Nursery::follow_policy(Child& child) {
  if (child.next_spec) return begin_again(child);
  const auto policy = restart_from(child.spec.restart).value_or(Restart::kNever);
  const std::int64_t now = os::realtime_ns();
  const Verdict verdict =
      child.is_unwanted ? Verdict{}
                        : judge(policy, *child.end, {child.attempts, child.restarted_unix_ns}, now);
  if (verdict.kind == Verdict::Kind::kRestart) {
    child.phase = Phase::kRestarting;
    child.attempts = verdict.attempts;
    child.restarted_unix_ns = now;
    parts_.roster.save(child);
    parts_.launcher.release_process(child);
    parts_.alarms.set(Duty::kRestart, child.id, os::monotonic_ns() + verdict.pause_ns);
    service::log_info(
        "restart", fmt::format("{} (PID {}) ended ({}), restart {} of {} in {} s", child.spec.name,
                               child.pid, child.end->reason, child.attempts, kMostRestarts,
                               verdict.pause_ns / 1'000 / kMs));
    return events_.restarting(child);
  }
  const bool is_loop = verdict.kind == Verdict::Kind::kCrashLoop;
  if (is_loop) {
    child.end->reason = "max restarts exceeded";
    service::log_warn("crash_loop", fmt::format("{} (PID {}): max restarts exceeded",
                                                child.spec.name, child.pid));
    tell_parent(child, verdict.attempts);
  }
  retire(child);
  if (is_loop) forget_child(child);
}

void Nursery::begin_again(Child& child) {
  child.spec = std::move(*child.next_spec);
  child.next_spec.reset();
  child.is_unwanted = false;
  child.end_reason.clear();
  child.attempts = 0;
  child.phase = Phase::kRestarting;
  parts_.roster.save(child);
  parts_.launcher.release_process(child);
  parts_.alarms.set(Duty::kRestart, child.id, os::monotonic_ns());
  events_.restarting(child);
}

void Nursery::retire(Child& child) {
  const bool is_loop = child.end && child.end->reason == "max restarts exceeded";
  child.phase = Phase::kEnded;
  parts_.roster.save(child);
  if (child.os_pid != 0) parts_.launcher.release_process(child);
  if (!is_loop) {
    tell_parent(child, 0);
    parts_.alarms.set(Duty::kForget, child.id, os::monotonic_ns() + kForgetAfterNs);
  }
  events_.ended(child);
}

void Nursery::tell_parent(const Child& child, std::uint32_t crashes) {
  const Member* const member = parts_.family.find(child.pid);
  const Pid parent = member == nullptr ? child.parent : member->parent;
  const Member* const receiver = parts_.family.find(parent);
  if (parent <= 1 || receiver == nullptr || receiver->state == State::kDead) return;
  const auto& type = crashes == 0 ? kChildExited : kChildCrashed;
  parts_.letters.send(parent, std::string(type),
                      crashes == 0 ? child_exited_text(*child.end, child.spec.name)
                                   : child_crashed_text(*child.end, child.spec.name, crashes),
                      kLetterPatience);
}

void Nursery::start_over(Child& child) {
  // On record first: the next steward starts a child without a process over, too.
  const std::int32_t os_pid = std::exchange(child.os_pid, 0);
  parts_.roster.save(child);
  child.os_pid = os_pid;
  parts_.launcher.release_process(child);
  child.is_adopted = false;
  service::log_info("start_over",
                    fmt::format("{} (PID {}): its process was not released before the last "
                                "steward ended",
                                child.spec.name, child.pid));
  restart(child);
}

void Nursery::restart(Child& child) {
  if (child.phase == Phase::kRestarting) ++child.restarts;
  if (auto launched = launch(child); !launched) {
    child.trouble = launched.error().text;
    finish(child, {});
  }
}

void Nursery::resume(Child& child) {
  const std::int64_t now = os::monotonic_ns();
  switch (child.phase) {
    case Phase::kStarting:
      parts_.alarms.set(Duty::kReady, child.id, now + child.spec.ready_within.count() * kMs);
      break;
    case Phase::kRestarting:
      parts_.alarms.set(Duty::kRestart, child.id,
                        now + std::min(kRestartPauseNs * child.attempts, kLongestPauseNs));
      break;
    case Phase::kEnded:
      if (!child.is_forgotten) parts_.alarms.set(Duty::kForget, child.id, now + kForgetAfterNs);
      break;
    case Phase::kRunning:
      break;
  }
  if (child.is_unwanted && child.phase != Phase::kEnded) ask_to_end(child, child.end_reason);
}

void Nursery::hear_alarm(Duty duty, std::int64_t number) {
  if (number < 0) return forget(static_cast<Pid>(-number));
  Child* const child = parts_.roster.find(number);
  if (child == nullptr) return;
  switch (duty) {
    case Duty::kReady:
      child->trouble =
          fmt::format("{} within {} ms; it must attach to the hive in that time, or be given more",
                      kNeverReady, child->spec.ready_within.count());
      parts_.launcher.signal(*child, SIGKILL);
      break;
    case Duty::kTerm:
      parts_.launcher.signal(*child, SIGTERM);
      // A stopped process takes the signal only then.
      parts_.launcher.signal(*child, SIGCONT);
      break;
    case Duty::kKill:
      parts_.launcher.signal(*child, SIGKILL);
      break;
    case Duty::kRestart:
      restart(*child);
      break;
    case Duty::kForget:
      forget_child(*child);
      break;
    default:
      break;
  }
}

}  // namespace beeline::steward
