#pragma once

#include <vector>

#include <beeline/broadcast.h>
#include <beeline/message.h>

#include "tools/beeline/output.h"

namespace beeline::cli {

// The id as text, or null for none.
[[nodiscard]] Json id_json(MessageId id);

// A message as `recv --json` and `pipe` print it.
[[nodiscard]] Json message_json(const Message& message);

// The outcome of a broadcast, as `bcast --json` and `pipe` print it.
[[nodiscard]] Json deliveries_json(const std::vector<Delivery>& deliveries);

}  // namespace beeline::cli
