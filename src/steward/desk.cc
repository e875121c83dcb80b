#include "src/steward/desk.h"

#include <signal.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/pid_fd.h"
#include "src/service/log.h"
#include "src/steward/answer.h"
#include "src/steward/policy.h"
#include "src/steward/sleep.h"

namespace beeline::steward {

namespace {

constexpr std::size_t kMostParked = 1024;
constexpr std::size_t kMostLogged = 2000;

}  // namespace

void Desk::take(Message message) {
  if (!message.type().starts_with("hive.")) return take_other(std::move(message));
  const auto caller = Caller::find(parts_.family, message.from());
  if (caller) return handle(*caller, std::move(message));
  park(std::move(message));
}

void Desk::park(Message message) {
  if (parked_.size() >= kMostParked) {
    return refuse(std::move(message), ErrorCode::kFull,
                  fmt::format("pid 1 holds {} requests that wait for a list of all agents: try "
                              "again",
                              kMostParked));
  }
  ask_for_list_();
  parked_.push_back(std::move(message));
}

void Desk::go_on(bool is_old) {
  std::vector<Message> parked = std::exchange(parked_, {});
  for (Message& message : parked) {
    const auto caller = Caller::find(parts_.family, message.from());
    if (caller) {
      handle(*caller, std::move(message));
    } else if (is_old) {
      parked_.push_back(std::move(message));
    } else {
      message.done();
    }
  }
}

void Desk::take_other(Message message) {
  if (message.type() == kEscalation) {
    service::log_warn("escalation",
                      fmt::format("from {} (PID {}): {}", message.from_name(), message.from(),
                                  message.text().substr(0, kMostLogged)));
    return message.done();
  }
  // Answers to its own letters are nothing to it.
  if (message.reply_to() != 0) return message.done();
  message.reject("pid 1 takes requests of type hive.* and escalations");
}

void Desk::refuse(Message message, ErrorCode code, std::string text) {
  parts_.letters.answer(std::move(message), error_text({code, 0, std::move(text)}));
}

void Desk::handle(const Caller& caller, Message message) {
  auto request = parse_request(message.type(), message.text());
  if (!request) {
    return refuse(std::move(message), request.error().code, std::move(request.error().text));
  }
  auto* const spawn = std::get_if<SpawnRequest>(&*request);
  if (is_closed_ && (spawn != nullptr || std::holds_alternative<ApplyRequest>(*request))) {
    return refuse(std::move(message), ErrorCode::kPeerDead,
                  "spawn: the hive is ending and starts no children");
  }
  if (spawn != nullptr) {
    const Member* const parent = parts_.family.find(spawn->options.parent);
    if (parent != nullptr && !parent->is_complete) return park(std::move(message));
    return parts_.spawns.handle(caller, std::move(spawn->options), std::move(message));
  }
  if (const auto* const kill = std::get_if<KillRequest>(&*request)) {
    handle(caller, *kill, std::move(message));
  } else if (const auto* const wait = std::get_if<WaitRequest>(&*request)) {
    handle(caller, *wait, std::move(message));
  } else if (const auto* const list = std::get_if<ListRequest>(&*request)) {
    handle(caller, *list, std::move(message));
  } else if (const auto* const signal = std::get_if<SignalRequest>(&*request)) {
    handle(caller, *signal, std::move(message));
  } else if (auto* const apply = std::get_if<ApplyRequest>(&*request)) {
    parts_.applier.handle(caller, std::move(*apply), std::move(message));
  }
}

Result<void> Desk::check_may_kill(const Caller& caller) const {
  auto reason = refusal(caller.actor, Action::kKill);
  if (!reason) reason = refusal(caller.actor, Capability::kKillProcesses);
  if (!reason) return {};
  return fail(ErrorCode::kDenied, std::move(*reason));
}

bool Desk::owns(const Caller& caller, Pid pid) const {
  // The records of the forgotten lead to the next agent above them that the coordinator knows. A
  // parent is older than its children and has a lower number.
  while (!caller.is_operator && parts_.family.find(pid) == nullptr) {
    const Child* const child = parts_.roster.find_pid(pid);
    if (child == nullptr || child->parent >= pid) return false;
    pid = child->parent;
    if (pid == caller.actor.pid) return true;
  }
  return caller.owns(parts_.family, pid);
}

Result<Pid> Desk::find_target(const Caller& caller, std::string_view verb,
                              const std::string& text) {
  const Child* const child = parts_.roster.find_text(text);
  const Member* const member = parts_.family.find(text);
  // A living agent of this name goes before an ended child.
  const bool is_member = member != nullptr && (child == nullptr || child->phase == Phase::kEnded);
  const Pid pid = is_member ? member->pid : child != nullptr ? child->pid : 0;
  if (pid == 0) {
    return fail(ErrorCode::kNoAgent, fmt::format("{}: process not found: \"{}\"", verb, text));
  }
  if (owns(caller, pid)) return pid;
  return fail(ErrorCode::kDenied,
              fmt::format("can only {} own children: PID {} is not below PID {}", verb, pid,
                          caller.actor.pid));
}

void Desk::handle(const Caller& caller, const KillRequest& request, Message message) {
  auto target = find_target(caller, "kill", request.child);
  if (auto may = check_may_kill(caller); target && !may) target = tl::unexpected(may.error());
  if (!target) {
    return refuse(std::move(message), target.error().code, std::move(target.error().text));
  }
  if (!request.recursive) {
    const auto below = parts_.family.children_of(*target);
    const auto living = std::count_if(below.begin(), below.end(), [this](Pid pid) {
      return parts_.family.find(pid)->has_process();
    });
    if (living != 0) {
      return refuse(std::move(message), ErrorCode::kInvalid,
                    fmt::format("kill: PID {} has {} living children: end them first, or kill it "
                                "with all its descendants (recursive)",
                                *target, living));
    }
  }
  const Child* const child = parts_.roster.find_pid(*target);
  // The first delivery of this request may have ended it.
  const bool was_ended = message.redelivered() && child != nullptr && child->was_killed();
  message.defer();
  auto held = std::make_shared<Message>(std::move(message));
  parts_.kills.start(*target, kKilledReason,
                     [this, held, was_ended, pid = *target](std::vector<Pid> ended) {
                       if (was_ended) ended.push_back(pid);
                       parts_.letters.answer(std::move(*held), killed_text(ended));
                     });
}

void Desk::handle(const Caller& caller, const WaitRequest& request, Message message) {
  const auto target = find_target(caller, "wait for", request.child);
  if (!target) return refuse(std::move(message), target.error().code, target.error().text);
  const Child* const child = parts_.roster.find_pid(*target);
  if (child == nullptr) {
    return refuse(std::move(message), ErrorCode::kNoAgent,
                  fmt::format("wait for: process not found: PID {} was not started by pid 1, or "
                              "its end is too long ago",
                              *target));
  }
  if (child->phase == Phase::kEnded && child->end) {
    return parts_.letters.answer(std::move(message), exit_text(*child->end));
  }
  message.defer();
  const std::int64_t number = waits_.add(child->id, std::move(message));
  parts_.alarms.set(Duty::kWait, number, os::monotonic_ns() + request.timeout.count() * 1'000'000);
}

void Desk::hear_end(Child& child) {
  answer_kills(child, to_string(Phase::kEnded));
  for (auto& question : waits_.take_all(child.id)) {
    parts_.alarms.clear(Duty::kWait, question.number);
    if (child.end) {
      parts_.letters.answer(std::move(question.message), exit_text(*child.end));
    } else {
      refuse(std::move(question.message), ErrorCode::kNoAgent,
             fmt::format("wait for: {} was never started", child.spec.name));
    }
  }
}

void Desk::hear_wait_over(std::int64_t number) {
  auto question = waits_.take(number);
  if (!question) return;
  refuse(std::move(*question), ErrorCode::kTimeout, "timeout waiting for child");
}

ChildInfo Desk::info_of(Child& child) const {
  ChildInfo info;
  const Member* const member = parts_.family.find(child.pid);
  info.pid = child.pid;
  info.parent = member == nullptr ? child.parent : member->parent;
  info.name = child.spec.name;
  info.role = child.spec.role;
  info.tier = child.spec.tier;
  info.model = child.spec.model;
  info.state = state_of(child);
  info.restart = child.spec.restart;
  info.os_pid = child.os_pid;
  info.restarts = child.restarts;
  info.started_unix_ns = child.started_unix_ns;
  info.log = parts_.launcher.log_of(child).path();
  info.end = child.end;
  return info;
}

void Desk::handle(const Caller& caller, const ListRequest& request, Message message) {
  std::vector<ChildInfo> children;
  for (Child* const child : parts_.roster.all()) {
    if (child->is_forgotten || child->pid == 0) continue;
    ChildInfo info = info_of(*child);
    const bool is_own = info.parent == caller.actor.pid;
    const bool is_listed =
        caller.is_operator || is_own || (request.recursive && owns(caller, child->pid));
    if (is_listed) children.push_back(std::move(info));
  }
  std::ranges::sort(children, {}, &ChildInfo::pid);
  parts_.letters.answer(std::move(message), children_text(children));
}

Result<Child*> Desk::find_process(const Caller& caller, const SignalRequest& request) {
  auto target = find_target(caller, "signal", request.child);
  if (!target) return tl::unexpected(std::move(target.error()));
  if (auto may = check_may_kill(caller); !may) return tl::unexpected(std::move(may.error()));
  const std::string what = request.verb == "signal"
                               ? fmt::format("signal {} to PID {}", request.signal, *target)
                               : fmt::format("{} of PID {}", request.verb, *target);
  Child* const child = parts_.roster.find_pid(*target);
  if (child == nullptr) {
    return fail(ErrorCode::kNoAgent, fmt::format("{}: pid 1 has not started this process", what));
  }
  if (child->phase == Phase::kRestarting) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("{}: the last process of \"{}\" is dead, its state is restarting; try "
                            "again when it runs",
                            what, child->spec.name));
  }
  if (child->os_pid == 0 || !child->pidfd.valid() || os::has_exited(child->pidfd.get())) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("{}: \"{}\" is dead, its state is ended; only another spawn brings it "
                            "back",
                            what, child->spec.name));
  }
  return child;
}

