#include <gtest/gtest.h>

#include <limits>

#include "shm/lane.h"
#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::inline_message;
using test::kSenderPid;
using test::kSmallContract;
using test::make_header;
using test::slab_message;

constexpr unsigned char kNoPayload[kInlineBytes]{};
constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

class SlotFaults : public testing::Test {
 protected:
  [[nodiscard]] SlotFault check(const SlotCopy& copy) const {
    return check_slot(copy, kSenderPid, layout_, verified_);
  }
  LinkLayout layout_{kSmallContract};
  VerifiedExtents verified_ = test::verify_all(layout_);
};

TEST(Slot, AZeroedSlotHoldsNoMessage) {
  const Slot slot{};
  for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{128}}) {
    EXPECT_FALSE(is_published(slot, position));
  }
}

TEST(Slot, AMessageIsPublishedForItsPositionAlone) {
  Slot slot{};
  publish_slot(slot, 5, make_header(1), 0, kNoPayload);
  EXPECT_TRUE(is_published(slot, 5));
  EXPECT_FALSE(is_published(slot, 4));
  EXPECT_FALSE(is_published(slot, 6));
  EXPECT_FALSE(is_published(slot, 5 + 128));
}

TEST(Slot, PositionsGoOnBeyond32Bits) {
  Slot slot{};
  publish_slot(slot, 0xffffffff, make_header(1), 0, kNoPayload);
  EXPECT_TRUE(is_published(slot, 0xffffffff));
  EXPECT_FALSE(is_published(slot, kLast));
  publish_slot(slot, 0x1'0000'0000, make_header(1), 0, kNoPayload);
  EXPECT_TRUE(is_published(slot, 0x1'0000'0000));
  EXPECT_FALSE(is_published(slot, 0));
}

TEST(Slot, TheCopyEqualsThePublishedMessage) {
  unsigned char payload[kInlineBytes];
  for (std::size_t i = 0; i < sizeof(payload); ++i) payload[i] = static_cast<unsigned char>(i);
  for (std::uint32_t length = 0; length <= kInlineBytes; ++length) {
    Slot slot{};
    MessageHeader header = make_header(77, length);
    header.reply_to = 5;
    header.ttl_ms = 6;
    header.rank = -3;
    header.type = 8;
    header.channel = 9;
    header.hops = 2;
    publish_slot(slot, 0, header, 0, payload);
    SlotCopy copy{};
    copy_slot(slot, copy);
    EXPECT_EQ(std::memcmp(&copy.header, &header, sizeof(header)), 0);
    EXPECT_EQ(std::memcmp(copy.payload, payload, length), 0) << length;
  }
}

TEST(Slot, ASlabMessageCarriesItsGenerationAndNoPayload) {
  Slot slot{};
  publish_slot(slot, 0, slab_message(1, SlabIndex(3), 42, 5000).header, 42, nullptr);
  SlotCopy copy{};
  copy_slot(slot, copy);
  EXPECT_EQ(copy.generation, 42U);
  EXPECT_EQ(copy.header.slab, 3U);
  EXPECT_EQ(copy.header.length, 5000U);
}

TEST(Slot, ALyingLengthNeverCopiesBeyondTheSlot) {
  struct Guarded {
    SlotCopy copy;
    unsigned char guard[64];
  };
  Slot slot{};
  publish_slot(slot, 0, make_header(1, 64), 0, std::string(64, 'x').data());
  MessageHeader lie = make_header(1, std::numeric_limits<std::uint32_t>::max());
  slot.header.store(lie);
  Guarded guarded{};
  copy_slot(slot, guarded.copy);
  for (const unsigned char byte : guarded.guard) ASSERT_EQ(byte, 0);
  EXPECT_EQ(guarded.copy.payload[63], 'x');
}

TEST(Slot, AHalfWrittenNextRoundIsNotPublished) {
  Slot slot{};
  publish_slot(slot, 5, make_header(1), 0, kNoPayload);
  slot.header.store(make_header(2));  // the sender is killed before it stores commit
  EXPECT_FALSE(is_published(slot, 5 + 8));
}

