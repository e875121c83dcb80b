#pragma once
// Runs roles, as threads or as processes, and waits for their ends.

#include <sys/types.h>

#include <cstdint>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <beeline/types.h>

#include "src/os/fd.h"
#include "tests/support/roles.h"

namespace beeline::test {

enum class World : std::uint8_t { kThreads, kProcesses };
std::ostream& operator<<(std::ostream& out, World world);

class Troupe {
 public:
  // The memory outlives the troupe.
  Troupe(World world, const SharedMemory& memory) : world_(world), memory_(&memory) {}
  // Kills and reaps processes that still run; joins threads.
  ~Troupe();
  Troupe(const Troupe&) = delete;
  Troupe& operator=(const Troupe&) = delete;

  // Starts a role and returns its place. Fails the test if that is not possible.
  std::size_t start(const std::string& role, std::uint32_t number = 0);
  // Waits for the end of one or all roles; each must end without a failure.
  void wait(std::size_t place, Deadline deadline);
  void wait_all(Deadline deadline);

  // ---- Processes only ----
  // SIGKILL, and waits until it is gone.
  void kill(std::size_t place);
  // Starts the role of this place again. REQUIRES: it has ended.
  void restart(std::size_t place);
  // Becomes readable when the process ends; -1 after it was reaped.
  [[nodiscard]] int pidfd(std::size_t place) const { return members_[place]->pidfd.get(); }
  [[nodiscard]] pid_t os_pid(std::size_t place) const { return members_[place]->os_pid; }
  // Reaps a process that has ended and returns its wait status, -1 while it runs.
  int reap(std::size_t place);
  [[nodiscard]] std::size_t size() const { return members_.size(); }

 private:
  struct Member {
    std::string role;
    std::uint32_t number = 0;
    pid_t os_pid = 0;  // 0 = a thread, or reaped
    os::UniqueFd pidfd;
    std::thread thread;
    std::future<void> end;
  };
  void launch(Member& member);
  void await_process(Member& member, Deadline deadline);

  World world_;
  const SharedMemory* memory_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace beeline::test
