#pragma once

// Whether one more agent or link fits into the hive, and into the share of its user (shares.h). An
// agent that is away has its place and its descriptors already: newcomers are refused before its
// next life would find no room.

#include <sys/types.h>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

/// Room for an agent whose name nobody holds. Names that stay are refused a little before temporary
/// agents are: a table full of names still has room for a message to one of them. Errors: kFull
/// with what the user holds, its share, and what to do.
[[nodiscard]] Result<void> admit_agent(Hive& hive, uid_t user, bool temporary);

/// Room for one more link of this owner to this reader, which is no answer to a link. Errors: kFull
/// as above.
[[nodiscard]] Result<void> admit_link(Hive& hive, const Agent& owner, Pid reader);

/// Room for a link that answers one: what lies in that one could not be read without it. It may
/// take all but what is kept for the next lives of agents. Errors: kFull as above.
[[nodiscard]] Result<void> admit_answer(Hive& hive, const Agent& owner);

/// The right by which a user claims a share.
[[nodiscard]] Claim claim_of(uid_t user);

}  // namespace beeline::control
