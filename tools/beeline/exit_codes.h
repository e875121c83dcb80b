#pragma once

// The exit codes of `beeline`, and the one place that turns failures into them.

#include <array>
#include <cstddef>
#include <string_view>

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline::cli {

enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,
  kNoCoordinator = 3,  // no coordinator listens, or one listens already
  kNoAgent = 4,
  kTimeout = 5,
  kFull = 6,
  kDenied = 7,
};

struct ExitMeaning {
  ExitCode code;
  std::string_view word;  // in the JSON of an error, unless the cause has a word of its own
  std::string_view meaning;
};
// Sorted by code. `beeline help exit-codes` prints it; `beeline run` exits as its command does.
inline constexpr std::array<ExitMeaning, 8> kExitMeanings = {{
    {ExitCode::kOk, "ok", "done"},
    {ExitCode::kError, "error", "failed for another reason, also if the output was not written"},
    {ExitCode::kUsage, "usage", "the command line is wrong; nothing was done"},
    {ExitCode::kNoCoordinator, "no_coordinator",
     "no coordinator runs, it went down, or what is asked for is in use already"},
    {ExitCode::kNoAgent, "no_agent", "there is no such agent or task, or it has ended"},
    {ExitCode::kTimeout, "timeout", "no message, reply or task came in time"},
    {ExitCode::kFull, "full", "the receiver has no room; the message was not sent"},
    {ExitCode::kDenied, "denied", "a rule or the rights of the user forbid it"},
}};
static_assert([] {
  for (std::size_t i = 0; i < kExitMeanings.size(); ++i) {
    if (kExitMeanings[i].code != static_cast<ExitCode>(i)) return false;
  }
  return true;
}());

[[nodiscard]] constexpr ExitCode exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalid:
      return ExitCode::kUsage;
    case ErrorCode::kNoCoordinator:
    case ErrorCode::kAlreadyRunning:
    case ErrorCode::kClosed:
      return ExitCode::kNoCoordinator;
    case ErrorCode::kNoAgent:
    case ErrorCode::kNoRoute:
    case ErrorCode::kPeerDead:
    case ErrorCode::kPeerDeadTaken:
      return ExitCode::kNoAgent;
    case ErrorCode::kTimeout:
      return ExitCode::kTimeout;
    case ErrorCode::kFull:
      return ExitCode::kFull;
    case ErrorCode::kDenied:
      return ExitCode::kDenied;
    case ErrorCode::kSystem:
    case ErrorCode::kTooBig:
    case ErrorCode::kLoop:
    case ErrorCode::kNoMemory:
    case ErrorCode::kBadSegment:
    case ErrorCode::kWrongVersion:
    case ErrorCode::kProtocol:
    case ErrorCode::kNotice:
    case ErrorCode::kUnanswered:
    case ErrorCode::kRejected:
    case ErrorCode::kFailed:
      return ExitCode::kError;
  }
  return ExitCode::kError;
}

[[nodiscard]] constexpr ExitCode exit_code(SendStatus status) noexcept {
  switch (status) {
    case SendStatus::kOk:
      return ExitCode::kOk;
    case SendStatus::kFull:
    case SendStatus::kRateLimited:
      return ExitCode::kFull;
    case SendStatus::kNoRoute:
    case SendStatus::kNoAgent:
    case SendStatus::kPeerDead:
      return ExitCode::kNoAgent;
    case SendStatus::kDenied:
      return ExitCode::kDenied;
    case SendStatus::kTooBig:
    case SendStatus::kLoop:
    case SendStatus::kNoMemory:
      return ExitCode::kError;
  }
  return ExitCode::kError;
}

}  // namespace beeline::cli
