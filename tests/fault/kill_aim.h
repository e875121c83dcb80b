#pragma once
// The test's end of the trap: it starts programs under it, and says at which of their events one of
// them is to die.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/fault/kill_order.h"
#include "tests/support/shared_memory.h"

namespace beeline::test {

class KillAim {
 public:
  KillAim();
  ~KillAim();
  KillAim(const KillAim&) = delete;
  KillAim& operator=(const KillAim&) = delete;

  // Programs that are started while it lives run under the trap, and so do their children.
  class Setting {
   public:
    Setting();
    ~Setting();
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
  };

  // Before its `at`-th event (from 1; 0: never) the process dies: the given one, or with 0 the
  // first but `spared` that comes so far. Events count from arm() on; victims may call that.
  void aim(std::uint64_t at, pid_t process = 0, pid_t spared = 0);
  void arm() { order().armed.store(1); }
  void disarm() { order().armed.store(0); }

  [[nodiscard]] KillOrder& order() const { return memory_.as<KillOrder>(); }
  // Who died, 0 while nobody has.
  [[nodiscard]] pid_t killed() const { return order().killed.load(); }
  // Before which event somebody died, for people.
  [[nodiscard]] std::string describe() const;

 private:
  SharedMemory memory_;
};

// The order that this process was started with.
[[nodiscard]] SharedMemory find_kill_order();

}  // namespace beeline::test
