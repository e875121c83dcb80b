#pragma once
// Seeded bugs. A test that proves that nothing is lost proves nothing unless it fails where
// something is: each mutant breaks one order of stores or one rule, and some test must notice.
//
//   if (is_mutant(Mutant::kName)) the wrong thing;
//
// The library holds none of them: is_mutant() is false when it is compiled. beeline-mutants
// (tests/mutants) compiles the engine itself with BEELINE_MUTANTS, and says of each bug which test
// has to catch it.

namespace beeline::shm {

enum class Mutant : unsigned char {
  kNone,
  // Orders that a kill shows.
  kCommitBeforeFill,    // a slot is published before it is written
  kCursorBeforePut,     // a drain is committed before its entry stands
  kReceiptBeforeHome,   // a sender is told before the home holds its message
  kQueuedBeforeFields,  // an entry is queued before it is written
  kStampBeforeUse,      // a slab is given back when its message is handed out
  kFreeBeforeStamp,     // an entry is freed before its slab is stamped
  kDeadBeforeReason,    // a dead letter gets its reason last
  kReasonOutFirst,      // a letter loses its reason, then is revived
  kRetiredBeforeRow,    // a closed row is counted before it says so
  kRoundBeforeRecords,  // the directory turns to records that are half written
  // What a successor has to do.
  kStampOverlooked,       // it takes what was stamped
  kUncommittedInherited,  // it takes what was put and not committed
  kLeaseDropped,          // it leaves what was being handled
  kRedeliveryUnflagged,   // it does not say that a message comes again
  kCursorNotInherited,    // it begins a lane where its predecessor began
  kStampsNotInherited,    // its stamps begin at none
  kFalseStampKept,        // it leaves a stamp that says of a new message that it is finished
  kOldReceiptKept,        // its sender goes by what the life before had said
  kLateStampMissed,       // it leaves a slab that was finished while it looked
  kFollowedHeard,         // its sender hears the life before while it looks
  kSecondLookSkipped,     // its sender hears what that says after its look at the directory
  kSlabNotTakenBack,      // a slab stays free whose message it takes once more
  kUnreadCollected,       // a slab becomes free whose message it has not taken yet
  // What belongs to nobody else.
  kLaneOverrun,     // a slot is written that was not taken
  kStaleSlotTaken,  // the message of the last round is taken once more
  kStampForgotten,  // a slab is never given back
  // What an agent and a coordinator make of it all.
  kLookSkipped,       // nothing is looked for while the inbox holds something
  kQueuedOverlooked,  // one message in all lanes goes before those that the inbox holds
  kUrgentOverlooked,  // an ordinary message by itself goes before an urgent one of another link
  kAnswerUnmarked,    // an answer that goes the short way is one like any other message
  kReceiptsDropped,   // a drained link goes although a successor has to read the receipts in it
  // What a peer may not make us believe.
  kReceiptBelieved,     // a receipt beyond what was sent
  kStampAboveBelieved,  // a stamp above all generations
  kForeignIdAccepted,   // an id under another's pid
  kLengthUnchecked,     // an inline payload beyond its slot
  kSlabUnchecked,       // a slab that the link does not have
  kTextsUnchecked,      // a payload that leaves no room for its texts
  kStateUnchecked,      // an entry in a state that does not exist
  // What the kernel has to do for us.
  kSealMissing,      // a segment may be written by whoever opens it again
  kSealsUnchecked,   // a peer's segment without seals
  kHolesAccepted,    // a peer's segment without its memory
  kForkInherits,     // a child can write what its parent says
  kWakeOne,          // one of those that sleep on a word is woken
  kLastLookSkipped,  // who goes to sleep does not look once more
  // Fences between a store of ours and a load of theirs.
  kSendFenceMissing,       // a sender looks for a sleeper before its message can be seen
  kSleepFenceMissing,      // a sleeper looks for a message before it can be seen to sleep
  kSleepNotNumbered,       // a sleep cannot be told from the one before, which somebody has ended
  kWantSpaceFenceMissing,  // a sender looks for room before it can be seen to wait for it
  kReceiptFenceMissing,    // a receiver looks for who waits before its receipt can be seen
  kTurnFenceMissing,       // a sender looks whether a new life sleeps before its copies can be seen
  kCount
};

#ifdef BEELINE_MUTANTS
inline Mutant mutant = Mutant::kNone;  // chosen once, before anything runs
[[nodiscard]] inline bool is_mutant(Mutant which) { return mutant == which; }
#else
[[nodiscard]] constexpr bool is_mutant(Mutant /*which*/) { return false; }
#endif

}  // namespace beeline::shm