TEST_F(SlotFaults, AnHonestMessageHasNone) {
  EXPECT_EQ(check(inline_message(1)), SlotFault::kNone);
  EXPECT_EQ(check(inline_message(1, std::string(kInlineBytes, 'x'))), SlotFault::kNone);
  EXPECT_EQ(check(slab_message(1, SlabIndex(0), 1, 1024)), SlotFault::kNone);
  EXPECT_EQ(check(slab_message(1, SlabIndex(layout_.total_slabs() - 1), 1, 65536)),
            SlotFault::kNone);
  SlotCopy ack = inline_message(1);
  ack.header.flags = kFlagRequiresAck;
  EXPECT_EQ(check(ack), SlotFault::kNone);
}

TEST_F(SlotFaults, CarriedTextsNeedASlabWithRoomForThem) {
  const auto carrying = [](SlotCopy copy) {
    copy.header.channel = kCarriedText;
    return copy;
  };
  EXPECT_EQ(check(carrying(slab_message(1, SlabIndex(0), 1, 960))), SlotFault::kNone);
  EXPECT_EQ(check(carrying(slab_message(1, SlabIndex(0), 1, 961))), SlotFault::kBadLength);
  EXPECT_EQ(check(carrying(slab_message(1, SlabIndex(0), 1, 0xffffffff))), SlotFault::kBadLength);
  EXPECT_EQ(check(carrying(slab_message(1, SlabIndex(layout_.total_slabs() - 1), 1, 65536))),
            SlotFault::kNone);
  EXPECT_EQ(check(carrying(inline_message(1))), SlotFault::kBadString);
  SlotCopy near = slab_message(1, SlabIndex(0), 1, 0);
  near.header.type = kCarriedText - 1;
  EXPECT_EQ(check(near), SlotFault::kBadString);
}

TEST_F(SlotFaults, AForeignPidInTheIdIsOne) {
  SlotCopy copy = inline_message(1);
  copy.header.id = make_message_id(kSenderPid + 1, 1);
  EXPECT_EQ(check(copy), SlotFault::kForeignId);
  copy.header.id = make_message_id(kSenderPid, 0);
  EXPECT_EQ(check(copy), SlotFault::kForeignId);
  copy.header.id = 0;
  EXPECT_EQ(check(copy), SlotFault::kForeignId);
}

// A check of whole words accepts the same messages as a check of each field.
TEST_F(SlotFaults, ASimpleMessageIsSoundAsAnyOther) {
  verified_.slabs[0] = 2;
  verified_.strings = 3;
  const std::uint32_t slabs[] = {0, 2, layout_.classes[1].first, layout_.total_slabs(),
                                 kNoSlab.value()};
  const std::uint32_t lengths[] = {0, 16, 17, 64, 65, 1024, 1025, 8192, 8193, 0xffffffff};
  const std::uint16_t flags[] = {0,
                                 kFlagSlab,
                                 kFlagSlab | kFlagRequiresAck,
                                 kFlagExtended,
                                 kFlagExtended | kFlagSlab,
                                 kFlagSlab | kFlagCopy,
                                 kFlagUnasked,
                                 0x8000};
  std::uint64_t simple = 0;
  const auto expect_same = [&](const MessageHeader& header, std::uint64_t generation) {
    Slot slot{};
    publish_slot(slot, 0, header, generation, kNoPayload);
    const HeaderWords words(slot);
    constexpr int kSimple = kFlagSlab | kFlagExtended | kFlagRequiresAck;
    const bool is_simple = header.ttl_ms == 0 && (header.flags & ~kSimple) == 0;
    const bool is_sound =
        check_head(header, generation, kSenderPid, layout_, verified_) == SlotFault::kNone;
    ASSERT_EQ(is_sound_simple(words, kSenderPid, layout_, verified_), is_simple && is_sound)
        << header.id << " " << header.length << " " << header.flags << " " << header.slab;
    if (is_simple && is_sound) ++simple;
  };
  const auto try_payloads = [&](MessageHeader header) {
    for (const std::uint32_t slab : slabs) {
      for (const std::uint32_t length : lengths) {
        for (const std::uint16_t flag : flags) {
          header.slab = slab;
          header.length = length;
          header.flags = flag;
          for (const std::uint64_t generation : {0, 1}) expect_same(header, generation);
        }
      }
    }
  };
  try_payloads(make_header(1));
  const auto with = [&](auto&& change) {
    MessageHeader header = make_header(1);
    change(header);
    try_payloads(header);
  };
  with([](MessageHeader& header) { header.id = make_message_id(kSenderPid + 1, 1); });
  with([](MessageHeader& header) { header.id = make_message_id(kSenderPid, 0); });
  with([](MessageHeader& header) { header.sent_ns = -1; });
  with([](MessageHeader& header) { header.sent_ns = 0; });
  with([](MessageHeader& header) { header.reply_to = 1; });
  with([](MessageHeader& header) { header.ttl_ms = 1; });
  with([](MessageHeader& header) { header.rank = -1; });
  with([](MessageHeader& header) { header.hops = 0xffff; });
  with([](MessageHeader& header) { header.type = 3; });
  with([](MessageHeader& header) { header.type = 4; });
  with([](MessageHeader& header) { header.channel = 3; });
  with([](MessageHeader& header) { header.channel = 4; });
  EXPECT_GT(simple, 50U) << "some of them are";
}

