#pragma once

#include <chrono>
#include <map>
#include <set>

#include "src/os/fd.h"
#include "src/spool/claimant.h"
#include "src/spool/name_watch.h"

namespace beeline::spool {

// One descriptor that is readable when a file has come, or when a process with a claim has ended.
class Wakeups {
 public:
  // `watch` must outlive this object.
  explicit Wakeups(const NameWatch& watch);

  // -1: the kernel has none for us now.
  [[nodiscard]] int fd() const { return watch_.fd() < 0 ? -1 : joint_.get(); }
  // From now on the ends of these processes are told, and of no others. False if there are more of
  // them than this object watches, or one of them cannot be watched.
  bool watch_processes(const std::set<ProcessLife>& living);
  // Waits until fd() is readable, at most so long. Without a descriptor it waits the whole time.
  void wait(std::chrono::nanoseconds most) const;

 private:
  static constexpr std::size_t kMostProcesses = 64;
  const NameWatch& watch_;
  os::UniqueFd joint_;
  std::map<ProcessLife, os::UniqueFd> processes_;
};

}  // namespace beeline::spool
