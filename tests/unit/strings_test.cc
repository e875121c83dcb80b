#include "shm/strings.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

TEST(Strings, NumbersStartAtOneAndRise) {
  const test::LinkMemory memory;
  EXPECT_EQ(append_string(memory.link, "task"), 1U);
  EXPECT_EQ(append_string(memory.link, "result"), 2U);
  EXPECT_EQ(memory.view.control().string_count.observe(), 2U);
  EXPECT_EQ(read_string(memory.view, 1).view(), "task");
  EXPECT_EQ(read_string(memory.view, 2).view(), "result");
}

TEST(Strings, NumberZeroIsTheEmptyString) {
  const test::LinkMemory memory;
  append_string(memory.link, "task");
  EXPECT_EQ(read_string(memory.view, 0).view(), "");
}

TEST(Strings, EveryLengthThatFitsComesBack) {
  const test::LinkMemory memory;
  for (std::size_t length = 0; length <= kMaxStringLength; ++length) {
    const std::string text(length, static_cast<char>('a' + length % 26));
    const std::uint32_t number = append_string(memory.link, text);
    ASSERT_NE(number, 0U);
    EXPECT_EQ(read_string(memory.view, number).view(), text);
  }
}

TEST(Strings, ALongerTextIsRefusedAndChangesNothing) {
  const test::LinkMemory memory;
  EXPECT_EQ(append_string(memory.link, std::string(kMaxStringLength + 1, 'x')), 0U);
  EXPECT_EQ(memory.view.control().string_count.observe(), 0U);
}

TEST(Strings, AFullTableRefusesAndStaysInsideItsSection) {
  const test::LinkMemory memory;
  for (std::uint32_t i = 1; i <= kMaxStrings; ++i) {
    ASSERT_EQ(append_string(memory.link, std::to_string(i)), i);
  }
  EXPECT_EQ(append_string(memory.link, "one too many"), 0U);
  EXPECT_EQ(read_string(memory.view, kMaxStrings).view(), "255");
  EXPECT_EQ(memory.view.stamp(0, SlabIndex(0)).observe(), 0U) << "the stamps lie right behind";
}

TEST(Strings, ALyingLengthIsCutToTheField) {
  const test::LinkMemory memory;
  append_string(memory.link, "task");
  for (const int length : {32, 100, 255}) {
    *reinterpret_cast<unsigned char*>(&memory.link.string(1)) = static_cast<unsigned char>(length);
    const StringCopy copy = read_string(memory.view, 1);
    EXPECT_EQ(copy.view().size(), kMaxStringLength);
    EXPECT_EQ(copy.view().substr(0, 4), "task");
  }
}

TEST(Strings, AStringThatWasWrittenButNotCountedIsReplaced) {
  const test::LinkMemory memory;
  StringCopy torn;
  torn.length = 31;
  memory.link.string(1).store(torn);  // killed before the count was raised
  EXPECT_EQ(append_string(memory.link, "whole"), 1U);
  EXPECT_EQ(read_string(memory.view, 1).view(), "whole");
}

TEST(Strings, CarriedTextsLieAtTheEndOfTheirSlabAndAreCutToTheirFields) {
  const test::LinkMemory memory;
  const std::string longest(kMaxStringLength, 'x');
  const std::uint32_t last = memory.link.layout().total_slabs() - 1;
  for (const SlabIndex slab : {SlabIndex(0), SlabIndex(1), SlabIndex(last)}) {
    carry_texts(memory.link, slab, longest, "");
    const CarriedTexts texts = read_carried(memory.view, slab);
    EXPECT_EQ(texts.type.view(), longest);
    EXPECT_EQ(texts.channel.view(), "");
    EXPECT_EQ(memory.link.carried(slab) + kCarriedBytes,
              memory.link.slab(slab) +
                  memory.link.layout().classes[memory.link.layout().class_of(slab)].slab_bytes);
  }
  *memory.link.carried(SlabIndex(0)) = std::byte{255};
  EXPECT_EQ(read_carried(memory.view, SlabIndex(0)).type.view(), longest);
}

}  // namespace
}  // namespace beeline::shm
