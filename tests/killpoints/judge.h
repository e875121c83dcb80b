#pragma once
// Is this state of the memory one from which nothing is lost? The bytes that a kill has left lie in
// the segments; whoever comes next works on them with the engine's own code, and what it finds is
// compared with the invariants:
//
//   I1  what was committed is exactly once in lane, inbox, done, dead letters
//   I2  cursors lie between what was taken and what was sent
//   I3  every byte of a visible message is the sender's
//   I4  a sender that lives gets every slot and every slab back, once
//   I5  a message that is delivered again says so, and is not more often than it may be
//   I6  nobody sleeps while there is something for it that it was not rung for: a sender that waits
//       for space, a receiver that waits for a message; how they fall asleep is race.h
//   I7  nobody works for ever on what a dead process has left
//   tools  what shm-dump checks in each segment
//   balance  drained = queued + leased + dead + done + purged

#include "tests/killpoints/rig.h"

namespace beeline::killpoints {

struct Finding {
  std::string text;  // empty: all invariants hold
  Fates fates{};     // what became of each message of the ledger
  [[nodiscard]] bool ok() const { return text.empty(); }
};

// `before` says for each message whether it was sent before the operation that is swept.
//
// The receiver is dead: its next life takes over and takes everything; then, if the sender lives,
// both go on. Leaves the world as it was but for the bytes.
[[nodiscard]] Finding judge_next_receiver(Rig& rig, const Fates& before, bool sender_lives);

// The sender is dead, the receiver lives and takes everything; then the next life of the sender
// takes over, and sends. Changes the private state of both: for a process of its own.
[[nodiscard]] Finding judge_next_sender(Rig& rig, const Fates& before);

// Sender and receiver live, and go on.
[[nodiscard]] Finding judge_living(Rig& rig, const Fates& before);

// What an operation makes of the messages.
struct Course {
  Fates before{};
  Fates after{};
  bool leases = false;  // what it finishes is leased in between
};

// Compares what became of the messages with what may become of them, and with `last`, what had
// become of them an instruction ago. Empty when all is well.
[[nodiscard]] std::string judge_fates(const Ledger& ledger, const Course& course,
                                      const Fates& found, const Fates& last);

}  // namespace beeline::killpoints
