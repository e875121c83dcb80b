#pragma once

#include <cstdint>
#include <string>

#include <beeline/agent.h>
#include <beeline/spool.h>

namespace beeline::cli {

// The end of a task, as the agent that had it says.
struct FeedVerdict {
  enum class Way : std::uint8_t { kComplete, kFail, kRetry };
  Way way = Way::kComplete;
  std::string error{};
  spool::Completion completion{};
  Message answer{};  // to be kept until the result is written

  // An answer that is a JSON object with one of the keys of a result means what it says; any other
  // text is the output.
  [[nodiscard]] static FeedVerdict of(Message answer);
  // `has_timeout`: the user has set the deadline of which the error speaks.
  [[nodiscard]] static FeedVerdict without_answer(const Error& error, bool has_timeout);
};

}  // namespace beeline::cli
