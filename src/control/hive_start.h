#pragma once

// Connects to a hive that may not run yet, or that has a keeper which is about to listen.

#include <chrono>

#include <beeline/result.h>

#include "src/control/hive_paths.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

struct Starting {
  bool wanted = true;  // start the hive if it does not run
  std::chrono::nanoseconds deadline{};
  bool was_done = false;  // becomes true when the hive was started here
};

// Connects to the hive as connect_to_hive() does, and starts it if it does not run. Waits at most
// `patience` for a keeper that does not listen yet. Errors: as connect_to_hive(), and
// kNoCoordinator with the process that should listen.
[[nodiscard]] Result<os::PacketSocket> connect_or_start(const HivePaths& paths, Starting& starting,
                                                        std::chrono::nanoseconds patience);

}  // namespace beeline::control
