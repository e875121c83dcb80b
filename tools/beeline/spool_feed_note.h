#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <beeline/types.h>

#include "tools/beeline/output.h"

namespace beeline::cli {

// The note of a claim about its request.
struct FeedNote {
  std::string home{};     // of the agent that sends it, in this life of the hive
  Pid to = 0;             // the agent that is asked
  MessageId after = 0;    // an id below that of the request
  MessageId message = 0;  // the request; 0: it was not sent when the note was written

  [[nodiscard]] std::string text() const;
  // Nothing: no request was about to be sent.
  [[nodiscard]] static std::optional<FeedNote> read(std::string_view text);
};

// The JSON object in a text; null if there is none, or a very deep one.
[[nodiscard]] Json object_in(std::string_view text);
// A text as it is, any other value as JSON; empty if there is none.
[[nodiscard]] std::string text_in(const Json& object, const char* key);

}  // namespace beeline::cli
