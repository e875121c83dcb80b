#pragma once
// The state that players of the kill test share with their director.

#include "tests/fault/ledger.h"

namespace beeline::test {

// The players, and the pairs that send: everyone in [0, senders) to everyone else in
// [first_receiver, players). Visitors have the numbers after the players. They are temporary
// agents, send to the same receivers and end after a few messages, again and again.
struct Cast {
  std::uint32_t players;
  std::uint32_t visitors;
  std::uint32_t senders;
  std::uint32_t first_receiver;
  [[nodiscard]] bool sends(std::uint32_t player) const { return player < senders; }
  [[nodiscard]] bool receives(std::uint32_t player) const { return player >= first_receiver; }
};

struct KillBoard {
  std::uint64_t seed;
  Cast cast;
  std::atomic<std::uint32_t> lives;  // players that have joined the hive
  std::atomic<std::uint32_t> stop_sending;
  // How many messages each may have sent to each by now: the load lasts as long as the kills.
  std::atomic<std::uint64_t> allowance;
  Event quiet;  // players that have seen it
  std::atomic<std::uint32_t> stop_receiving;
  Ledger ledger;
};

}  // namespace beeline::test
