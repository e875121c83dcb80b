#include "src/c/codes.h"

#include <string_view>

namespace beeline::c {

beeline_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kSystem:
      return BEELINE_SYSTEM;
    case ErrorCode::kInvalid:
      return BEELINE_INVALID;
    case ErrorCode::kNoCoordinator:
      return BEELINE_NO_COORDINATOR;
    case ErrorCode::kAlreadyRunning:
      return BEELINE_ALREADY_RUNNING;
    case ErrorCode::kNoAgent:
      return BEELINE_NO_AGENT;
    case ErrorCode::kNoRoute:
      return BEELINE_NO_ROUTE;
    case ErrorCode::kDenied:
      return BEELINE_DENIED;
    case ErrorCode::kTimeout:
      return BEELINE_TIMEOUT;
    case ErrorCode::kFull:
      return BEELINE_FULL;
    case ErrorCode::kTooBig:
      return BEELINE_TOO_BIG;
    case ErrorCode::kPeerDead:
      return BEELINE_PEER_DEAD;
    case ErrorCode::kPeerDeadTaken:
      return BEELINE_PEER_DEAD_TAKEN;
    case ErrorCode::kLoop:
      return BEELINE_LOOP;
    case ErrorCode::kNoMemory:
      return BEELINE_NO_MEMORY;
    case ErrorCode::kBadSegment:
      return BEELINE_BAD_SEGMENT;
    case ErrorCode::kWrongVersion:
      return BEELINE_WRONG_VERSION;
    case ErrorCode::kProtocol:
      return BEELINE_PROTOCOL;
    case ErrorCode::kClosed:
      return BEELINE_CLOSED;
    case ErrorCode::kNotice:
      return BEELINE_NOTICE;
    case ErrorCode::kUnanswered:
      return BEELINE_UNANSWERED;
    case ErrorCode::kRejected:
      return BEELINE_REJECTED;
    case ErrorCode::kFailed:
      return BEELINE_FAILED;
  }
  return BEELINE_SYSTEM;
}

beeline_code code_of(SendStatus status) {
  switch (status) {
    case SendStatus::kOk:
      return BEELINE_OK;
    case SendStatus::kFull:
      return BEELINE_FULL;
    case SendStatus::kNoRoute:
      return BEELINE_NO_ROUTE;
    case SendStatus::kNoAgent:
      return BEELINE_NO_AGENT;
    case SendStatus::kPeerDead:
      return BEELINE_PEER_DEAD;
    case SendStatus::kTooBig:
      return BEELINE_TOO_BIG;
    case SendStatus::kDenied:
      return BEELINE_DENIED;
    case SendStatus::kLoop:
      return BEELINE_LOOP;
    case SendStatus::kNoMemory:
      return BEELINE_NO_MEMORY;
    case SendStatus::kRateLimited:
      return BEELINE_RATE_LIMITED;
  }
  return BEELINE_SYSTEM;
}

}  // namespace beeline::c

// All the words are literals, which end with a zero byte.
const char* beeline_code_name(beeline_code code) {
  using beeline::ErrorCode;
  if (code == BEELINE_OK) return "ok";
  if (code == BEELINE_RATE_LIMITED) return "rate_limited";
  if (code == BEELINE_NOTHING) return "nothing";
  for (int i = 0; i <= static_cast<int>(ErrorCode::kFailed); ++i) {
    const auto each = static_cast<ErrorCode>(i);
    if (beeline::c::code_of(each) == code) return beeline::to_string(each).data();
  }
  return "unknown";
}
