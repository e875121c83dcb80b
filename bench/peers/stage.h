#pragma once
// State that the processes of a stream share beside the peer itself, and the further senders.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/pair.h"
#include "bench/peers/row.h"

namespace beeline::bench::peers {

// A word that processes sleep on until it has reached a value.
class Gate {
 public:
  void reset() { word_.value.store(0, std::memory_order_relaxed); }
  void raise();
  void await(std::uint32_t value);

 private:
  LoneWord word_;
};

struct Stage {
  Gate listening;  // the receiver has listened
  Gate connected;  // counts the senders beyond the first that have connected
  Gate start;
  Gate finished;  // the receiver has taken everything
  // Written by the receiver: the senders end.
  LoneWord stop;
  struct alignas(256) Taken {
    std::atomic<std::uint64_t> count{0};
  };
  // Written by the receiver: how many messages of each sender it has taken, for peers with a
  // window.
  std::array<Taken, kFaninSenders> taken;

  // The sender's half, before any other sender has started.
  void reset_gates() {
    for (Gate* gate : {&listening, &connected, &start, &finished}) gate->reset();
  }
  // The receiver's half, before it announces that it listens.
  void reset_counts() {
    stop.value.store(0, std::memory_order_relaxed);
    for (Taken& one : taken) one.count.store(0, std::memory_order_relaxed);
  }
};

// Senders beyond the first: children of the first one's process, which ends if one of them fails.
class FurtherSenders {
 public:
  // Runs `play` for the senders 1 to `senders` - 1. Errors: kSystem.
  [[nodiscard]] static Result<FurtherSenders> start(
      Board& board, const PeerCase& what,
      const std::function<Result<void>(std::uint32_t sender)>& play);

  // Waits until all have ended. Errors: kSystem.
  [[nodiscard]] Result<void> wait();

 private:
  std::vector<pid_t> children_;
};

}  // namespace beeline::bench::peers
