#pragma once
// What this agent has to say to a peer whose link had no room for it: an acknowledgement, or that a
// message is taken back. Nobody waits for it.

#include <cstdint>

#include <beeline/types.h>

namespace beeline {

struct Debt {
  enum class Kind : std::uint8_t { kAck, kCancel };
  Kind kind = Kind::kAck;
  Pid to = 0;
  Acknowledgement ack;  // of kCancel the id alone
};

}  // namespace beeline
