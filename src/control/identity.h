#pragma once

#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Identifies the process at the other end, with proof from the kernel: from the socket, or from
// the pidfd that it sent, which must be the one of the socket's pid. Takes that descriptor out of
// `fds` (the first, if `sent_pidfd`). Errors: kDenied with the reason, kPeerDead, kProtocol,
// kSystem.
[[nodiscard]] Result<SharedFd> identify(const Caller& caller, bool sent_pidfd,
                                        std::vector<os::UniqueFd>& fds);

// True if both pidfds name the same process, which lives.
[[nodiscard]] bool same_process(int pidfd, int other);

// True for the user of the hive and for root: they may do to any agent everything that its own
// user may.
[[nodiscard]] bool is_trusted(uid_t user);
[[nodiscard]] inline bool is_trusted(const Caller& caller) { return is_trusted(caller.uid); }

}  // namespace beeline::control
