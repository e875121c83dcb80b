#pragma once

// The one way in which Beeline reports a failure of the environment: a value or an `Error`.
// Expected outcomes of a hot call (full, timeout) may be plain enums of that call instead.
// No exception leaves a Beeline function.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace beeline {

/// The kind of a failure. Programs branch on this; people read `Error::text`.
enum class ErrorCode : std::uint8_t {
  kSystem,          ///< a system call failed; `Error::sys_errno` holds its errno
  kInvalid,         ///< an argument that the caller can correct
  kNoCoordinator,   ///< no process listens on the hive's socket
  kAlreadyRunning,  ///< another process holds the hive or the name
  kNoAgent,         ///< no agent of that name or pid
  kNoRoute,         ///< no route leads there
  kDenied,          ///< a rule or a permission forbids it
  kTimeout,         ///< the time given was over
  kFull,            ///< a bounded table, lane or queue has no room now
  kTooBig,          ///< larger than a limit; waiting does not help
  kPeerDead,        ///< the other side has ended
  kPeerDeadTaken,   ///< the other side has ended after it took the message: it may have acted on it
  kLoop,            ///< it would make a circle
  kNoMemory,        ///< no memory to be had; nothing was changed
  kBadSegment,      ///< a segment is not as promised
  kWrongVersion,    ///< the two sides speak different layouts or protocols
  kProtocol,        ///< the other side broke the rules of the wire
  kClosed,          ///< the connection or the object was closed
  kNotice,          ///< a notice waits, and the caller asked to be told
  kUnanswered,      ///< the receiver finished a request and did not answer it
  kRejected,        ///< the request is a dead letter of its receiver; the text says why
  kFailed,          ///< the handler of a task failed; the text says why
};

/// The name of a code as it stands in control messages and logs, for example "no_agent".
/// The text is static.
constexpr std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kSystem:
      return "system";
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNoCoordinator:
      return "no_coordinator";
    case ErrorCode::kAlreadyRunning:
      return "already_running";
    case ErrorCode::kNoAgent:
      return "no_agent";
    case ErrorCode::kNoRoute:
      return "no_route";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kFull:
      return "full";
    case ErrorCode::kTooBig:
      return "too_big";
    case ErrorCode::kPeerDead:
      return "peer_dead";
    case ErrorCode::kPeerDeadTaken:
      return "peer_dead_taken";
    case ErrorCode::kLoop:
      return "loop";
    case ErrorCode::kNoMemory:
      return "no_memory";
    case ErrorCode::kBadSegment:
      return "bad_segment";
    case ErrorCode::kWrongVersion:
      return "version";
    case ErrorCode::kProtocol:
      return "protocol";
    case ErrorCode::kClosed:
      return "closed";
    case ErrorCode::kNotice:
      return "notice";
    case ErrorCode::kUnanswered:
      return "unanswered";
    case ErrorCode::kRejected:
      return "rejected";
    case ErrorCode::kFailed:
      return "failed";
  }
  return "unknown";
}

/// A failure with its context. It owns its text and refers to nothing.
struct Error {
  ErrorCode code = ErrorCode::kSystem;
  int sys_errno = 0;  ///< the errno behind it, 0 if no system call failed
  std::string text;   ///< the event, the place, the limit, the value found, and the next step
};

/// A value or the reason why there is none.
template <typename T>
using Result = tl::expected<T, Error>;

/// Makes the failure that a function with a `Result` returns. `text` says in this order the event,
/// the place, the limit, the value and the next step.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string text) {
  return tl::unexpected<Error>(Error{code, 0, std::move(text)});
}

}  // namespace beeline
