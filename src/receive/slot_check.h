#pragma once
// Whether the header of a slot is one that its sender may write.

#include "src/receive/entries.h"

namespace beeline::receive {

enum class Verdict : std::uint8_t {
  kGood,
  kNotNow,  // this process or the machine lacks the memory for the check
  kBad,     // the link of the slot is quarantined
};

[[nodiscard]] Verdict check(Entries& entries, InLink& link, const shm::MessageHeader& header,
                            std::uint64_t generation);

}  // namespace beeline::receive
