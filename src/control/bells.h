#pragma once

// What lives ring each other with. A life is rung at its own eventfd by those who could trace its
// process anyway: the coordinator, lives of the same user, of the user of the hive and of root. Any
// other ringer gets an eventfd that is made for the two alone, and which the keeper holds until one
// of the two has ended: whoever holds an eventfd can take the rings of all others out of it.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

/// True if `ringer` must not hold the eventfd of `rung`.
[[nodiscard]] bool is_foreign(const Life& ringer, const Life& rung);

/// Appends what `life` needs to ring `peer` and to be rung by it: the status page of the peer, the
/// eventfd for it, and what `life` is to listen to if the peer does not get the eventfd of `life`,
/// which is returned. The same at each call. REQUIRES: the peer has a process. Errors: kSystem,
/// kFull (of the keeper); then nothing is appended.
[[nodiscard]] Result<bool> introduce(Hive& hive, const Life& life, const Life& peer,
                                     std::vector<SharedFd>& fds);

/// A life has ended: it neither rings nor is rung any more.
void drop_bells(Hive& hive, std::uint64_t incarnation);

}  // namespace beeline::control
