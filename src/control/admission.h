#pragma once

// Decides if one more agent or link fits into the hive, and into the share of its user (shares.h).
// An agent that is away has its place and its descriptors already. Newcomers are refused early
// enough that its next life finds room.

#include <sys/types.h>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Admits an agent under a free name. Names that stay are refused a little before temporary agents
// are: a table full of names still has room for a message to one of them. Errors: kFull with the
// user's use, its share, and the next step.
[[nodiscard]] Result<void> admit_agent(Hive& hive, uid_t user, bool temporary);

// Admits one more link of this owner to this reader that does not answer another link. Errors:
// kFull as above.
[[nodiscard]] Result<void> admit_link(Hive& hive, const Agent& owner, Pid reader);

// Admits a link that answers another one: the owner could not read that one without it. It may
// take everything except the part kept for the next lives of agents. Errors: kFull as above.
[[nodiscard]] Result<void> admit_answer(Hive& hive, const Agent& owner);

// The right by which a user claims a share.
[[nodiscard]] Claim claim_of(uid_t user);

}  // namespace beeline::control
