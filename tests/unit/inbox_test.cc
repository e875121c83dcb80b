#include "shm/inbox.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::inline_message;
using test::kInKey;
using test::kSenderPid;
using test::slab_message;

constexpr RowIndex kRow(0);

class InboxTest : public testing::Test {
 protected:
  InboxTest() { open_row(home().row(kRow), kInKey, kSenderPid, 0, 0); }

  [[nodiscard]] const Home& home() const { return memory_.home; }
  [[nodiscard]] InboxCounters& counters() const { return home().control().counters; }
  // Drains one message of this rank from the normal lane of row 0.
  EntryIndex receive(std::int32_t rank = kRankNormal, std::uint16_t mark = 0) {
    SlotCopy copy = inline_message(cursor_ + 1, "hello");
    copy.header.rank = rank;
    return receive(copy, mark);
  }
  EntryIndex receive(const SlotCopy& copy, std::uint16_t mark = 0) {
    const EntryIndex at = inbox_.put(copy, kRow, Lane::kNormal, cursor_, copy.header.sent_ns, mark);
    inbox_.commit(kRow, Lane::kNormal, ++cursor_);
    return at;
  }
  EntryIndex take_best() {
    const EntryIndex at = inbox_.take_best();
    return at;
  }
  void expect_balance() const {
    const std::uint64_t inside = inbox_.queued() + inbox_.leased() + inbox_.dead();
    EXPECT_EQ(drained_total(home()),
              inside + counters().done.observe() + counters().purged.observe());
    EXPECT_EQ(inbox_.free_count() + inside, home().entries_allocated());
  }
  [[nodiscard]] EntryIndex oldest_dead() const {
    return inbox_.letters().empty() ? kNoEntry : inbox_.letters().front();
  }
  [[nodiscard]] EntryState state(EntryIndex at) const { return home().entry(at).word().state; }

  test::HomeMemory memory_;
  Inbox inbox_ = memory_.open_inbox();
  std::uint64_t cursor_ = 0;
};

TEST(EntryWord, EveryFieldSurvivesOneWord) {
  for (const EntryWord word : {EntryWord{}, EntryWord{EntryState::kDead, 255, kNoRow, 0xffffffff},
                               EntryWord{EntryState::kLeased, 1, RowIndex(2), 3}}) {
    const EntryWord back = EntryWord::unpack(word.pack());
    EXPECT_EQ(back.state, word.state);
    EXPECT_EQ(back.attempts, word.attempts);
    EXPECT_EQ(back.row, word.row);
    EXPECT_EQ(back.position, word.position);
  }
  EXPECT_EQ(EntryWord{}.pack(), 0U) << "zero means free";
}

TEST(EntryWord, EveryStateAndReasonHasAName) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(EntryState::kDead); ++i) {
    EXPECT_STRNE(to_string(static_cast<EntryState>(i)), "unknown");
  }
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(DeadReason::kLoop); ++i) {
    EXPECT_STRNE(to_string(static_cast<DeadReason>(i)), "unknown");
  }
  EXPECT_STREQ(to_string(static_cast<EntryState>(200)), "unknown");
  EXPECT_STREQ(to_string(static_cast<DeadReason>(15)), "unknown");
}

TEST(HomeOptions, EveryNumberOutOfItsRangeIsNamed) {
  EXPECT_EQ(home_error({}), nullptr);
  for (const std::uint32_t capacity : {0U, 8U, 17U, kMaxEntries * 2}) {
    EXPECT_NE(home_error({OrderPolicy::kAged, capacity, 3, 1}), nullptr) << capacity;
  }
  for (const std::uint32_t attempts : {0U, 256U}) {
    EXPECT_NE(home_error({OrderPolicy::kAged, 16, attempts, 1}), nullptr) << attempts;
  }
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2'000'000'001}}) {
    EXPECT_NE(home_error({OrderPolicy::kAged, 16, 3, step}), nullptr) << step;
  }
}

