#include "tools/beeline/kin.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "src/os/pid_fd.h"

namespace beeline::cli {

// Leaves out processes that end during the look, and zombies, which run no more.
Kin::Processes Kin::all() {
  Processes found;
  for (const pid_t pid : all_processes()) {
    const auto stat = read_stat(pid);
    if (stat && stat->letter != 'Z' && stat->letter != 'X') found[pid] = *stat;
  }
  return found;
}

bool Kin::look() {
  const Processes processes = all();
  const pid_t self = ::getpid();
  const pid_t session = ::getsid(0);
  Processes members;
  const auto belongs = [&](pid_t pid, const ProcessStat& process) {
    if (members.count(process.parent) != 0) return true;
    return process.parent == self && (process.session == session || signalled_.count(pid) != 0 ||
                                      sessions_.count(process.session) != 0);
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [pid, process] : processes) {
      if (members.count(pid) != 0 || !belongs(pid, process)) continue;
      members[pid] = process;
      grows = true;
    }
  }
  members_ = std::move(members);
  return !members_.empty();
}

// A process id may belong to another process by now. Open a pidfd first, then look once more: from
// then on no other process can take its place.
void Kin::signal(int number) {
  signalled_ = members_;
  for (const auto& [pid, process] : members_) {
    // A process that it starts before it ends is left to us in this session.
    sessions_.insert(process.session);
    const auto pidfd = os::open_pidfd(pid);
    const auto now = pidfd ? read_stat(pid) : std::nullopt;
    if (!now || now->started_us != process.started_us) continue;
    (void)os::send_signal(pidfd->get(), number);
  }
}

}  // namespace beeline::cli
