#pragma once

// The eventfds by which lives ring each other. A process that holds an eventfd can take the rings
// of all others out of it. So only ringers that could trace a life's process anyway ring it at its
// own eventfd: the coordinator, lives of the same user, of the user of the hive and of root. Any
// other ringer gets an eventfd made for this pair, which the keeper holds until one of the two has
// ended.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// True if `ringer` must not hold the eventfd of `rung`.
[[nodiscard]] bool is_foreign(const Life& ringer, const Life& rung);

// Appends the descriptors that `life` needs to ring `peer` and to be rung by it: the status page
// of the peer, the eventfd to ring it with, and, if the result is true, the eventfd at which the
// peer rings `life` in place of its own one. Appends the same at each call. REQUIRES: the peer has
// a process. Errors: kSystem, kFull (of the keeper); then nothing is appended.
[[nodiscard]] Result<bool> introduce(Hive& hive, const Life& life, const Life& peer,
                                     std::vector<SharedFd>& fds);

// Drops the bells of a life that has ended: it neither rings nor is rung any more.
void drop_bells(Hive& hive, shm::Incarnation incarnation);

}  // namespace beeline::control