TEST(HomeLayout, SectionsFollowEachOtherWithoutOverlap) {
  for (const std::uint32_t capacity : {kMinInboxCapacity, kDefaultInboxCapacity, kMaxEntries}) {
    const HomeLayout layout(capacity);
    EXPECT_EQ(layout.rows, kPage);
    EXPECT_LE(layout.control + sizeof(HomeControl), layout.rows);
    EXPECT_EQ(layout.entries, layout.rows + kMaxRows * sizeof(InRow));
    EXPECT_EQ(layout.run, layout.entries + capacity * sizeof(Entry));
    EXPECT_GE(layout.heap, layout.run + capacity * sizeof(IndexNode));
    EXPECT_GE(layout.bytes, layout.heap + capacity * sizeof(IndexNode));
    EXPECT_EQ(layout.bytes % kPage, 0U);
  }
}

TEST(Home, AFreshHomeIsNotReadyAndStatesItsProperties) {
  const test::HomeMemory memory;
  const SegmentHeader& header = memory.view.header();
  EXPECT_EQ(check_header(header, memory.memory.bytes(),
                         home_identity(16, test::kReceiverPid, test::kReceiverLife)),
            HeaderVerdict::kOk);
  EXPECT_EQ(header.ready.observe(), 0U);
  EXPECT_EQ(header.section_count, 5U);
  EXPECT_EQ(memory.view.control().next_arrival, 1U);
  EXPECT_EQ(drained_total(memory.view), 0U);
}

TEST(Home, CountsBeyondTheLimitsAreCut) {
  const test::HomeMemory memory;
  memory.home.control().rows_allocated.publish(0xffffffff);
  memory.home.control().entries_allocated.publish(0xffffffff);
  EXPECT_EQ(memory.view.rows_allocated(), kMaxRows);
  EXPECT_EQ(memory.view.entries_allocated(), memory.view.capacity());
}

[[nodiscard]] bool committed(std::uint32_t position, std::uint64_t cursor,
                             EntryState state = EntryState::kQueued, std::uint64_t since = 1) {
  return is_committed(EntryWord{state, 0, kRow, position}, cursor, since);
}

