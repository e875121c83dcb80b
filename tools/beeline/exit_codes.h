#pragma once

// What `beeline` tells its caller, in the one place where failures become exit codes.

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline::cli {

enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,
  kNoCoordinator = 3,  ///< nobody listens, or somebody does already
  kNoAgent = 4,
  kTimeout = 5,
  kFull = 6,
  kDenied = 7,
};

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
