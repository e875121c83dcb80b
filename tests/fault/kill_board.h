#pragma once
// What the players of the kill test and their director share.

#include "tests/fault/ledger.h"

namespace beeline::test {

// How a player ends that could not join the hive because the coordinator was killed meanwhile; it is
// started again.
inline constexpr int kExitAgain = 75;

struct KillBoard {
  std::uint64_t seed;
  std::atomic<std::uint32_t> stop_sending;
  std::atomic<std::uint32_t> stop_receiving;
  std::atomic<std::uint32_t> lives;  // players that have joined the hive
  Ledger ledger;
};

}  // namespace beeline::test
