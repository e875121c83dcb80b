#pragma once
// The results of sends and of control calls, each in the words of the other.

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline {

[[nodiscard]] constexpr SendStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNoAgent:
      return SendStatus::kNoAgent;
    case ErrorCode::kPeerDead:
      return SendStatus::kPeerDead;
    case ErrorCode::kDenied:
      return SendStatus::kDenied;
    case ErrorCode::kFull:
      return SendStatus::kFull;
    case ErrorCode::kTooBig:
      return SendStatus::kTooBig;
    case ErrorCode::kNoMemory:
      return SendStatus::kNoMemory;
    default:
      return SendStatus::kNoRoute;
  }
}

// A wait in the call helps: there will be room in the lane, or a token.
[[nodiscard]] constexpr bool finds_no_room(SendStatus status) {
  return status == SendStatus::kFull || status == SendStatus::kRateLimited;
}

// Nothing is wrong but the moment: a later call may succeed. No call waits for memory.
[[nodiscard]] constexpr bool is_transient(SendStatus status) {
  return finds_no_room(status) || status == SendStatus::kNoMemory;
}

[[nodiscard]] constexpr ErrorCode error_of(SendStatus status) {
  switch (status) {
    case SendStatus::kFull:
    case SendStatus::kRateLimited:
      return ErrorCode::kFull;
    case SendStatus::kTooBig:
      return ErrorCode::kTooBig;
    case SendStatus::kPeerDead:
      return ErrorCode::kPeerDead;
    case SendStatus::kNoMemory:
      return ErrorCode::kNoMemory;
    case SendStatus::kDenied:
      return ErrorCode::kDenied;
    case SendStatus::kLoop:
      return ErrorCode::kLoop;
    case SendStatus::kNoAgent:
      return ErrorCode::kNoAgent;
    default:
      return ErrorCode::kNoRoute;
  }
}

}  // namespace beeline
