#include "shm/link.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::kInKey;
using test::kSmallContract;

// Contracts at the ends of every range, and the default.
std::vector<LinkContract> contracts() {
  return {{},
          {1, 1, kMinMaxPayload},
          {kMaxLaneSlots, kMaxLaneSlots, kMaxMaxPayload},
          {128, 16, (512ULL << 10) + 1},
          {8, 64, 4ULL << 20},
          kSmallContract};
}

TEST(LinkContract, LegalOnesHaveNoError) {
  for (const LinkContract& contract : contracts()) EXPECT_EQ(contract_error(contract), nullptr);
}

TEST(LinkContract, EveryNumberOutOfItsRangeIsNamed) {
  for (const std::uint32_t slots : {0U, 3U, 127U, kMaxLaneSlots * 2, 0xffffffffU}) {
    EXPECT_NE(contract_error({slots, 16, kDefaultMaxPayload}), nullptr) << slots;
    EXPECT_NE(contract_error({128, slots, kDefaultMaxPayload}), nullptr) << slots;
  }
  for (const std::uint64_t bytes : {std::uint64_t{0}, kMinMaxPayload - 1, kMaxMaxPayload + 1}) {
    EXPECT_NE(contract_error({128, 16, bytes}), nullptr) << bytes;
  }
}

TEST(LinkLayout, SectionsFollowEachOtherWithoutOverlap) {
  for (const LinkContract& contract : contracts()) {
    const LinkLayout layout(contract);
    EXPECT_EQ(layout.control, sizeof(SegmentHeader));
    EXPECT_EQ(layout.banks, layout.control + sizeof(LinkControl));
    EXPECT_EQ(layout.urgent, layout.banks + kBanks * sizeof(ReceiptBank));
    EXPECT_GE(layout.normal, layout.urgent + contract.urgent_slots * sizeof(Slot));
    EXPECT_GE(layout.strings, layout.normal + contract.normal_slots * sizeof(Slot));
    EXPECT_EQ(layout.first_extent, layout.strings);
    EXPECT_EQ(layout.stamps, layout.strings + LinkLayout::kStringsBytes);
    std::uint64_t end = layout.stamps + LinkLayout::kStampsBytes;
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      EXPECT_EQ(layout.slabs[i] % kPage, 0U);
      EXPECT_GE(layout.slabs[i], end);
      end = layout.slabs[i] + layout.classes[i].count * layout.classes[i].slab_bytes;
    }
    EXPECT_GE(layout.bytes, end);
    EXPECT_EQ(layout.bytes % kPage, 0U);
  }
}

TEST(LinkLayout, EverySlabLiesInItsClassAndInTheSegment) {
  for (const LinkContract& contract : contracts()) {
    const LinkLayout layout(contract);
    ASSERT_LE(layout.total_slabs(), kMaxSlabs);
    std::uint64_t end = 0;
    for (SlabIndex slab(0); slab.value() < layout.total_slabs(); ++slab) {
      const std::size_t slab_class = layout.class_of(slab);
      ASSERT_LT(slab_class, kSlabClasses);
      EXPECT_GE(slab.value(), layout.classes[slab_class].first);
      EXPECT_LT(slab.value(), layout.classes[slab_class].first + layout.classes[slab_class].count);
      EXPECT_GE(layout.slab_offset(slab), end) << "slabs overlap";
      end = layout.slab_offset(slab) + layout.classes[slab_class].slab_bytes;
    }
    EXPECT_LE(end, layout.bytes);
  }
}

TEST(LinkLayout, TheLargestPayloadAlwaysHasTwoSlabsAndNoClassIsLarger) {
  for (const LinkContract& contract : contracts()) {
    const auto classes = slab_classes(contract);
    EXPECT_GE(classes[kSlabClasses - 1].slab_bytes, contract.max_payload_bytes);
    EXPECT_EQ(classes[kSlabClasses - 1].count, 2U);
    for (std::size_t i = 0; i + 1 < kSlabClasses; ++i) {
      if (classes[i].count == 0) continue;
      EXPECT_LT(classes[i].slab_bytes, classes[kSlabClasses - 1].slab_bytes);
    }
  }
}

TEST(LinkLayout, NoPayloadTakesMoreThanEightTimesItsMemory) {
  for (const LinkContract& contract : contracts()) {
    std::uint64_t below = 128;
    for (const SlabClass& of : slab_classes(contract)) {
      if (of.count == 0) continue;
      EXPECT_LE(of.slab_bytes, 8 * below + kPage);
      below = of.slab_bytes;
    }
  }
}

TEST(LinkLayout, EverySlabLiesInOneWindowAndEachWindowIsThere) {
  for (const LinkContract& contract : contracts()) {
    const LinkLayout layout(contract);
    std::uint64_t end = layout.first_part();
    std::optional<std::uint32_t> last;
    for (SlabIndex slab(0); slab.value() < layout.total_slabs(); ++slab) {
      const Window window = layout.window_of(slab);
      ASSERT_LT(window.number, kMaxWindows);
      EXPECT_GE(layout.slab_offset(slab), window.offset);
      EXPECT_LE(layout.slab_offset(slab) + layout.classes[layout.class_of(slab)].slab_bytes,
                window.offset + window.bytes);
      if (window.number == last) continue;
      EXPECT_TRUE(!last || window.number > *last);
      last = window.number;
      EXPECT_GE(window.offset, end) << "windows overlap";
      EXPECT_EQ(window.offset % kPage, 0U);
      EXPECT_EQ(window.bytes % kPage, 0U);
      end = window.offset + window.bytes;
    }
    EXPECT_EQ(end, layout.bytes);
  }
}

