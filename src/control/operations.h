#pragma once

#include <beeline/result.h>

#include "src/control/hive.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

// Carries out and answers one packet of a client. An error means that the client sent garbage and
// must be dropped with that reason; a request that is merely wrong was answered.
[[nodiscard]] Result<void> handle_packet(Hive& hive, Caller& caller, os::Packet packet);

}  // namespace beeline::control
