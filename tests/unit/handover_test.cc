#include "shm/handover.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::inline_message;
using test::kInKey;
using test::kSenderPid;
using test::kSmallContract;
using test::slab_message;

constexpr std::size_t kOldBank = 1;
constexpr RowIndex kOldRow(3);
constexpr RowIndex kNewRow(5);
constexpr std::uint64_t kNormalCursor = 100, kUrgentCursor = 50;
constexpr auto kRejectedFlags =
    static_cast<std::uint16_t>(static_cast<unsigned>(DeadReason::kRejected) << kReasonShift);

// A predecessor's home with one in-link, and its receipts; each state is written as bytes.
class Handover : public testing::Test {
 protected:
  Handover() {
    inherited_.key = kInKey;
    inherited_.owner_pid = kSenderPid;
    inherited_.cursors[0] = kNormalCursor;
    inherited_.cursors[1] = kUrgentCursor;
    inherited_.layout = LinkLayout(kSmallContract);
    inherited_.verified = test::verify_all(inherited_.layout);
    inherited_.new_row = kNewRow;
    open_row(old_.home.row(kOldRow), kInKey, kSenderPid, kNormalCursor, kUrgentCursor);
    old_.home.control().entries_allocated.publish(old_.home.capacity());
  }

  // Writes an entry as the predecessor left it.
  void poke(std::uint32_t at, const EntryWord& word, const SlotCopy& copy,
            std::uint16_t own_flags = 0, std::uint64_t arrival = 1) {
    std::uint64_t raw[16]{};
    raw[0] = word.pack();
    raw[1] = arrival;
    MessageHeader header = copy.header;
    header.flags = static_cast<std::uint16_t>(header.flags | own_flags);
    std::memcpy(raw + 2, &header, sizeof(header));
    std::memcpy(raw + 8, copy.payload, kInlineBytes);
    if ((header.flags & kFlagSlab) != 0) raw[8] = copy.generation;
    reinterpret_cast<WordArray<16>&>(old_.home.entry(EntryIndex(at))).store_bytes(raw, sizeof(raw));
    std::uint64_t& next = old_.home.control().next_arrival;
    if (next <= arrival && arrival + 1 != 0) next = arrival + 1;
  }
  [[nodiscard]] std::uint64_t next_arrival() const { return old_.view.control().next_arrival; }
  [[nodiscard]] Inherit judge(std::uint32_t at) const {
    return judge_entry(copy_entry(old_.view.entry(EntryIndex(at))), inherited_, next_arrival());
  }
  void copy_old_stamps() { copy_stamps(old_own_.view, kOldBank, inherited_); }
  // A dead entry has a reason.
  Inherit judge(EntryState state, std::uint32_t position, const SlotCopy& copy,
                std::uint16_t own_flags = 0) {
    const unsigned reason = state == EntryState::kDead ? kRejectedFlags : 0;
    poke(0, {state, 0, kOldRow, position}, copy, static_cast<std::uint16_t>(own_flags | reason));
    return judge(0);
  }
  // Lets the successor inherit one entry; returns the new word of it.
  EntryWord inherit(std::uint32_t at) {
    const EntryCopy copy = copy_entry(old_.view.entry(EntryIndex(at)));
    EXPECT_EQ(judge_entry(copy, inherited_, next_arrival()), Inherit::kTake);
    inherit_entry(new_.home, EntryIndex(at), copy, inherited_.new_row);
    return new_.home.entry(EntryIndex(at)).word();
  }

  test::HomeMemory old_;
  test::LinkMemory old_own_;
  InheritedLink inherited_;
  test::HomeMemory new_;
};

