#pragma once
// Each seeded bug of shm/mutant.h, and the test that has to catch it: a scenario of the kill-point
// sweep (operation/state), a race (race.h), or tests of GoogleTest (Suite.Name, as a filter without
// a slash).

#include <array>
#include <string_view>

#include "shm/mutant.h"

namespace beeline::mutants {

struct SeededBug {
  shm::Mutant mutant;
  std::string_view name;
  std::string_view test;
};

using shm::Mutant;

inline constexpr std::array kSeededBugs = {
    SeededBug{Mutant::kCommitBeforeFill, "commit_before_fill", "send-inline/empty"},
    SeededBug{Mutant::kCursorBeforePut, "cursor_before_put", "drain/mixed"},
    SeededBug{Mutant::kReceiptBeforeHome, "receipt_before_home", "drain/mixed"},
    SeededBug{Mutant::kQueuedBeforeFields, "queued_before_fields", "drain/mixed"},
    SeededBug{Mutant::kStampBeforeUse, "stamp_before_use", "take-slab/empty"},
    SeededBug{Mutant::kFreeBeforeStamp, "free_before_stamp", "done-slab/mixed"},
    SeededBug{Mutant::kDeadBeforeReason, "dead_before_reason", "reject-inline/mixed"},
    SeededBug{Mutant::kReasonOutFirst, "reason_out_first", "revive-inline/mixed"},
    SeededBug{Mutant::kRetiredBeforeRow, "retired_before_row", "forget-link/half"},
    SeededBug{Mutant::kRoundBeforeRecords, "round_before_records", "publish-two/empty"},
    SeededBug{Mutant::kStampOverlooked, "stamp_overlooked", "done-slab/mixed"},
    SeededBug{Mutant::kUncommittedInherited, "uncommitted_inherited", "drain/mixed"},
    SeededBug{Mutant::kLeaseDropped, "lease_dropped", "cycle/mixed"},
    SeededBug{Mutant::kRedeliveryUnflagged, "redelivery_unflagged", "cycle/mixed"},
    SeededBug{Mutant::kCursorNotInherited, "cursor_not_inherited", "drain/mixed"},
    SeededBug{Mutant::kStampsNotInherited, "stamps_not_inherited",
              "Handover.TheNewBankStartsFromTheOldStamps"},
    SeededBug{Mutant::kFalseStampKept, "false_stamp_kept",
              "WithdrawStamp.WhatSaysThatAMessageIsFinishedWhichHasJustComeGoes"},
    SeededBug{Mutant::kOldReceiptKept, "old_receipt_kept", "take-over-nowhere/full"},
    SeededBug{Mutant::kLateStampMissed, "late_stamp_missed",
              "HeirTest.WhatAFencedLifeFinishesBeforeItsEntryIsReadIsFinishedForItsSender"},
    SeededBug{Mutant::kFollowedHeard, "followed_heard",
              "HeirPathTest.WhatAFencedLifeFinishesWhileItsSuccessorLooksIsNotHeard"},
    SeededBug{Mutant::kSecondLookSkipped, "second_look_skipped",
              "HeirPathTest.WhatAFencedLifeSaysAfterItsSendersLookIsNotHeard"},
    SeededBug{Mutant::kSlabNotTakenBack, "slab_not_taken_back",
              "HeirTest.ASlabThatALiarFinishedIsOutAgainWhereItsHeirTakesTheMessage"},
    SeededBug{Mutant::kUnreadCollected, "unread_collected",
              "HeirTest.ASlabThatALiarFinishedIsOutAgainWhereItsHeirTakesTheMessage"},
    SeededBug{Mutant::kLaneOverrun, "lane_overrun",
              "LaneWriter.ANewLaneHasRoomForItsCapacityWithoutAReceipt"},
    SeededBug{Mutant::kStaleSlotTaken, "stale_slot_taken",
              "Slot.AMessageIsPublishedForItsPositionAlone"},
    SeededBug{Mutant::kStampForgotten, "stamp_forgotten", "done-slab/mixed"},
    SeededBug{Mutant::kLookSkipped, "look_skipped",
              "As?FlowOrder.C_15_WhatIsHigherGoesBeforeWhatTheInboxHolds?Threads"},
    SeededBug{Mutant::kQueuedOverlooked, "queued_overlooked",
              "As?FlowOrder.C_03_WhatLiesAloneInItsLaneWaitsForWhatTheInboxHolds?Threads"},
    SeededBug{Mutant::kUrgentOverlooked, "urgent_overlooked", "AloneTest.OfTwoTheOrderDecides"},
    SeededBug{Mutant::kAnswerUnmarked, "answer_unmarked", "AnswerAloneTest.PutBackItIsStashed"},
    SeededBug{Mutant::kReceiptsDropped, "receipts_dropped",
              "RestoreTest.AFadedLinkStaysForTheSuccessorOfItsOwner"},
    SeededBug{Mutant::kReceiptBelieved, "receipt_believed",
              "LaneWriter.AReceiptThatLiesIsNotBelieved"},
    SeededBug{Mutant::kStampAboveBelieved, "stamp_above_believed",
              "SlabPoolTest.AStampAboveEveryGenerationIsALieAndFreesNothing"},
    SeededBug{Mutant::kForeignIdAccepted, "foreign_id_accepted",
              "SlotFaults.AForeignPidInTheIdIsOne"},
    SeededBug{Mutant::kLengthUnchecked, "length_unchecked",
              "SlotFaults.AnInlineLengthBeyondTheSlotIsOne"},
    SeededBug{Mutant::kSlabUnchecked, "slab_unchecked", "SlotFaults.ASlabThatIsNotThereIsOne"},
    SeededBug{Mutant::kTextsUnchecked, "texts_unchecked",
              "SlotFaults.CarriedTextsNeedASlabWithRoomForThem"},
    SeededBug{Mutant::kStateUnchecked, "state_unchecked", "Handover.StatesThatDoNotExistAreBad"},
    SeededBug{Mutant::kSealMissing, "seal_missing",
              "SealTest.NobodyCanWriteShrinkOrGrowAfterwards"},
    SeededBug{Mutant::kSealsUnchecked, "seals_unchecked",
              "CheckForeignTest.RefusesEverySubsetOfTheSeals"},
    SeededBug{Mutant::kHolesAccepted, "holes_accepted",
              "CheckForeignTest.AcceptsASegmentAndNamesWhatIsWrongWithOthers"},
    SeededBug{Mutant::kForkInherits, "fork_inherits",
              "MappingTest.AChildDoesNotInheritTheWritableMapping"},
    SeededBug{Mutant::kWakeOne, "wake_one", "FutexTest.WakesAllWhoWait"},
    SeededBug{Mutant::kLastLookSkipped, "last_look_skipped",
              "WaiterTest.WhatCameBeforeItSaidThatItSleepsIsFoundWithoutSleeping"},
    SeededBug{Mutant::kSendFenceMissing, "send_fence_missing", "sleep/sender-stands"},
    SeededBug{Mutant::kSleepFenceMissing, "sleep_fence_missing", "sleep/receiver-stands"},
    SeededBug{Mutant::kSleepNotNumbered, "sleep_not_numbered",
              "WaiterTest.ASleepIsEndedOnceByEachWhoRings"},
    SeededBug{Mutant::kWantSpaceFenceMissing, "want_space_fence_missing", "space/sender-stands"},
    SeededBug{Mutant::kReceiptFenceMissing, "receipt_fence_missing", "space/receiver-stands"},
    SeededBug{Mutant::kTurnFenceMissing, "turn_fence_missing", "turn/sender-stands"},
};

static_assert(kSeededBugs.size() + 1 == static_cast<std::size_t>(Mutant::kCount));
static_assert(kSeededBugs.size() >= 25);

// Those that a fuzz target has to find as well (fuzz_test.cc).
inline constexpr std::string_view kLanesTarget = "FuzzTargets.LanesComeToTheirEnd";
inline constexpr std::string_view kOldHomeTarget = "FuzzTargets.OldHomesComeToTheirEnd";
inline constexpr std::array kFuzzedBugs = {
    SeededBug{Mutant::kForeignIdAccepted, "foreign_id_accepted", kLanesTarget},
    SeededBug{Mutant::kLengthUnchecked, "length_unchecked", kLanesTarget},
    SeededBug{Mutant::kSlabUnchecked, "slab_unchecked", kLanesTarget},
    SeededBug{Mutant::kReceiptBelieved, "receipt_believed", kLanesTarget},
    SeededBug{Mutant::kStateUnchecked, "state_unchecked", kOldHomeTarget},
};

}  // namespace beeline::mutants