void Desk::handle(const Caller& caller, const SignalRequest& request, Message message) {
  const bool is_kill = request.number == SIGKILL;
  auto found = find_process(caller, request);
  if (!found) {
    Child* const ended = parts_.roster.find_text(request.child);
    // The first delivery of this request has killed it.
    const bool was_killed = is_kill && ended != nullptr && message.redelivered() &&
                            found.error().code == ErrorCode::kPeerDead;
    if (!was_killed) return refuse(std::move(message), found.error().code, found.error().text);
    return parts_.letters.answer(std::move(message), signalled_text(ended->pid, state_of(*ended)));
  }
  Child& child = **found;
  // The first delivery of this request may have woken it.
  if (request.verb == "wake" && !message.redelivered() && !is_asleep(child)) {
    return refuse(
        std::move(message), ErrorCode::kInvalid,
        fmt::format("wake of PID {}: \"{}\" is {}, and only a sleeping child can be woken",
                    child.pid, child.spec.name, state_of(child)));
  }
  parts_.launcher.signal(child, request.number);
  if (is_kill) {
    message.defer();
    killed_.add(child.id, std::move(message));
    return;
  }
  parts_.letters.answer(std::move(message), signalled_text(child.pid, state_of(child)));
}

void Desk::answer_kills(const Child& child, std::string_view state) {
  for (auto& question : killed_.take_all(child.id)) {
    parts_.letters.answer(std::move(question.message), signalled_text(child.pid, state));
  }
}

}  // namespace beeline::steward
