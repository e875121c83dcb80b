#pragma once

// An inbox as lines of text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/inbox.h>
#include <beeline/result.h>

#include "src/control/client.h"

namespace beeline::cli {

// One message of an agent, wherever it lies. Its texts are escaped.
struct InboxLine {
  std::string place;  // the word for an InboxPlace
  std::uint64_t id = 0;
  std::uint64_t reply_to = 0;
  std::string from;  // name, if it is known
  std::string type;
  std::string channel;
  std::int32_t rank = 0;  // as stored; for a message in a lane, as it will be stored
  std::uint32_t attempts = 0;
  std::uint32_t bytes = 0;
  std::int64_t age_ms = 0;
  std::string reason;   // why it is dead, or will be dead as soon as its agent looks
  std::string preview;  // the start of the payload
};

// The lines of an inbox, in its order.
[[nodiscard]] std::vector<InboxLine> lines_of(const SeenInbox& inbox);

}  // namespace beeline::cli
