#include "src/steward/launcher.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/pid_fd.h"
#include "src/os/uninterrupted.h"
#include "src/service/log.h"

namespace beeline::steward {

namespace {

void reap_process(int pidfd) {
  siginfo_t ignored{};
  (void)os::uninterrupted(
      [&] { return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &ignored, WEXITED); });
}

// A child of a steward that could not be recorded: its program has not begun.
void discard(const StartedProcess& started) {
  (void)os::send_signal(started.pidfd.get(), SIGKILL);
  reap_process(started.pidfd.get());
}

}  // namespace

Launcher::Launcher(const Parts& parts, std::string output_directory)
    : parts_(parts),
      output_directory_(std::move(output_directory)),
      groups_(ControlGroups::find()) {}

ChildLog Launcher::log_of(const Child& child) const {
  return {output_directory_, child.spec.name, child.pid};
}

bool Launcher::needs_group(const Child& child) const {
  const ChildLimits& limits = child.spec.limits;
  return groups_.are_usable() && (limits.memory_bytes != 0 || limits.processes != 0);
}

Result<void> Launcher::check_limits(const ChildLimits& limits) const {
  if (limits.processes == 0 || groups_.are_usable()) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("limits: \"processes\" is {}, but the steward may not use control groups "
                          "of version 2: {}; leave the limit out, or run the hive as a service "
                          "with Delegate=yes",
                          limits.processes, groups_.missing()));
}

Result<std::string> Launcher::reserve(Child& child) {
  Reservation wanted;
  wanted.pid = child.pid;
  wanted.name = child.spec.name;
  wanted.parent = child.parent;
  wanted.role = child.spec.role;
  wanted.uid = child.spec.uid.value_or(::geteuid());
  auto ticket = parts_.king.reserve(wanted);
  if (!ticket) return tl::unexpected(std::move(ticket.error()));
  if (child.pid == 0) {
    parts_.roster.set_pid(child, ticket->pid);
    parts_.family.add({.pid = child.pid,
                       .parent = child.parent,
                       .name = child.spec.name,
                       .role = child.spec.role,
                       .uid = wanted.uid,
                       .is_complete = true,
                       .state = State::kZombie});
  }
  return std::move(ticket->ticket);
}

Result<void> Launcher::launch(Child& child) {
  auto ticket = reserve(child);
  if (!ticket) return tl::unexpected(std::move(ticket.error()));
  auto output = log_of(child).open();
  if (!output) return tl::unexpected(std::move(output.error()));
  auto plan = plan_process(child.spec, *ticket, !groups_.are_usable());
  if (!plan) return tl::unexpected(std::move(plan.error()));
  if (needs_group(child)) {
    if (auto made = groups_.make(child.id, child.spec.limits); !made) return made;
  }
  auto started = start_process(std::move(*plan), output->get());
  if (!started) return tl::unexpected(std::move(started.error()));
  return record(child, std::move(*started));
}

Result<void> Launcher::record(Child& child, StartedProcess started) {
  Result<void> done;
  if (needs_group(child)) done = groups_.join(child.id, started.pid);
  if (done) done = parts_.keeper.hold(started.pid, started.pidfd.get());
  if (!done) {
    discard(started);
    return done;
  }
  child.os_pid = started.pid;
  child.start_ticks = start_ticks_of(started.pid);
  child.is_adopted = false;
  child.phase = Phase::kStarting;
  child.started_unix_ns = os::realtime_ns();
  child.trouble.clear();
  parts_.roster.save(child);
  child.pidfd = std::move(started.pidfd);
  child.link = std::move(started.link);
  // A process that was killed meanwhile tells so by its end.
  if (auto released = release(child.link.get()); !released) child.trouble = released.error().text;
  parts_.watch.add(child.pidfd.get(), Source::kProcess, child.id);
  parts_.watch.add(child.link.get(), Source::kLink, child.id);
  parts_.alarms.set(Duty::kReady, child.id,
                    os::monotonic_ns() + child.spec.ready_within.count() * 1'000'000);
  return {};
}

void Launcher::release_process(Child& child) {
  const std::int32_t os_pid = std::exchange(child.os_pid, 0);
  parts_.watch.remove(child.link.get());
  child.link.reset();
  if (!child.is_adopted && child.pidfd.valid()) {
    parts_.watch.remove(child.pidfd.get());
    reap_process(child.pidfd.get());
  }
  child.pidfd.reset();
  if (os_pid != 0) parts_.keeper.forget(os_pid);
  if (needs_group(child)) groups_.remove(child.id);
}

void Launcher::signal(Child& child, int number) const {
  if (!child.pidfd.valid() || os::has_exited(child.pidfd.get())) return;
  if (number == SIGSTOP) child.is_stopping = true;
  if (number == SIGCONT || number == SIGKILL) child.is_stopping = false;
  if (::kill(-child.os_pid, number) == 0) return;
  (void)os::send_signal(child.pidfd.get(), number);
}

void Launcher::kill_rest(const Child& child) const {
  if (child.os_pid <= 1) return;
  // The number of a process that was not reaped, or that names a group, is given to no other one.
  const bool is_reused = child.is_adopted && ::kill(child.os_pid, 0) == 0;
  if (!is_reused) (void)::kill(-child.os_pid, SIGKILL);
  if (needs_group(child)) groups_.kill(child.id);
}

}  // namespace beeline::steward
