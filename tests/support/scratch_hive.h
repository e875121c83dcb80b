#pragma once
// A hive in a directory of its own for one test, which leaves nothing behind.

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "src/control/client.h"

namespace beeline::test {

class ScratchHive {
 public:
  // Sets BEELINE_DIR and BEELINE_HIVE and starts the coordinator.
  ScratchHive();
  // Calls close() unless the test did; then kills the processes that are left.
  ~ScratchHive();
  ScratchHive(const ScratchHive&) = delete;
  ScratchHive& operator=(const ScratchHive&) = delete;

  // Takes the hive down and fails the test if a process, a file or a descriptor is left. REQUIRES:
  // every agent and role of the test has ended.
  void close();
  [[nodiscard]] bool is_closed() const { return closed_; }
  // SIGKILL for all processes of this hive that do not belong to the test; for a watchdog.
  void kill_all() const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] pid_t keeper() const { return keeper_; }
  // Call this after another hive has started in the place of this one: keeper() is its keeper from
  // now on.
  void find_keeper();
  // The coordinator's process, 0 while the keeper starts the next one.
  [[nodiscard]] pid_t coordinator() const;
  // A new connection. Fails the test if there is none.
  [[nodiscard]] control::Client client() const;
  [[nodiscard]] control::StatusAnswer status() const;
  // The coordinator's log so far.
  [[nodiscard]] std::string log() const;

 private:
  std::string name_;
  std::string directory_;
  pid_t keeper_ = 0;
  std::size_t fds_before_ = 0;
  bool closed_ = false;
};

// Counts those of this process unless another one is named.
[[nodiscard]] std::size_t count_open_fds(pid_t process = ::getpid());

}  // namespace beeline::test
