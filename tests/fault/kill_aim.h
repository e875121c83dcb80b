#pragma once
// The test's end of the trap: it starts programs under the trap, and chooses the event at which one
// of them dies.

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

  // While it lives, programs that are started run under the trap, and so do their children.
  class Setting {
   public:
    Setting();
    ~Setting();
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
  };

  // The process dies before its `at`-th event (from 1; 0: never): the given one, or with 0 the
  // first one, except `spared`, that comes so far. Events count from arm() on; victims may call
  // that.
  void aim(std::uint64_t at, pid_t process = 0, pid_t spared = 0);
  void arm() { order().armed.store(1); }
  void disarm() { order().armed.store(0); }

  [[nodiscard]] KillOrder& order() const { return memory_.as<KillOrder>(); }
  // The process that died, 0 if none has.
  [[nodiscard]] pid_t killed() const { return order().killed.load(); }
  // The event before which a process died, for people.
  [[nodiscard]] std::string describe() const;

 private:
  SharedMemory memory_;
};

// The order that this process was started with.
[[nodiscard]] SharedMemory find_kill_order();

}  // namespace beeline::test
