#pragma once
// A message that goes up the tree.

#include <cstddef>
#include <cstdint>
#include <span>

#include <beeline/types.h>

namespace beeline {

// The payload of one that was received lies in the inbox, until its lease ends.
struct Escalation {
  SendOptions options{};
  std::span<const std::byte> payload;
  std::uint32_t full_length = 0;  // before it was cut, 0 if it was not
  Pid asked = 0;                  // the ancestor that took it, or refused it last
};

}  // namespace beeline
