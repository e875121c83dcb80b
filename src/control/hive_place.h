#pragma once

// Decides if the place that find_hive() names may be trusted to hold a hive of ours. Another user
// may have made the directory before us: every user can write to /tmp, and a variable of the
// environment may be another user's.

#include <beeline/result.h>

#include "src/control/hive_paths.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

// Refuses a directory that belongs to a user other than ours and root, and such directories above
// it that find_hive() chose. A missing directory is good, except $XDG_RUNTIME_DIR itself.
// $BEELINE_DIR is the user's own word: it may name a hive of any user. Errors: kDenied with the
// directory and its owner, kSystem.
[[nodiscard]] Result<void> check_place(const HivePaths& paths);

// Connects to the hive at a place that passed check_place(), and refuses a listener by the same
// rule. Errors: as check_place() and PacketSocket::connect().
[[nodiscard]] Result<os::PacketSocket> connect_to_hive(const HivePaths& paths);

}  // namespace beeline::control
