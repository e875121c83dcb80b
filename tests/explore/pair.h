#pragma once
// Two agents that talk: A sends, B receives. Most scenarios start with them.

#include <optional>
#include <string>

#include "tests/explore/engine.h"

namespace beeline::explore {

// A's link to B and B's link to A; the first bank of the latter is for A's link.
struct Pair {
  std::optional<Sender> sender;
  std::optional<Receiver> receiver;
  std::uint64_t taken = 0;  // messages that B has
};

// The size of a lane, and the number of its messages.
[[nodiscard]] inline std::string ring(std::uint32_t slots, std::uint64_t messages) {
  return "ring of " + std::to_string(slots) + ", " + std::to_string(messages) + " messages";
}

[[nodiscard]] inline Pair fresh_pair(std::uint32_t slots) {
  const shm::Link a = fresh_link("link A>B", contract_of(slots));
  const shm::Link b = fresh_link("link B>A", contract_of(slots));
  shm::open_bank(b.bank(0), kLinkA, 0, 0);
  Pair pair;
  pair.sender.emplace(a, view_of(b));
  pair.receiver.emplace(view_of(a), b);
  return pair;
}

}  // namespace beeline::explore