TEST(IsCommitted, ThePositionIsComparedAcrossThe32BitBoundary) {
  EXPECT_TRUE(committed(4, 5));
  EXPECT_FALSE(committed(5, 5));
  EXPECT_FALSE(committed(6, 5));
  EXPECT_TRUE(committed(0xffffffff, 0x1'0000'0000));
  EXPECT_FALSE(committed(0, 0x1'0000'0000));
  EXPECT_FALSE(committed(3, 0xffff'fffe));
  EXPECT_TRUE(committed(0xfffffffd, 0xffff'fffe));
}

TEST(IsCommitted, AnOldMessageThatTheCursorHasLappedIsCommitted) {
  EXPECT_TRUE(committed(0, (1ULL << 31) + 1));
  EXPECT_TRUE(committed(7, (1ULL << 32) + 7, EntryState::kLeased));
  EXPECT_TRUE(committed(7, (1ULL << 32) + 7, EntryState::kDead));
  EXPECT_TRUE(committed(7, (1ULL << 32) + 7, EntryState::kQueued, 1ULL << 32));
  EXPECT_FALSE(committed(7, (1ULL << 32) + 7, EntryState::kQueued, kMaxLaneSlots));
}

TEST_F(InboxTest, AMessageGoesThroughEveryStateOfAnHonestLife) {
  const EntryIndex at = receive();
  EXPECT_EQ(state(at), EntryState::kQueued);
  expect_balance();
  EXPECT_EQ(take_best(), at);
  EXPECT_EQ(state(at), EntryState::kLeased);
  expect_balance();
  inbox_.done(at, nullptr);
  EXPECT_EQ(state(at), EntryState::kFree);
  EXPECT_EQ(counters().done.observe(), 1U);
  EXPECT_EQ(take_best(), kNoEntry);
  expect_balance();
}

TEST_F(InboxTest, TheEntryHoldsTheMessageAndItsOrigin) {
  SlotCopy copy = inline_message(5, "the payload");
  copy.header.flags = kFlagRequiresAck;
  copy.header.type = 3;
  const EntryIndex at = inbox_.put(copy, kRow, Lane::kUrgent, 0x1'0000'0002, /*sent_ns=*/123, 0);
  const Entry& entry = home().entry(at);
  EXPECT_EQ(entry.word().row, kRow);
  EXPECT_EQ(entry.word().position, 2U);
  EXPECT_EQ(entry.word().attempts, 0U);
  EXPECT_EQ(entry.header.sent_ns, 123);
  EXPECT_EQ(entry.header.type, 3U);
  EXPECT_EQ(entry.header.flags, kFlagRequiresAck | kFlagUrgentLane);
  EXPECT_EQ(lane_of(entry.header), Lane::kUrgent);
  EXPECT_EQ(std::memcmp(entry.payload, "the payload", 11), 0);
}

TEST_F(InboxTest, InlinePayloadsOfEveryLengthArriveWhole) {
  for (std::size_t length = 0; length <= kInlineBytes; ++length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('0' + i);
    const EntryIndex at = receive(inline_message(length + 1, text));
    EXPECT_EQ(std::memcmp(home().entry(at).payload, text.data(), length), 0) << length;
    inbox_.done(take_best(), nullptr);
  }
}

TEST_F(InboxTest, LowerRanksComeFirstAndEqualOnesInOrderOfArrival) {
  const EntryIndex low = receive(3);
  const EntryIndex normal = receive(2);
  const EntryIndex normal_too = receive(2);
  const EntryIndex critical = receive(0);
  EXPECT_EQ(take_best(), critical);
  EXPECT_EQ(take_best(), normal);
  EXPECT_EQ(take_best(), normal_too);
  EXPECT_EQ(take_best(), low);
  EXPECT_EQ(take_best(), kNoEntry);
}

TEST_F(InboxTest, TheNextEntryIsTheOneThatIsTakenNextAndStaysQueued) {
  EXPECT_EQ(inbox_.next(), kNoEntry);
  for (const std::int32_t rank : {3, 2, 1, 3}) receive(rank);
  while (inbox_.next() != kNoEntry) {
    const std::uint32_t queued = inbox_.queued();
    const EntryIndex next = inbox_.next();
    EXPECT_EQ(inbox_.queued(), queued);
    EXPECT_EQ(take_best(), next);
  }
  EXPECT_EQ(take_best(), kNoEntry);
}

TEST_F(InboxTest, FindingSelectsTheFirstMatchAndLeavesTheRest) {
  const EntryIndex first = receive(3);
  const EntryIndex second = receive(1);
  const EntryIndex third = receive(1);
  const auto any_of_rank_one = [](const Entry& entry) { return entry.header.rank == 1; };
  ASSERT_EQ(inbox_.find(any_of_rank_one), second);
  inbox_.take(second);
  ASSERT_EQ(inbox_.find(any_of_rank_one), third);
  EXPECT_EQ(inbox_.find([](const Entry&) { return false; }), kNoEntry);
  EXPECT_EQ(take_best(), third);
  EXPECT_EQ(take_best(), first);
  expect_balance();
}

TEST_F(InboxTest, ARequeuedMessageHasOneAttemptMoreAndItsOldPlace) {
  const EntryIndex first = receive();
  const EntryIndex second = receive();
  ASSERT_EQ(take_best(), first);
  inbox_.requeue(first);
  EXPECT_EQ(home().entry(first).word().attempts, 1U);
  EXPECT_EQ(counters().requeued.observe(), 1U);
  expect_balance();
  EXPECT_EQ(take_best(), first);
  EXPECT_EQ(take_best(), second);
}

TEST_F(InboxTest, AttemptsStopAtTheLargestValueOfTheField) {
  const EntryIndex at = receive();
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(take_best(), at);
    inbox_.requeue(at);
  }
  const EntryWord word = home().entry(at).word();
  EXPECT_EQ(word.attempts, 255U);
  EXPECT_EQ(word.row, kRow);
  EXPECT_EQ(word.state, EntryState::kQueued);
}

TEST_F(InboxTest, ADeadLetterKeepsItsReasonAndPayloadUntilItIsLetGo) {
  const EntryIndex at = receive();
  take_best();
  inbox_.bury(at, DeadReason::kRejected);
  EXPECT_EQ(state(at), EntryState::kDead);
  EXPECT_EQ(home().entry(at).reason(), DeadReason::kRejected);
  EXPECT_EQ(std::memcmp(home().entry(at).payload, "hello", 5), 0);
  EXPECT_EQ(oldest_dead(), at);
  expect_balance();
  inbox_.purge(at, nullptr);
  EXPECT_EQ(state(at), EntryState::kFree);
  EXPECT_EQ(oldest_dead(), kNoEntry);
  EXPECT_EQ(counters().purged.observe(), 1U);
  expect_balance();
}

TEST_F(InboxTest, C_07_ARevivedLetterIsQueuedAtItsOldPlaceWithAllItsAttempts) {
  const EntryIndex first = receive();
  const EntryIndex second = receive();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(take_best(), first);
    inbox_.requeue(first);
  }
  ASSERT_EQ(take_best(), first);
  const std::uint16_t flags = home().entry(first).header.flags;
  inbox_.bury(first, DeadReason::kExhausted);
  expect_balance();
  inbox_.revive(first);
  EXPECT_EQ(state(first), EntryState::kQueued);
  EXPECT_EQ(home().entry(first).word().attempts, 0U);
  EXPECT_EQ(home().entry(first).reason(), DeadReason::kNone);
  EXPECT_EQ(home().entry(first).header.flags, flags | kFlagRevived);
  EXPECT_EQ(inbox_.dead(), 0U);
  EXPECT_EQ(oldest_dead(), kNoEntry);
  expect_balance();
  EXPECT_EQ(take_best(), first);
  EXPECT_EQ(take_best(), second);
  inbox_.bury(first, DeadReason::kRejected);
  EXPECT_EQ(oldest_dead(), first) << "it can die again";
  expect_balance();
}

TEST_F(InboxTest, ARevivedLetterOfAnAnswerJoinsTheOrderInEveryCase) {
  for (const std::uint16_t mark : {kFlagMatched, kFlagStashed}) {
    const EntryIndex reply = receive(kRankCritical, mark);
    inbox_.take_unindexed(reply);
    inbox_.bury(reply, DeadReason::kUnclaimed);
    inbox_.revive(reply);
    EXPECT_EQ(home().entry(reply).header.flags & kUnindexedFlags, 0);
    EXPECT_EQ(inbox_.critical(), 1U);
    EXPECT_EQ(take_best(), reply);
    expect_balance();
  }
}

TEST_F(InboxTest, EveryReasonIsStoredWithoutTouchingTheOtherFlags) {
  for (std::uint8_t i = 1; i <= static_cast<std::uint8_t>(DeadReason::kLoop); ++i) {
    const EntryIndex at = receive();
    take_best();
    const std::uint16_t flags = home().entry(at).header.flags;
    inbox_.bury(at, static_cast<DeadReason>(i));
    EXPECT_EQ(home().entry(at).reason(), static_cast<DeadReason>(i));
    EXPECT_EQ(home().entry(at).header.flags & 0x0fff, flags);
  }
  EXPECT_EQ(counters().dead.observe(), 6U);
  EXPECT_EQ(counters().rejected.observe(), 1U);
  EXPECT_EQ(counters().expired.observe(), 1U);
  EXPECT_EQ(counters().exhausted.observe(), 1U);
}

TEST_F(InboxTest, TheOldestDeadLetterIsTheOneThatDiedFirst) {
  const EntryIndex first = receive();
  const EntryIndex second = receive();
  take_best();
  take_best();
  EXPECT_EQ(oldest_dead(), kNoEntry);
  inbox_.bury(second, DeadReason::kExpired);
  inbox_.bury(first, DeadReason::kExpired);
  EXPECT_EQ(oldest_dead(), second);
  inbox_.purge(second, nullptr);
  EXPECT_EQ(oldest_dead(), first);
  inbox_.rebuild();
  EXPECT_EQ(oldest_dead(), first);
  inbox_.purge(first, nullptr);
  EXPECT_EQ(oldest_dead(), kNoEntry);
}

TEST_F(InboxTest, AfterARebuildTheOldestDeadLetterIsTheOneThatArrivedFirst) {
  const EntryIndex first = receive();
  const EntryIndex second = receive();
  take_best();
  take_best();
  inbox_.bury(second, DeadReason::kExpired);
  inbox_.bury(first, DeadReason::kExpired);
  inbox_.rebuild();
  EXPECT_EQ(oldest_dead(), first);
}

TEST_F(InboxTest, FinishingStampsTheSlabOfTheMessage) {
  Atomic<std::uint64_t> stamp_word{0};
  const EntryIndex at = receive(slab_message(1, SlabIndex(0), 42));
  EXPECT_TRUE(home().entry(at).in_slab());
  take_best();
  EXPECT_EQ(stamp_word.observe(), 0U);
  inbox_.done(at, &stamp_word);
  EXPECT_EQ(stamp_word.observe(), 42U);
}

TEST_F(InboxTest, LettingADeadLetterGoStampsItsSlab) {
  Atomic<std::uint64_t> stamp_word{0};
  const EntryIndex at = receive(slab_message(1, SlabIndex(0), 42));
  take_best();
  inbox_.bury(at, DeadReason::kExpired);
  EXPECT_EQ(stamp_word.observe(), 0U);
  inbox_.purge(at, &stamp_word);
  EXPECT_EQ(stamp_word.observe(), 42U);
}

TEST_F(InboxTest, ACriticalReplyInTheStashIsNothingUrgent) {
  const EntryIndex reply = receive(kRankCritical, kFlagStashed);
  EXPECT_EQ(inbox_.critical(), 0U);
  inbox_.take_unindexed(reply);
  inbox_.requeue(reply);
  EXPECT_EQ(inbox_.critical(), 0U);
  expect_balance();
}

TEST_F(InboxTest, AStashedReplyIsInNoOrderEvenAfterItWasRequeued) {
  const EntryIndex reply = receive(kRankNormal, kFlagMatched);
  EXPECT_EQ(take_best(), kNoEntry);
  EXPECT_EQ(inbox_.queued(), 1U);
  EXPECT_NE(home().entry(reply).header.flags & kFlagMatched, 0);
  inbox_.stash(reply);
  EXPECT_EQ(home().entry(reply).header.flags & kUnindexedFlags, kFlagStashed);
  EXPECT_EQ(take_best(), kNoEntry);
  inbox_.take_unindexed(reply);
  inbox_.requeue(reply);
  EXPECT_EQ(home().entry(reply).header.flags & kUnindexedFlags, kFlagStashed);
  EXPECT_EQ(take_best(), kNoEntry);
  inbox_.rebuild();
  EXPECT_EQ(take_best(), kNoEntry);
  EXPECT_EQ(inbox_.queued(), 1U);
  expect_balance();
}

TEST_F(InboxTest, AnUnaskedAnswerThatIsPutBackIsAMessageLikeAnyOther) {
  const EntryIndex reply = receive(kRankNormal, kFlagStashed | kFlagUnasked);
  inbox_.take_unindexed(reply);
  inbox_.bury(reply, DeadReason::kUnclaimed);
  inbox_.revive(reply);
  EXPECT_EQ(home().entry(reply).header.flags & (kFlagStashed | kFlagUnasked), 0);
  EXPECT_EQ(take_best(), reply);
}

TEST_F(InboxTest, AMatchedReplyIsTakenWithoutTheOrder) {
  const EntryIndex other = receive();
  const EntryIndex reply = receive(kRankNormal, kFlagMatched);
  inbox_.take_unindexed(reply);
  inbox_.done(reply, nullptr);
  expect_balance();
  EXPECT_EQ(take_best(), other);
}

TEST_F(InboxTest, AMatchedReplyThatIsRequeuedIsStashed) {
  const EntryIndex reply = receive(kRankNormal, kFlagMatched);
  inbox_.take_unindexed(reply);
  inbox_.requeue(reply);
  EXPECT_EQ(home().entry(reply).header.flags & kUnindexedFlags, kFlagStashed);
  EXPECT_EQ(take_best(), kNoEntry);
  expect_balance();
}

TEST_F(InboxTest, TheReserveIsForCriticalMessagesAlone) {
  const std::uint32_t reserve = home().control().critical_reserve;
  ASSERT_EQ(reserve, 2U);
  for (std::uint32_t i = 0; i < home().capacity() - reserve; ++i) {
    ASSERT_TRUE(inbox_.has_room(Room::kNormal));
    receive();
  }
  EXPECT_FALSE(inbox_.has_room(Room::kNormal));
  ASSERT_TRUE(inbox_.has_room(Room::kCritical));
  receive(kRankCritical);
  EXPECT_FALSE(inbox_.has_room(Room::kCritical));
  EXPECT_TRUE(inbox_.has_room(Room::kControl));
  EXPECT_EQ(inbox_.free_count(), 1U);
  inbox_.done(take_best(), nullptr);
  EXPECT_TRUE(inbox_.has_room(Room::kCritical));
  EXPECT_FALSE(inbox_.has_room(Room::kNormal));
}

TEST_F(InboxTest, CriticalMessagesAreCountedWhileTheyAreQueued) {
  const EntryIndex at = receive(kRankCritical);
  receive(-5);
  receive(1);
  EXPECT_EQ(inbox_.critical(), 2U);
  take_best();
  take_best();
  EXPECT_EQ(inbox_.critical(), 0U);
  inbox_.requeue(at);
  EXPECT_EQ(inbox_.critical(), 1U);
}

TEST(InboxGrowth, EntriesThatAreNotAllocatedYetCountAsRoom) {
  const test::HomeMemory memory(32);
  std::vector<EntryIndex> stack(32);
  Inbox inbox(memory.home, stack);
  EXPECT_TRUE(inbox.has_room(Room::kNormal));
  EXPECT_EQ(inbox.free_count(), 0U);
  inbox.add_entries(0, 16);
  EXPECT_EQ(inbox.free_count(), 16U);
  EXPECT_EQ(memory.view.entries_allocated(), 16U);
  const SlotCopy copy = inline_message(1);
  for (std::uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(inbox.put(copy, kRow, Lane::kNormal, i, 0, 0), EntryIndex(i)) << "low entries first";
  }
  EXPECT_TRUE(inbox.has_room(Room::kNormal));
  inbox.add_entries(16, 32);
  EXPECT_EQ(inbox.put(copy, kRow, Lane::kNormal, 16, 0, 0), EntryIndex(16));
}

TEST_F(InboxTest, RebuildingFindsEveryEntryAgain) {
  const EntryIndex dead = receive(0);
  const EntryIndex leased = receive(0);
  const EntryIndex normal = receive(2);
  const EntryIndex critical = receive(0);
  const EntryIndex finished = receive(-1);
  inbox_.done(take_best(), nullptr);
  inbox_.bury(take_best(), DeadReason::kRejected);
  take_best();
  // After a kill index, free list and counts may hold anything.
  home().control().index.heap_count = 3;
  home().control().index.run_head = 7;
  home().control().index.run_tail = 9;
  inbox_.rebuild();
  EXPECT_EQ(inbox_.queued(), 2U);
  EXPECT_EQ(inbox_.leased(), 1U);
  EXPECT_EQ(inbox_.dead(), 1U);
  EXPECT_EQ(inbox_.critical(), 1U);
  EXPECT_EQ(state(dead), EntryState::kDead);
  EXPECT_EQ(state(leased), EntryState::kLeased);
  EXPECT_EQ(state(finished), EntryState::kFree);
  expect_balance();
  EXPECT_EQ(take_best(), critical);
  EXPECT_EQ(take_best(), normal);
  EXPECT_EQ(take_best(), kNoEntry);
}

}  // namespace
}  // namespace beeline::shm
