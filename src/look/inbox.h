#pragma once

// look_into_inbox() for a caller that has a connection to the coordinator.

#include <cstdint>
#include <string_view>

#include <beeline/inbox.h>

#include "src/control/client.h"

namespace beeline::look {

// Only the coordinator knows which links still count. `name` is left empty. Errors: those of
// look_into_inbox(), and those of every call of the client.
[[nodiscard]] Result<SeenInbox> read_inbox(control::Client& client, std::string_view hive,
                                           std::uint32_t pid);

}  // namespace beeline::look
