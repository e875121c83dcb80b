#pragma once
// What this agent has to say to a peer whose link had no room for it: an acknowledgement, or that a
// message is taken back; or a message that its handler hands up, to the coordinator too. Nobody
// waits for it.

#include <cstddef>
#include <cstdint>
#include <span>

#include <beeline/message.h>
#include <beeline/types.h>

namespace beeline {

struct Debt {
  enum class Kind : std::uint8_t { kAck, kCancel, kHandUp };
  Kind kind = Kind::kAck;
  Pid to = 0;
  Acknowledgement ack;     // of kCancel the id alone, of kHandUp nothing
  Message escalated = {};  // of kHandUp alone: its lease, which ends when that is paid
};

// What goes up. The payload of a message lies in the inbox, until its lease ends.
struct Escalation {
  SendOptions options{};
  std::span<const std::byte> payload;
  std::uint32_t full_length = 0;  // of what was cut, 0 if it was not
  Pid asked = 0;                  // who took it, or had no room for it
};

}  // namespace beeline
