#pragma once
// Reads the status page of an agent from outside, as shm-dump does: through /proc.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include <beeline/types.h>

#include "shm/status.h"

namespace beeline::test {

class StatusProbe {
 public:
  // Finds the page of agent `pid` of the hive, which lives in process `process`. Fails the test if
  // there is none.
  StatusProbe(const std::string& hive, pid_t process, Pid pid);
  ~StatusProbe();
  StatusProbe(const StatusProbe&) = delete;
  StatusProbe& operator=(const StatusProbe&) = delete;

  [[nodiscard]] shm::Sleep sleep() const;
  [[nodiscard]] std::uint64_t sleeps() const { return page_->sleeps.observe(); }
  // Waits until the agent is in a long sleep of this kind: the first sleep of a wait ends by itself
  // after 2 ms. Nobody is told when an agent falls asleep, so this looks repeatedly. False at the
  // deadline.
  [[nodiscard]] bool await_long_sleep(shm::Sleep how, Deadline deadline) const;

 private:
  const shm::StatusPage* page_ = nullptr;
};

}  // namespace beeline::test
