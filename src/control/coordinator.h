#pragma once

#include <cstdint>
#include <string>

#include "src/control/hive.h"
#include "src/control/keeper_table.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

struct CoordinatorOptions {
  bool peer_pidfd = true;
  int log_fd = 2;
  std::string log_path;                    // of the file behind log_fd; empty if it is none
  std::int64_t forget_empty_after_ns = 0;  // see hive.h
};

// The life of one coordinator: rebuilds the hive from the table, tells the keeper, serves. Runs in
// a process of its own, forked by the keeper. Returns its exit status.
[[nodiscard]] int run_coordinator(HiveFacts facts, const CoordinatorOptions& options,
                                  os::PacketSocket listener, os::PacketSocket keeper,
                                  KeptTable table);

}  // namespace beeline::control