TEST_F(Handover, TheCopyOfAnEntryIsItsBytes) {
  SlotCopy slot = inline_message(9, std::string(kInlineBytes, 'p'));
  slot.header.rank = -7;
  poke(4, {EntryState::kLeased, 2, kOldRow, 77}, slot, kFlagUrgentLane, 1234);
  const EntryCopy copy = copy_entry(old_.view.entry(EntryIndex(4)));
  EXPECT_EQ(copy.word.state, EntryState::kLeased);
  EXPECT_EQ(copy.word.attempts, 2U);
  EXPECT_EQ(copy.word.row, kOldRow);
  EXPECT_EQ(copy.word.position, 77U);
  EXPECT_EQ(copy.arrival, 1234U);
  EXPECT_EQ(copy.slot.header.rank, -7);
  EXPECT_EQ(copy.slot.header.flags, kFlagUrgentLane);
  EXPECT_EQ(std::memcmp(copy.slot.payload, slot.payload, kInlineBytes), 0);
}

TEST_F(Handover, AFreeEntryLeavesNothing) {
  EXPECT_EQ(judge(0), Inherit::kNothing) << "never used";
  EXPECT_EQ(judge(EntryState::kFree, 5, inline_message(1)), Inherit::kNothing) << "used before";
}

TEST_F(Handover, EveryLivingStateIsTaken) {
  for (const EntryState state : {EntryState::kQueued, EntryState::kLeased, EntryState::kDead}) {
    EXPECT_EQ(judge(state, 5, inline_message(1)), Inherit::kTake) << to_string(state);
  }
}

// Its message is still in the lane, and would come twice.
TEST_F(Handover, AHandledEntryThatWasNeverCommittedIsBad) {
  for (const EntryState state : {EntryState::kLeased, EntryState::kDead}) {
    EXPECT_EQ(judge(state, kNormalCursor - 1, inline_message(1)), Inherit::kTake);
    EXPECT_EQ(judge(state, kNormalCursor, inline_message(1)), Inherit::kBad) << to_string(state);
  }
}

TEST_F(Handover, AQueuedEntryStaysAsItWas) {
  poke(2, {EntryState::kQueued, 4, kOldRow, 9}, inline_message(1, "payload"), 0, 42);
  const EntryWord word = inherit(2);
  EXPECT_EQ(word.state, EntryState::kQueued);
  EXPECT_EQ(word.attempts, 4U);
  EXPECT_EQ(word.row, kNewRow);
  EXPECT_EQ(word.position, 9U);
  const Entry& entry = new_.home.entry(EntryIndex(2));
  EXPECT_EQ(entry.arrival, 42U);
  EXPECT_EQ(entry.header.id, make_message_id(kSenderPid, 1));
  EXPECT_EQ(std::memcmp(entry.payload, "payload", 7), 0);
}

TEST_F(Handover, ALeasedEntryIsQueuedAgainWithOneAttemptMore) {
  poke(0, {EntryState::kLeased, 0, kOldRow, 9}, inline_message(1));
  EXPECT_EQ(inherit(0).state, EntryState::kQueued);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).word().attempts, 1U);
  poke(1, {EntryState::kLeased, 255, kOldRow, 10}, inline_message(2));
  EXPECT_EQ(inherit(1).attempts, 255U);
}

TEST_F(Handover, ADeadEntryStaysDeadWithItsReason) {
  const auto reason =
      static_cast<std::uint16_t>(static_cast<unsigned>(DeadReason::kExpired) << kReasonShift);
  poke(0, {EntryState::kDead, 3, kOldRow, 9}, inline_message(1), reason);
  const EntryWord word = inherit(0);
  EXPECT_EQ(word.state, EntryState::kDead);
  EXPECT_EQ(word.attempts, 3U);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).reason(), DeadReason::kExpired);
}

// A kill inside revive(): the state is queued, and the reason is still there.
TEST_F(Handover, ARevivedEntryKeepsItsMarkAndNoReason) {
  const auto reason =
      static_cast<std::uint16_t>(static_cast<unsigned>(DeadReason::kExpired) << kReasonShift);
  poke(0, {EntryState::kQueued, 0, kOldRow, 9}, inline_message(1),
       static_cast<std::uint16_t>(reason | kFlagRevived));
  EXPECT_EQ(inherit(0).state, EntryState::kQueued);
  EXPECT_TRUE(new_.home.entry(EntryIndex(0)).is_revived());
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).reason(), DeadReason::kNone);
}

