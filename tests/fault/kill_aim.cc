#include "tests/fault/kill_aim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <fmt/format.h>

#include "src/os/process.h"

namespace beeline::test {

KillAim::KillAim() : memory_(sizeof(KillOrder)) {
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.fd());
  ::setenv(kKillOrderVariable, path.c_str(), 1);
}

KillAim::~KillAim() { ::unsetenv(kKillOrderVariable); }

KillAim::Setting::Setting() {
  ::setenv("LD_PRELOAD", (os::executable_directory() + "/libkill_trap.so").c_str(), 1);
}

KillAim::Setting::~Setting() { ::unsetenv("LD_PRELOAD"); }

void KillAim::aim(std::uint64_t at, pid_t process, pid_t spared) {
  KillOrder& now = order();
  now.armed.store(0);
  now.process.store(process);
  now.spared.store(spared);
  now.at.store(at);
  now.calls.store(0);
  now.stores.store(0);
  now.killed.store(0);
}

std::string KillAim::describe() const {
  const KillOrder& now = order();
  if (now.killed.load() == 0) return "nobody was killed";
  if (now.call >= 0) return fmt::format("killed before system call {}", now.call);
  return fmt::format("killed before a store at {} of {}", now.offset, now.segment);
}

SharedMemory find_kill_order() {
  const char* const path = ::getenv(kKillOrderVariable);
  return {path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC), sizeof(KillOrder)};
}

}  // namespace beeline::test