TEST_F(SlotFaults, EveryFlagThatNoSenderMaySetIsOne) {
  for (unsigned bit = 0; bit < 16; ++bit) {
    const auto flag = static_cast<std::uint16_t>(1U << bit);
    if ((flag & kWireFlags) != 0) continue;
    SlotCopy copy = inline_message(1);
    copy.header.flags = flag;
    EXPECT_EQ(check(copy), SlotFault::kBadFlags) << bit;
  }
}

TEST_F(SlotFaults, AFlagWithoutTheExtensionThatItNeedsIsOne) {
  for (const std::uint16_t flag : {kFlagCopy, kFlagCut, kFlagAck}) {
    SlotCopy copy = inline_message(1);
    copy.header.flags = flag;
    EXPECT_EQ(check(copy), SlotFault::kBadFlags) << flag;
    copy.header.flags |= kFlagExtended;
    EXPECT_EQ(check(copy), SlotFault::kNone) << flag;
  }
}

TEST_F(SlotFaults, ANegativeTimeIsOne) {
  SlotCopy copy = inline_message(1);
  copy.header.sent_ns = -1;
  EXPECT_EQ(check(copy), SlotFault::kBadTime);
  copy.header.sent_ns = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(check(copy), SlotFault::kBadTime);
}

TEST_F(SlotFaults, AStringBeyondTheVerifiedOnesIsOne) {
  verified_.strings = 3;
  SlotCopy copy = inline_message(1);
  copy.header.type = 3;
  copy.header.channel = 3;
  EXPECT_EQ(check(copy), SlotFault::kNone);
  copy.header.type = 4;
  EXPECT_EQ(check(copy), SlotFault::kBadString);
  copy.header.type = 0;
  copy.header.channel = 0xffff;
  EXPECT_EQ(check(copy), SlotFault::kBadString);
}

TEST_F(SlotFaults, AnInlineLengthBeyondTheSlotIsOne) {
  for (const std::uint32_t length : {65U, 128U, std::numeric_limits<std::uint32_t>::max()}) {
    SlotCopy copy = inline_message(1);
    copy.header.length = length;
    EXPECT_EQ(check(copy), SlotFault::kBadLength) << length;
  }
}

TEST_F(SlotFaults, AnInlineMessageThatNamesASlabIsOne) {
  SlotCopy copy = inline_message(1);
  copy.header.slab = 0;
  EXPECT_EQ(check(copy), SlotFault::kBadLength);
}

