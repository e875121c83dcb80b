#pragma once
// Is anything lost in this state of the memory? The segments hold the bytes that a kill has left.
// The next process works on them with the engine's own code, and the result is compared with the
// invariants:
//
// I1  each committed message is exactly once in lane, inbox, done, dead letters
// I2  cursors lie between the taken and the sent messages
// I3  every byte of a visible message is the sender's
// I4  a living sender gets every slot and every slab back, once
// I5  a redelivered message is marked, and is not redelivered more often than allowed
// I6  no agent sleeps without a ring while there is something for it: a sender that waits for
// space, a receiver that waits for a message; race.h covers how they fall asleep
// I7  no agent works for ever on the leftovers of a dead process
// tools  the checks of shm-dump for each segment
// balance  drained = queued + leased + dead + done + purged

#include "tests/killpoints/rig.h"

namespace beeline::killpoints {

struct Finding {
  std::string text;  // empty: all invariants hold
  Fates fates{};     // the fate of each message of the ledger
  [[nodiscard]] bool ok() const { return text.empty(); }
};

// `before` tells for each message whether it was sent before the swept operation.
//
// The receiver is dead: its next life takes over and takes everything; then, if the sender lives,
// both go on. Restores the world except for the bytes.
[[nodiscard]] Finding judge_next_receiver(Rig& rig, const Fates& before, bool sender_lives);

// The sender is dead; the receiver lives and takes everything. Then the next life of the sender
// takes over, and sends. Changes the private state of both, so it needs a process of its own.
[[nodiscard]] Finding judge_next_sender(Rig& rig, const Fates& before);

// Sender and receiver live, and go on.
[[nodiscard]] Finding judge_living(Rig& rig, const Fates& before);

// The effect of an operation on the messages.
struct Course {
  Fates before{};
  Fates after{};
  bool leases = false;  // it leases the messages that it finishes in between
};

// Compares the fates of the messages with the allowed ones, and with `last`, the fates one
// instruction ago. Returns an empty text if they are right.
[[nodiscard]] std::string judge_fates(const Ledger& ledger, const Course& course,
                                      const Fates& found, const Fates& last);

}  // namespace beeline::killpoints