TEST_F(Handover, ALeasedEntryThatWasTakenBackIsADeadLetter) {
  const auto reason =
      static_cast<std::uint16_t>(static_cast<unsigned>(DeadReason::kCancelled) << kReasonShift);
  poke(0, {EntryState::kLeased, 0, kOldRow, 9}, inline_message(1), reason);
  EXPECT_EQ(inherit(0).state, EntryState::kDead);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).reason(), DeadReason::kCancelled);
}

TEST_F(Handover, AMatchedReplyIsStashedByTheSuccessor) {
  poke(0, {EntryState::kQueued, 0, kOldRow, 9}, inline_message(1), kFlagMatched);
  inherit(0);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).header.flags & kUnindexedFlags, kFlagStashed);
}

TEST_F(Handover, TheSuccessorKnowsWhichAnswersNobodyAskedFor) {
  poke(0, {EntryState::kQueued, 0, kOldRow, 9}, inline_message(1), kFlagStashed | kFlagUnasked);
  inherit(0);
  EXPECT_NE(new_.home.entry(EntryIndex(0)).header.flags & kFlagUnasked, 0);
}

TEST_F(Handover, AnAnswerThatNobodyAskedForLiesAsideOrIsNone) {
  poke(0, {EntryState::kQueued, 0, kOldRow, 9}, inline_message(1), kFlagUnasked);
  inherit(0);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).header.flags & kFlagUnasked, 0);
}

TEST_F(Handover, AnEntryAtOrBeyondTheCursorOfItsLaneWasNeverCommitted) {
  EXPECT_EQ(judge(EntryState::kQueued, 99, inline_message(1)), Inherit::kTake);
  EXPECT_EQ(judge(EntryState::kQueued, 100, inline_message(1)), Inherit::kNothing);
  EXPECT_EQ(judge(EntryState::kQueued, 107, inline_message(1)), Inherit::kNothing);
  const SlotCopy urgent = inline_message(1);
  EXPECT_EQ(judge(EntryState::kQueued, 49, urgent, kFlagUrgentLane), Inherit::kTake);
  EXPECT_EQ(judge(EntryState::kQueued, 50, urgent, kFlagUrgentLane), Inherit::kNothing);
}

