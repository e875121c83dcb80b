#pragma once
// What not every message carries: it lies in front of the payload, behind kFlagExtended. In a slot
// it is always in the payload area, also where the payload itself lies in a slab.
//
// Written by: the sender. Read by: the one receiver of the link. Zero means: not given.

#include <cstddef>
#include <cstdint>

namespace beeline::shm {

inline constexpr std::size_t kTraceBytes = 25;  // W3C: trace id 16, span id 8, flags 1

// In `ack` of a message with kFlagRequiresAck: its sender is told how it ended, whatever else it
// hears. Without this the message is a question: its sender is told where it got no answer.
inline constexpr std::uint8_t kToldAlways = 1;
// In `ack` of an acknowledgement, beside the status: it is about a question.
inline constexpr std::uint8_t kAckOfQuestion = 0x80;

struct Extension {
  std::uint64_t cause;        // id of the message that was being handled when this one was sent
  std::uint32_t addressee;    // of a copy: who the original went to
  std::uint32_t full_length;  // of a cut payload: bytes of the whole
  unsigned char trace[kTraceBytes];
  std::uint8_t ack;  // of an acknowledgement: AckStatus, and kAckOfQuestion; else kToldAlways or 0
  unsigned char reserved[6];
};
static_assert(sizeof(Extension) == 48);
static_assert(offsetof(Extension, trace) == 16);

}  // namespace beeline::shm