TEST_F(SlotFaults, ASlabThatIsNotThereIsOne) {
  EXPECT_EQ(check(slab_message(1, SlabIndex(layout_.total_slabs()), 1)), SlotFault::kBadSlab);
  EXPECT_EQ(check(slab_message(1, kNoSlab, 1)), SlotFault::kBadSlab);
  EXPECT_EQ(check(slab_message(1, SlabIndex(kNoSlab.value() - 1), 1)), SlotFault::kBadSlab);
  EXPECT_EQ(check(slab_message(1, SlabIndex(0), 0)), SlotFault::kBadSlab);
}

TEST_F(SlotFaults, ASlabBeyondTheVerifiedExtentIsOneInEveryClass) {
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    const SlabClass& slabs = layout_.classes[i];
    if (slabs.count == 0) continue;
    verified_.slabs[i] = 1;
    EXPECT_EQ(check(slab_message(1, SlabIndex(slabs.first), 1)), SlotFault::kNone) << i;
    EXPECT_EQ(check(slab_message(1, SlabIndex(slabs.first + 1), 1)), SlotFault::kBadSlab) << i;
  }
}

TEST_F(SlotFaults, ALengthBeyondItsSlabIsOneInEveryClass) {
  for (const SlabClass& slabs : layout_.classes) {
    if (slabs.count == 0) continue;
    const auto bytes = static_cast<std::uint32_t>(slabs.slab_bytes);
    EXPECT_EQ(check(slab_message(1, SlabIndex(slabs.first), 1, bytes)), SlotFault::kNone);
    EXPECT_EQ(check(slab_message(1, SlabIndex(slabs.first), 1, bytes + 1)), SlotFault::kBadLength);
  }
}

TEST_F(SlotFaults, EveryOneHasAText) {
  for (std::uint32_t i = 0; i <= static_cast<std::uint32_t>(SlotFault::kBadTime); ++i) {
    EXPECT_STRNE(to_string(static_cast<SlotFault>(i)), "unknown fault") << i;
  }
  EXPECT_STREQ(to_string(static_cast<SlotFault>(99)), "unknown fault");
}

TEST(LaneWriter, ANewLaneHasRoomForItsCapacityWithoutAReceipt) {
  LaneWriter writer;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(writer.has_space(8, nullptr));
    writer.advance();
  }
  EXPECT_FALSE(writer.has_space(8, nullptr));
}

TEST(LaneWriter, AReceiptGivesRoomBack) {
  LaneWriter writer;
  Atomic<std::uint64_t> receipt{0};
  for (int i = 0; i < 8; ++i) writer.advance();
  EXPECT_FALSE(writer.has_space(8, &receipt));
  receipt.publish(1);
  EXPECT_TRUE(writer.has_space(8, &receipt));
  writer.advance();
  EXPECT_FALSE(writer.has_space(8, &receipt));
}

TEST(LaneWriter, ItAsksForTheReceiptOnlyWhenItBelievesThatTheLaneIsFull) {
  LaneWriter writer;
  Atomic<std::uint64_t> receipt{1};
  writer.advance();
  EXPECT_TRUE(writer.has_space(8, &receipt));
  EXPECT_EQ(writer.cursor(), 0U);
}

TEST(LaneWriter, AReceiptThatLiesIsNotBelieved) {
  LaneWriter writer;
  writer.skip_to(100);
  for (int i = 0; i < 8; ++i) writer.advance();
  for (const std::uint64_t lie : {std::uint64_t{99}, std::uint64_t{0}, std::uint64_t{109}, kLast,
                                  std::uint64_t{104} + (std::uint64_t{1} << 63)}) {
    Atomic<std::uint64_t> receipt{lie};
    EXPECT_FALSE(writer.refresh(&receipt)) << lie;
    EXPECT_FALSE(writer.has_space(8, &receipt)) << lie;
    EXPECT_EQ(writer.cursor(), 100U);
    EXPECT_EQ(writer.tail(), 108U);
  }
}

