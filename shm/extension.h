#pragma once
// Fields that few messages carry: the extension lies in front of the payload, marked by
// kFlagExtended. In a slot it is always in the payload area, even if the payload itself lies in a
// slab.
//
// Written by: the sender. Read by: the one receiver of the link. Zero means: not given.

#include <cstddef>
#include <cstdint>

namespace beeline::shm {

inline constexpr std::size_t kTraceBytes = 25;  // W3C: trace id 16, span id 8, flags 1

// In `ack` of a message with kFlagRequiresAck: the receiver always acknowledges it. Without this
// flag the message is a question: the receiver acknowledges it only if it did not answer it.
inline constexpr std::uint8_t kToldAlways = 1;
// In `ack` of an acknowledgement, beside the status: it is about a question.
inline constexpr std::uint8_t kAckOfQuestion = 0x80;

// Messages that no receive hands out. The byte counts in a message with a time to live alone: one
// without is taken on a way that does not look at it.
enum class MessageKind : std::uint8_t {
  kOrdinary = 0,
  kTask = 1,        // for a child to do; its payload is a TaskForm
  kTaskUpdate = 2,  // the child says how far the task in `reply_to` is
  kTaskLog = 3,     // a line for the log of that task
};

[[nodiscard]] constexpr const char* to_string(MessageKind kind) {
  switch (kind) {
    case MessageKind::kOrdinary:
      return "ordinary";
    case MessageKind::kTask:
      return "task";
    case MessageKind::kTaskUpdate:
      return "update";
    case MessageKind::kTaskLog:
      return "log";
  }
  return "unknown";
}

struct Extension {
  std::uint64_t cause;        // id of the message that its sender was handling
  std::uint32_t addressee;    // copy: pid of the original receiver
  std::uint32_t full_length;  // cut payload: bytes of the whole
  unsigned char trace[kTraceBytes];
  std::uint8_t ack;   // acknowledgement: AckStatus, and kAckOfQuestion; else kToldAlways or 0
  std::uint8_t kind;  // MessageKind
  unsigned char reserved[5];
};
static_assert(sizeof(Extension) == 48);
static_assert(offsetof(Extension, trace) == 16);
static_assert(offsetof(Extension, kind) == 42);

}  // namespace beeline::shm