TEST_F(Handover, PositionsAreComparedAcrossThe32BitBoundary) {
  inherited_.cursors[0] = 0x3'0000'0002;
  EXPECT_EQ(judge(EntryState::kQueued, 0xffff'fff0, inline_message(1)), Inherit::kTake);
  EXPECT_EQ(judge(EntryState::kQueued, 1, inline_message(1)), Inherit::kTake);
  EXPECT_EQ(judge(EntryState::kQueued, 2, inline_message(1)), Inherit::kNothing);
  inherited_.cursors[0] = 0x2'ffff'ffff;
  EXPECT_EQ(judge(EntryState::kQueued, 0xffff'fffe, inline_message(1)), Inherit::kTake);
  EXPECT_EQ(judge(EntryState::kQueued, 0xffff'ffff, inline_message(1)), Inherit::kNothing);
  EXPECT_EQ(judge(EntryState::kQueued, 3, inline_message(1)), Inherit::kNothing);
}

TEST_F(Handover, WithoutARowNothingWasCommitted) {
  inherited_.cursors[0] = inherited_.cursors[1] = 0;
  EXPECT_EQ(judge(EntryState::kQueued, 0, inline_message(1)), Inherit::kNothing);
}

TEST_F(Handover, ASlabWhoseStampReachedItsGenerationWasDone) {
  const SlotCopy copy = slab_message(1, SlabIndex(6), 10);
  for (const EntryState state : {EntryState::kQueued, EntryState::kLeased, EntryState::kDead}) {
    old_own_.link.stamp(kOldBank, SlabIndex(6)).publish(9);
    copy_old_stamps();
    EXPECT_EQ(judge(state, 5, copy), Inherit::kTake) << "the loan before";
    old_own_.link.stamp(kOldBank, SlabIndex(6)).publish(10);
    EXPECT_EQ(judge(state, 5, copy), Inherit::kTake) << "they are read once";
    copy_old_stamps();
    EXPECT_EQ(judge(state, 5, copy), Inherit::kNothing) << "killed between stamp and free";
    old_own_.link.stamp(kOldBank, SlabIndex(6)).publish(11);
    copy_old_stamps();
    EXPECT_EQ(judge(state, 5, copy), Inherit::kNothing) << "a later loan is finished as well";
  }
}

TEST_F(Handover, StampsThatWereNeverThereFinishNothing) {
  inherited_.stamps[6] = 10;
  EXPECT_EQ(judge(EntryState::kLeased, 5, slab_message(1, SlabIndex(6), 10)), Inherit::kTake);
}

TEST_F(Handover, ASlabEntryKeepsItsGeneration) {
  poke(0, {EntryState::kLeased, 0, kOldRow, 9}, slab_message(1, SlabIndex(6), 10, 900));
  inherit(0);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).generation, 10U);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).header.slab, 6U);
  EXPECT_EQ(new_.home.entry(EntryIndex(0)).header.length, 900U);
}

TEST_F(Handover, StatesThatDoNotExistAreBad) {
  for (unsigned state = 4; state < 256; ++state) {
    EXPECT_EQ(judge(static_cast<EntryState>(state), 5, inline_message(1)), Inherit::kBad) << state;
  }
}

TEST_F(Handover, AReasonThatIsNoneOrUnknownIsBad) {
  const auto judged = [&](EntryState state, unsigned reason) {
    poke(0, {state, 0, kOldRow, 5}, inline_message(1),
         static_cast<std::uint16_t>(reason << kReasonShift));
    return judge(0);
  };
  constexpr auto kLast = static_cast<unsigned>(kLastReason);
  for (unsigned reason = 0; reason <= 15; ++reason) {
    const Inherit verdict = reason <= kLast ? Inherit::kTake : Inherit::kBad;
    // Leased: a kill during burial, between the reason and the state.
    EXPECT_EQ(judged(EntryState::kLeased, reason), verdict) << reason;
    EXPECT_EQ(judged(EntryState::kDead, reason), reason == 0 ? Inherit::kBad : verdict) << reason;
  }
}

TEST_F(Handover, AnArrivalThatWasNeverCountedIsBad) {
  const auto judged = [&](std::uint64_t arrival, std::uint64_t next) {
    poke(0, {EntryState::kQueued, 0, kOldRow, 8}, inline_message(1), 0, arrival);
    old_.home.control().next_arrival = next;
    return judge(0);
  };
  EXPECT_EQ(judged(0, 10), Inherit::kBad);
  EXPECT_EQ(judged(1, 10), Inherit::kTake);
  EXPECT_EQ(judged(9, 10), Inherit::kTake);
  EXPECT_EQ(judged(10, 10), Inherit::kBad);
  EXPECT_EQ(judged(~0ULL, 10), Inherit::kBad);
  EXPECT_EQ(judged(kMaxInheritedArrivals - 1, ~0ULL), Inherit::kTake);
  EXPECT_EQ(judged(kMaxInheritedArrivals, ~0ULL), Inherit::kBad) << "no room for the successor";
}

TEST_F(Handover, HostileHeadersAreBadBeforeAnythingIsLookedUp) {
  SlotCopy foreign = inline_message(1);
  foreign.header.id = make_message_id(kSenderPid + 1, 1);
  EXPECT_EQ(judge(EntryState::kQueued, 5, foreign), Inherit::kBad);
  SlotCopy too_long = inline_message(1);
  too_long.header.length = 65;
  EXPECT_EQ(judge(EntryState::kQueued, 5, too_long), Inherit::kBad);
  for (const std::uint32_t n : {inherited_.layout.total_slabs(), kMaxSlabs, 0x7fffffffU}) {
    EXPECT_EQ(judge(EntryState::kQueued, 5, slab_message(1, SlabIndex(n), 1)), Inherit::kBad) << n;
  }
  EXPECT_EQ(judge(EntryState::kQueued, 5, slab_message(1, SlabIndex(0), 1, 1025)), Inherit::kBad);
  SlotCopy type = inline_message(1);
  type.header.type = kMaxStrings + 1;
  EXPECT_EQ(judge(EntryState::kQueued, 5, type), Inherit::kBad);
  type.header.type = kCarriedText;
  EXPECT_EQ(judge(EntryState::kQueued, 5, type), Inherit::kBad) << "it lies in no slab";
  SlotCopy time = inline_message(1);
  time.header.sent_ns = -1;
  EXPECT_EQ(judge(EntryState::kQueued, 5, time), Inherit::kBad);
}

TEST_F(Handover, AnyBytesInAnEntryAreJudgedWithoutHarm) {
  std::mt19937_64 random(1);
  std::size_t taken = 0;
  old_.home.control().next_arrival = 1000;
  for (int i = 0; i < 200'000; ++i) {
    std::uint64_t raw[16];
    for (auto& word : raw) word = random();
    if ((i & 4) != 0) {  // one random word alone
      const SlotCopy sound = (i & 8) != 0 ? inline_message(1) : slab_message(1, SlabIndex(2), 3);
      poke(0, {EntryState::kDead, 0, kOldRow, 5}, sound, kRejectedFlags);
      reinterpret_cast<const WordArray<16>&>(old_.view.entry(EntryIndex(0)))
          .load_bytes(raw, sizeof(raw));
      raw[random() % 16] = random() & random();
    }
    if ((i & 1) != 0) raw[0] = EntryWord{EntryState::kLeased, 0, kOldRow, 5}.pack();
    if ((i & 2) != 0) raw[2] = make_message_id(kSenderPid, 1 + (random() & 0xffff));
    reinterpret_cast<WordArray<16>&>(old_.home.entry(EntryIndex(0))).store_bytes(raw, sizeof(raw));
    const EntryCopy copy = copy_entry(old_.view.entry(EntryIndex(0)));
    if (judge_entry(copy, inherited_, next_arrival()) != Inherit::kTake) continue;
    ASSERT_LE(copy.word.state, EntryState::kDead);
    const bool in_slab = (copy.slot.header.flags & kFlagSlab) != 0;
    ASSERT_LT(in_slab ? copy.slot.header.slab : 0, inherited_.layout.total_slabs());
    ASSERT_LE(copy.slot.header.length, in_slab ? kMinMaxPayload : kInlineBytes);
    new_.home.entry(EntryIndex(0)).state.relaxed_store(EntryWord{}.pack());
    inherit_entry(new_.home, EntryIndex(0), copy, kNewRow);
    EXPECT_NE(new_.home.entry(EntryIndex(0)).word().state, EntryState::kLeased);
    ++taken;
  }
  EXPECT_GT(taken, 0U) << "nothing of it was ever taken: it proves nothing of inherit_entry()";
}

TEST_F(Handover, NewMessagesArriveAfterAllInheritedOnes) {
  const auto counted_on = [&](std::uint64_t next) {
    new_.home.control().next_arrival = 1;
    old_.home.control().next_arrival = next;
    inherit_counters(new_.home, old_.view, 0, 0);
    return new_.home.control().next_arrival;
  };
  EXPECT_EQ(counted_on(5000), 5000U);
  EXPECT_EQ(counted_on(0), 1U) << "it begins with 1 at the least";
  EXPECT_EQ(counted_on(~0ULL), kMaxInheritedArrivals);
}

// The cursor has gone all the way round since, so the position seems to lie ahead again.
TEST_F(Handover, AVeryOldEntryIsCommittedAfterEveryHandOver) {
  constexpr std::uint64_t kRound = 1ULL << 32;
  inherited_.cursors[0] = kRound + 7;
  poke(0, {EntryState::kQueued, 0, kOldRow, 7}, inline_message(1), 0, 1);
  old_.home.control().next_arrival = kRound;
  inherit(0);
  inherit_counters(new_.home, old_.view, 1, kRound + 7);
  EXPECT_EQ(judge_entry(copy_entry(new_.view.entry(EntryIndex(0))), inherited_,
                        new_.view.control().next_arrival),
            Inherit::kTake);
}

TEST_F(Handover, TheNewBankStartsFromTheOldStamps) {
  const test::LinkMemory own;
  for (SlabIndex slab(0); slab.value() < kMaxSlabs; ++slab) {
    old_own_.link.stamp(kOldBank, slab).publish(slab.value() * 3);
    old_own_.link.stamp(kOldBank + 1, slab).publish(7777);
  }
  copy_old_stamps();
  inherit_stamps(own.link, 0, inherited_);
  EXPECT_EQ(own.view.bank(0).stamps_ready.observe(), 1U);
  for (SlabIndex slab(0); slab.value() < kMaxSlabs; ++slab) {
    EXPECT_EQ(own.view.stamp(0, slab).observe(), slab.value() * 3);
    EXPECT_EQ(own.view.stamp(1, slab).observe(), 0U) << "the next bank is another life's";
  }
}

TEST_F(Handover, WithoutOldStampsTheNewOnesAreNotReady) {
  const test::LinkMemory own;
  inherited_.stamps[6] = 10;
  inherit_stamps(own.link, 0, inherited_);
  EXPECT_EQ(own.view.bank(0).stamps_ready.observe(), 0U);
}

TEST_F(Handover, TheOldHomeIsNeverChanged) {
  poke(0, {EntryState::kQueued, 0, kOldRow, 8}, inline_message(1));
  poke(1, {EntryState::kLeased, 0, kOldRow, 9}, slab_message(2, SlabIndex(0), 1));
  std::vector<std::byte> before(old_.memory.base(), old_.memory.base() + old_.memory.bytes());
  inherit(0);
  inherit(1);
  inherit_counters(new_.home, old_.view, 2, drained_total(old_.view));
  EXPECT_EQ(std::memcmp(before.data(), old_.memory.base(), before.size()), 0);
}

// The whole takeover of a home with entries in all states.
class WholeHandover : public Handover {
 protected:
  WholeHandover() {
    open_row(old_.home.row(kOldRow), kInKey, kSenderPid, 6, 2);
    inherited_.cursors[0] = 6;
    inherited_.cursors[1] = 2;
    old_.home.control().retired.publish(20);  // forgotten links: all of it is done
    InboxCounters& counters = old_.home.control().counters;
    counters.done.publish(21);  // one message of the normal lane is done and counted
    counters.purged.publish(1);
    counters.requeued.publish(4);
    old_.home.control().reserved_ids.publish(555);
    poke(0, {EntryState::kQueued, 0, kOldRow, 0}, inline_message(1), 0, 30);
    poke(1, {EntryState::kLeased, 1, kOldRow, 1}, inline_message(2), 0, 31);
    poke(2, {EntryState::kDead, 0, kOldRow, 2}, inline_message(3), kRejectedFlags, 32);
    poke(3, {EntryState::kLeased, 0, kOldRow, 3}, slab_message(4, SlabIndex(0), 5), 0, 33);  // done
    poke(4, {EntryState::kQueued, 0, kOldRow, 0}, inline_message(5), kFlagUrgentLane, 34);
    poke(5, {EntryState::kQueued, 0, kOldRow, 6}, inline_message(6), 0, 35);  // not committed
    old_own_.link.stamp(kOldBank, SlabIndex(0)).publish(5);
    copy_old_stamps();
  }
  // REQUIRES: rows of the new home are open. Returns the number of entries taken.
  std::uint32_t take_over() {
    std::uint32_t live = 0;
    for (EntryIndex i(0); i.value() < old_.view.entries_allocated(); ++i) {
      const EntryCopy copy = copy_entry(old_.view.entry(i));
      if (judge_entry(copy, inherited_, next_arrival()) != Inherit::kTake) continue;
      inherit_entry(new_.home, EntryIndex(live++), copy, kNewRow);
    }
    inherit_counters(new_.home, old_.view, live, drained_total(old_.view));
    return live;
  }
};

TEST_F(WholeHandover, TheBalanceHoldsAndNoMessageIsLost) {
  Inbox inbox = new_.open_inbox();
  open_row(new_.home.row(kNewRow), kInKey, kSenderPid, 6, 2);
  EXPECT_EQ(take_over(), 4U);
  inbox.rebuild();
  EXPECT_EQ(inbox.queued(), 3U);
  EXPECT_EQ(inbox.leased(), 0U);
  EXPECT_EQ(inbox.dead(), 1U);
  const InboxCounters& counters = new_.home.control().counters;
  EXPECT_EQ(drained_total(new_.view), 28U);
  EXPECT_EQ(counters.purged.observe(), 1U);
  EXPECT_EQ(counters.done.observe(), 28U - 4 - 1) << "21 counted, 1 killed behind its free store, "
                                                     "1 killed behind its stamp";
  EXPECT_EQ(counters.requeued.observe(), 4U);
  EXPECT_EQ(new_.home.control().reserved_ids.observe(), 555U);
}

TEST_F(WholeHandover, TheOrderOfArrivalSurvives) {
  Inbox inbox = new_.open_inbox();
  open_row(new_.home.row(kNewRow), kInKey, kSenderPid, 6, 2);
  take_over();
  inbox.rebuild();
  for (const std::uint64_t counter : {1U, 2U, 5U}) {
    const EntryIndex at = inbox.take_best();
    ASSERT_NE(at, kNoEntry);
    EXPECT_EQ(counter_of_message(new_.home.entry(at).header.id), counter);
  }
  EXPECT_EQ(inbox.take_best(), kNoEntry);
}

TEST_F(WholeHandover, TheCountsOfALostLinkAreKeptAsRetired) {
  open_row(new_.home.row(kNewRow), kInKey, kSenderPid, 6, 2);
  open_row(old_.home.row(RowIndex(0)), {kInKey.incarnation, 9}, kSenderPid, 100, 0);  // faded
  take_over();
  EXPECT_EQ(drained_total(new_.view), 128U);
  EXPECT_EQ(new_.view.control().retired.observe(), 120U);
}

TEST_F(WholeHandover, APredecessorKilledWhileClosingARowIsCountedOnce) {
  for (int stores = 1; stores <= 2; ++stores) {
    InRow& closing = old_.home.row(RowIndex(0));
    open_row(closing, {kInKey.incarnation, 9}, kSenderPid, 100, 0);
    old_.home.control().retired.publish(stores == 1 ? 20 : 120);
    closing.retired.publish(120);
    EXPECT_EQ(drained_total(old_.view), 128U) << "killed after store " << stores;
  }
}

// The cursor in the old home, that of the old receipts, and the first one of the successor.
TEST_F(Handover, CursorsThatCannotBeAreReplaced) {
  test::LinkMemory in;
  const std::uint64_t room = in.view.capacity(Lane::kNormal);
  const std::uint64_t published = 2 * room + 3;
  for (std::uint64_t at = 0; at < published; ++at) {
    const SlotCopy copy = inline_message(at + 1, "message");
    publish_slot(in.link.slot(Lane::kNormal, at), at, copy.header, 0, copy.payload);
  }
  struct Case {
    std::uint64_t home, receipt, begins;
  };
  const Case cases[] = {
      {published, 0, published},                // all messages were taken
      {published - room, 0, published - room},  // none was taken, and the lane is full
      {published - 5, published - 5, published - 5},
      {published - 5, published - 6, published - 5},  // killed between the two stores
      {published - 6, published - 5, published - 5},
      {published + 1, published - 1, published - 1},
      {published - room - 1, published - 2, published - 2},
      // Neither is possible: all messages that the lane still holds come, perhaps once more.
      {published + 1, published + 1, published - room},
      {0, 0, published - room},
      {~0ULL, ~0ULL, published - room},
  };
  for (const Case& each : cases) {
    inherited_.cursors[0] = each.home;
    inherited_.receipts[0] = each.receipt;
    make_cursors_sound(inherited_, in.view);
    EXPECT_EQ(inherited_.cursors[0], each.begins) << each.home << ", " << each.receipt;
    EXPECT_EQ(inherited_.cursors[1], 0U) << "nothing was published in the urgent lane";
  }
}

}  // namespace
}  // namespace beeline::shm