TEST(LaneWriter, EveryReceiptBetweenCursorAndTailIsBelieved) {
  LaneWriter writer;
  writer.skip_to(100);
  for (int i = 0; i < 8; ++i) writer.advance();
  for (std::uint64_t taken = 100; taken <= 108; ++taken) {
    Atomic<std::uint64_t> receipt{taken};
    EXPECT_TRUE(writer.refresh(&receipt));
    EXPECT_EQ(writer.cursor(), taken);
  }
  EXPECT_FALSE(writer.lied_to());
}

TEST(LaneWriter, AReceiptThatMovesBackIsNotBelieved) {
  LaneWriter writer;
  for (int i = 0; i < 8; ++i) writer.advance();
  Atomic<std::uint64_t> receipt{5};
  EXPECT_TRUE(writer.refresh(&receipt));
  receipt.publish(4);
  EXPECT_FALSE(writer.refresh(&receipt));
  EXPECT_EQ(writer.cursor(), 5U);
  EXPECT_TRUE(writer.lied_to());
  writer.listen_to(&receipt, 8);
  EXPECT_FALSE(writer.lied_to());
}

TEST(LaneWriter, SlotsThatAnotherBankDoesNotCallTakenAreKeptForIt) {
  constexpr std::uint32_t kCapacity = 8;
  LaneWriter writer;
  for (std::uint32_t i = 0; i < kCapacity; ++i) writer.advance();
  Atomic<std::uint64_t> receipt{5};
  EXPECT_TRUE(writer.refresh(&receipt));
  Atomic<std::uint64_t> other{3};
  writer.listen_to(&other, kCapacity);
  EXPECT_EQ(writer.cursor(), 3U) << "whoever goes on there reads those slots again";
  other.publish(6);
  EXPECT_TRUE(writer.refresh(&other));
  EXPECT_EQ(writer.cursor(), 6U);
  other.publish(5);
  EXPECT_FALSE(writer.refresh(&other)) << "within a bank nothing is taken back";
  EXPECT_TRUE(writer.lied_to());
  for (int i = 0; i < 6; ++i) writer.advance();
  writer.listen_to(&other, kCapacity);
  EXPECT_EQ(writer.cursor(), 6U) << "the slot of the fifth holds a newer message";
  EXPECT_EQ(writer.tail() - writer.cursor(), kCapacity);
  EXPECT_FALSE(writer.lied_to());
}

TEST(LaneWriter, AnotherBankThatCannotBeChangesNothing) {
  LaneWriter writer;
  for (int i = 0; i < 8; ++i) writer.advance();
  Atomic<std::uint64_t> receipt{5};
  EXPECT_TRUE(writer.refresh(&receipt));
  writer.listen_to(nullptr, 8);
  EXPECT_EQ(writer.cursor(), 5U) << "nobody has said anything else yet";
  Atomic<std::uint64_t> beyond{9};
  writer.listen_to(&beyond, 8);
  EXPECT_EQ(writer.cursor(), 5U);
  EXPECT_TRUE(writer.lied_to());
}

TEST(Lane, ACommitNumberIsOfTheMessageOrOfOneThatWasTakenRoundsAgo) {
  constexpr std::uint32_t kCapacity = 8;
  constexpr std::uint64_t kPosition = 21;
  for (std::uint64_t commit = 0; commit < 64; ++commit) {
    const bool possible = commit == 0 || commit == 6 || commit == 14 || commit == 22;
    EXPECT_EQ(is_possible_commit(commit, kPosition, kCapacity), possible) << commit;
  }
  EXPECT_FALSE(is_possible_commit(~0ULL, kPosition, kCapacity));
  EXPECT_TRUE(is_possible_commit(0, 0, kCapacity));
  EXPECT_TRUE(is_possible_commit(1, 0, kCapacity));
  EXPECT_FALSE(is_possible_commit(2, 0, kCapacity));
}

TEST(Lane, ACommitNumberIsOfALaterMessageOnlyInTheSameSlot) {
  constexpr std::uint32_t kCapacity = 8;
  constexpr std::uint64_t kPosition = 21;
  for (std::uint64_t commit = 0; commit < 64; ++commit) {
    const bool later = commit == 30 || commit == 38 || commit == 46 || commit == 54 || commit == 62;
    EXPECT_EQ(is_later_commit(commit, kPosition, kCapacity), later) << commit;
  }
}

