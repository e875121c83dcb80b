#include "shm/ids.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <unordered_set>

#include "shm/slot.h"
#include "src/agent/link_slot.h"

namespace beeline::shm {
namespace {

// The compiler refuses an id or a number where an id of another kind belongs.
static_assert(!std::is_convertible_v<RowIndex, EntryIndex>);
static_assert(!std::is_constructible_v<EntryIndex, RowIndex>);
static_assert(!std::is_constructible_v<EntryIndex, SlabIndex>);
static_assert(!std::is_constructible_v<SlabIndex, EntryIndex>);
static_assert(!std::is_constructible_v<RowIndex, SlabIndex>);
static_assert(!std::is_constructible_v<LinkSlot, RowIndex>);
static_assert(!std::is_constructible_v<LinkSlot, SlabIndex>);
static_assert(!std::is_constructible_v<Incarnation, EntryIndex>);
static_assert(!std::is_convertible_v<std::uint64_t, Incarnation>);
static_assert(!std::is_convertible_v<Incarnation, std::uint64_t>);
static_assert(!std::is_convertible_v<std::uint32_t, EntryIndex>);
static_assert(!std::is_convertible_v<EntryIndex, std::uint32_t>);
static_assert(!std::is_invocable_v<std::equal_to<>, EntryIndex, RowIndex>);
static_assert(!std::is_invocable_v<std::equal_to<>, EntryIndex, SlabIndex>);
// An id costs what its number costs, and travels in a register.
static_assert(sizeof(EntryIndex) == sizeof(std::uint32_t));
static_assert(sizeof(RowIndex) == sizeof(std::uint16_t));
static_assert(sizeof(SlabIndex) == sizeof(std::uint32_t));
static_assert(sizeof(Incarnation) == sizeof(std::uint64_t));
static_assert(std::is_trivially_copyable_v<EntryIndex>);

TEST(Ids, AnIdIsOrderedAndFoundByItsNumber) {
  EXPECT_EQ(EntryIndex(3).value(), 3U);
  EXPECT_LT(EntryIndex(3), EntryIndex(4));
  EXPECT_EQ(EntryIndex(), EntryIndex(0));
  EntryIndex at(3);
  EXPECT_EQ(++at, EntryIndex(4));
  EXPECT_EQ(at + 3, EntryIndex(7));
  EXPECT_TRUE((std::unordered_set{EntryIndex(3), EntryIndex(7)}).contains(EntryIndex(7)));
}

TEST(Ids, TheSlabOfAMessageIsTheNumberInItsHeader) {
  MessageHeader header{};
  header.slab = 7;
  EXPECT_EQ(slab_of(header), SlabIndex(7));
  header.slab = kNoSlab.value();
  EXPECT_EQ(slab_of(header), kNoSlab);
}

}  // namespace
}  // namespace beeline::shm