TEST(LinkLayout, StampsOfABankFollowThoseOfTheBankBefore) {
  test::LinkMemory memory;
  for (std::size_t bank = 0; bank < kBanks; ++bank) {
    for (const std::uint32_t slab : {0U, 1U, kMaxSlabs - 1}) {
      memory.link.stamp(bank, SlabIndex(slab)).publish(bank * 1000 + slab);
    }
  }
  for (std::size_t bank = 0; bank < kBanks; ++bank) {
    for (const std::uint32_t slab : {0U, 1U, kMaxSlabs - 1}) {
      EXPECT_EQ(memory.view.stamp(bank, SlabIndex(slab)).observe(), bank * 1000 + slab);
    }
  }
}

TEST(Link, AFreshLinkIsReadyAndMatchesItsContract) {
  test::LinkMemory memory;
  const SegmentIdentity promised = link_identity(kSmallContract, 7, 9, kInKey);
  init_link(memory.link, promised);
  const SegmentHeader& header = memory.view.header();
  EXPECT_EQ(check_header(header, memory.memory.bytes(), promised), HeaderVerdict::kOk);
  EXPECT_EQ(header.ready.observe(), 1U);
  EXPECT_EQ(header.section_count, 6 + kSlabClasses);
  for (std::uint32_t i = 0; i < header.section_count; ++i) {
    const Section& section = header.sections[i];
    EXPECT_LE(section.offset + section.count * section.stride, memory.memory.bytes()) << i;
  }
}

TEST(Link, ZeroMeansNoReceiptsNoStringsNoSlabs) {
  const test::LinkMemory memory;
  EXPECT_EQ(memory.view.find_bank(kInKey), kBanks);
  EXPECT_EQ(memory.view.control().string_count.observe(), 0U);
  for (const auto& slabs : memory.view.control().slabs_allocated) EXPECT_EQ(slabs.observe(), 0U);
}

TEST(ReceiptBank, ItIsFoundOnlyUnderItsWholeName) {
  test::LinkMemory memory;
  ASSERT_EQ(vacant_bank(memory.link), 0U);
  open_bank(memory.link.bank(0), kInKey, 11, 22);
  EXPECT_EQ(memory.view.find_bank(kInKey), 0U);
  EXPECT_EQ(memory.view.find_bank({kInKey.incarnation, kInKey.serial + 1}), kBanks);
  EXPECT_EQ(memory.view.find_bank({kInKey.incarnation + 1, kInKey.serial}), kBanks);
  EXPECT_EQ(memory.view.bank(0).cursors[0].observe(), 11U);
  EXPECT_EQ(memory.view.bank(0).cursors[1].observe(), 22U);
}

TEST(ReceiptBank, KilledBeforeItsNameIsStoredItIsVacant) {
  test::LinkMemory memory;
  ReceiptBank& bank = memory.link.bank(0);
  bank.cursors[0].relaxed_store(11);
  bank.cursors[1].relaxed_store(22);
  EXPECT_EQ(memory.view.find_bank(kInKey), kBanks);
  bank.serial.relaxed_store(kInKey.serial);
  EXPECT_EQ(memory.view.find_bank(kInKey), kBanks);
  EXPECT_EQ(vacant_bank(memory.link), 0U);
}

TEST(ReceiptBank, SeveralLivesOfAPeerHaveOneEachUntilAllAreTaken) {
  test::LinkMemory memory;
  for (std::uint32_t i = 0; i < kBanks; ++i) {
    ASSERT_EQ(vacant_bank(memory.link), i);
    open_bank(memory.link.bank(i), {shm::Incarnation(100 + i), 1}, i, 0);
  }
  EXPECT_EQ(vacant_bank(memory.link), kBanks);
  for (std::uint32_t i = 0; i < kBanks; ++i)
    EXPECT_EQ(memory.view.find_bank({shm::Incarnation(100 + i), 1}), i);
}

TEST(ReceiptBank, AClosedOneIsVacantAndItsStampsCountNoMore) {
  test::LinkMemory memory;
  open_bank(memory.link.bank(0), kInKey, 0, 0);
  open_bank(memory.link.bank(1), {kInKey.incarnation, 2}, 0, 0);
  memory.link.bank(0).stamps_ready.publish(1);
  close_bank(memory.link.bank(0));
  EXPECT_EQ(memory.view.find_bank(kInKey), kBanks);
  EXPECT_EQ(memory.view.bank(0).stamps_ready.observe(), 0U);
  EXPECT_EQ(vacant_bank(memory.link), 0U);
  EXPECT_EQ(memory.view.find_bank({kInKey.incarnation, 2}), 1U);
}

}  // namespace
}  // namespace beeline::shm