TEST(LaneWriter, PositionsPassThe32BitBoundary) {
  LaneWriter writer;
  writer.skip_to(0xffff'fffe);
  Atomic<std::uint64_t> receipt{0xffff'fffe};
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(writer.has_space(4, &receipt));
    writer.advance();
  }
  EXPECT_FALSE(writer.has_space(4, &receipt));
  receipt.publish(0x1'0000'0001);
  EXPECT_TRUE(writer.has_space(4, &receipt));
  EXPECT_EQ(writer.tail(), 0x1'0000'0002U);
}

TEST(Lane, EachLaneWrapsRoundItsOwnSlots) {
  test::LinkMemory memory;
  for (const Lane lane : {Lane::kNormal, Lane::kUrgent}) {
    const std::uint64_t capacity = memory.link.capacity(lane);
    EXPECT_EQ(&memory.link.slot(lane, 0), &memory.link.slot(lane, capacity));
    EXPECT_EQ(&memory.link.slot(lane, capacity - 1), &memory.link.slot(lane, kLast));
    EXPECT_NE(&memory.link.slot(lane, 0), &memory.link.slot(lane, 1));
  }
  EXPECT_NE(&memory.link.slot(Lane::kNormal, 0), &memory.link.slot(Lane::kUrgent, 0));
}

TEST(Lane, TheTailIsFoundFromTheSlotsAlone) {
  test::LinkMemory memory;
  const std::uint64_t start = 0xffff'fffd;
  EXPECT_EQ(published_from(memory.view, Lane::kNormal, start), 0U);
  for (std::uint64_t i = 0; i < 8; ++i) {
    publish_slot(memory.link.slot(Lane::kNormal, start + i), start + i, make_header(i + 1), 0,
                 kNoPayload);
    EXPECT_EQ(published_from(memory.view, Lane::kNormal, start), i + 1);
  }
  EXPECT_EQ(published_from(memory.view, Lane::kNormal, start + 5), 3U);
  EXPECT_EQ(published_from(memory.view, Lane::kNormal, start + 8), 0U);
  EXPECT_EQ(published_from(memory.view, Lane::kUrgent, start), 0U);
}

TEST(Lane, MessagesBehindAGapAreNotPublished) {
  test::LinkMemory memory;
  publish_slot(memory.link.slot(Lane::kUrgent, 0), 0, make_header(1), 0, kNoPayload);
  publish_slot(memory.link.slot(Lane::kUrgent, 2), 2, make_header(3), 0, kNoPayload);
  EXPECT_EQ(published_from(memory.view, Lane::kUrgent, 0), 1U);
}

TEST(Lane, OverwrittenMessagesAreSkippedByTheSlotsAlone) {
  test::LinkMemory memory;
  const auto publish = [&](std::uint64_t at) {
    publish_slot(memory.link.slot(Lane::kNormal, at), at, make_header(at + 1), 0, kNoPayload);
  };
  const auto skip = [&](std::uint64_t at, std::uint32_t most = 8) {
    return skip_overwritten(memory.view, Lane::kNormal, at, most);
  };
  EXPECT_EQ(skip(0), 0U) << "nothing was published";
  for (std::uint64_t at = 16; at < 24; ++at) publish(at);
  EXPECT_EQ(skip(16), 16U);
  EXPECT_EQ(skip(24), 24U);
  publish(24);
  publish(25);
  EXPECT_EQ(skip(16), 18U) << "the slots of 16 and 17 hold later ones";
  EXPECT_EQ(skip(3, 1), 12U) << "19 was sent when all before 12 was taken";
  EXPECT_EQ(skip(3), 18U);
  EXPECT_EQ(skip(16, 1), 17U) << "no more looks";
  memory.link.slot(Lane::kNormal, 17).commit.publish(12);
  EXPECT_EQ(skip(16), 17U) << "a number that does not belong there names no message";
}

}  // namespace
}  // namespace beeline::shm
