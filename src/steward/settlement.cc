#include "src/steward/settlement.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/pid_fd.h"
#include "src/service/log.h"
#include "src/steward/child_process.h"

namespace beeline::steward {

namespace {

using HeldKind = KeeperLine::Word::Kind;

constexpr int kKeeperPatienceMs = 10'000;

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace

Result<void> Settlement::run() {
  if (auto asked = ask_keeper(); !asked) return asked;
  const std::string before = parts_.store.hive_instance();
  const std::string boot = boot_id();
  const pid_t keeper = ::getppid();
  const std::string now = fmt::format("{} {} {}", boot, keeper, start_ticks_of(keeper));
  auto children = parts_.store.children();
  if (!children) return tl::unexpected(std::move(children.error()));
  for (Child& child : *children) parts_.roster.take(std::move(child));
  if (before != now) {
    for (Child* const child : parts_.roster.all()) {
      settle_stranger(*child, before.starts_with(boot));
    }
    if (auto noted = parts_.store.set_hive_instance(now); !noted) return noted;
  }
  for (Child* const child : parts_.roster.all()) settle(*child);
  end_unknown_processes();
  forget_leftovers();
  return {};
}

Result<void> Settlement::ask_keeper() {
  for (;;) {
    auto word = parts_.keeper.next();
    if (!word) return tl::unexpected(std::move(word.error()));
    if (*word) {
      if ((*word)->kind == HeldKind::kKnown) return {};
      const pid_t os_pid = (*word)->os_pid;
      held_[os_pid] = std::move(**word);
      continue;
    }
    pollfd socket{parts_.keeper.fd(), POLLIN, 0};
    if (::poll(&socket, 1, kKeeperPatienceMs) != 0) continue;
    return fail(ErrorCode::kTimeout,
                fmt::format("the keeper has not said within {} ms which children it holds",
                            kKeeperPatienceMs));
  }
}

void Settlement::settle(Child& child) {
  // Its process, if there was one, never got its program. The request for it comes again.
  if (child.pid == 0) return parts_.roster.remove(child.id);
  if (child.phase == Phase::kStarting || child.phase == Phase::kRunning) {
    return settle_running(child);
  }
  // Its end is on record; the keeper may not know that.
  child.os_pid = 0;
  parts_.nursery.resume(child);
}

void Settlement::settle_running(Child& child) {
  if (child.os_pid == 0) return parts_.nursery.start_over(child);
  const auto found = held_.find(child.os_pid);
  child.is_adopted = true;
  if (found == held_.end()) {
    const bool runs = start_ticks_of(child.os_pid) == child.start_ticks;
    if (runs) (void)::kill(-child.os_pid, SIGKILL);
    service::log_warn("end_unknown", fmt::format("{} (PID {}): the keeper does not know process {}",
                                                 child.spec.name, child.pid, child.os_pid));
    return parts_.nursery.hear_unknown_end(child);
  }
  KeeperLine::Word word = std::move(found->second);
  held_.erase(found);
  if (word.kind == HeldKind::kExited) {
    // It was ready if it lived longer than the steward could tell.
    const Member* const member = parts_.family.find(child.pid);
    if (child.phase == Phase::kStarting && member != nullptr && member->was_ready) {
      parts_.nursery.hear_ready(child.pid);
    }
    return parts_.nursery.hear_exit(child, word.status);
  }
  child.pidfd = std::move(word.pidfd);
  parts_.nursery.resume(child);
}

// A child of an earlier hive: its agent is gone, and its process may be left.
void Settlement::settle_stranger(Child& child, bool is_same_boot) {
  if (child.pid == 0) return parts_.roster.remove(child.id);
  const bool is_live = child.phase == Phase::kStarting || child.phase == Phase::kRunning;
  if (is_live && is_same_boot && child.os_pid > 1 &&
      start_ticks_of(child.os_pid) == child.start_ticks) {
    (void)::kill(-child.os_pid, SIGKILL);
    (void)::kill(child.os_pid, SIGKILL);
  }
  child.os_pid = 0;
  child.is_forgotten = true;
  if (child.phase == Phase::kEnded) return parts_.roster.save(child);
  if (!child.end || is_live) {
    child.end = ChildExit{child.pid, -1, 0, false, "unknown", {}};
  }
  child.phase = Phase::kEnded;
  child.ended_unix_ns = os::realtime_ns();
  parts_.roster.save(child);
}

// Agents that the steward before this one had reserved for nothing, or was about to forget.
void Settlement::forget_leftovers() {
  for (const auto& level : parts_.family.levels_below(1)) {
    for (const Pid pid : level) {
      const Member* const member = parts_.family.find(pid);
      if (member == nullptr || member->state != State::kZombie) continue;
      const Child* const child = parts_.roster.find_pid(pid);
      const bool is_left = child == nullptr ? !member->has_lived : child->is_forgotten;
      if (is_left) parts_.nursery.forget(pid);
    }
  }
}

void Settlement::end_unknown_processes() {
  for (auto& [os_pid, word] : held_) {
    const bool has_exited = word.kind == HeldKind::kExited;
    // Its end comes later, and is forgotten then; unless the steward before this one has reaped it.
    const bool ends = !has_exited && os::send_signal(word.pidfd.get(), SIGKILL).has_value();
    if (!ends) parts_.keeper.forget(os_pid);
  }
}

}  // namespace beeline::steward
