#include "src/spool/wakeups.h"

#include <utility>

#include "src/os/event_fd.h"
#include "src/os/joint_fd.h"
#include "src/os/pid_fd.h"

namespace beeline::spool {

Wakeups::Wakeups(const NameWatch& watch) : watch_(watch) {
  auto joint = os::create_joint_fd();
  if (!joint || watch_.fd() < 0) return;
  if (os::add_to_joint(joint->get(), watch_.fd())) joint_ = std::move(*joint);
}

bool Wakeups::watch_processes(const std::set<ProcessLife>& living) {
  for (auto known = processes_.begin(); known != processes_.end();) {
    if (living.contains(known->first)) {
      ++known;
      continue;
    }
    os::remove_from_joint(joint_.get(), known->second.get());
    known = processes_.erase(known);
  }
  bool all = true;
  for (const ProcessLife& process : living) {
    if (processes_.contains(process)) continue;
    auto opened = os::open_pidfd(process.pid);
    // The number may have got another process in the meantime; the next look finds the claim.
    if (processes_.size() >= kMostProcesses || !opened || !process.goes_on() ||
        !os::add_to_joint(joint_.get(), opened->get())) {
      all = false;
      continue;
    }
    processes_.emplace(process, std::move(*opened));
  }
  return all;
}

void Wakeups::wait(std::chrono::nanoseconds most) const {
  // A descriptor of -1 is skipped.
  const int joint = fd();
  (void)os::poll_readable({&joint, 1}, most);
}

}  // namespace beeline::spool
