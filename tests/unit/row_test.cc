// Rows of a home: they count the taken messages of each link, and closing one never changes the
// sum.

#include <gtest/gtest.h>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::kInKey;
using test::kSenderPid;

TEST(Row, KilledBeforeItsNameIsStoredItCountsNothing) {
  const test::HomeMemory memory;
  InRow& row = memory.home.row(RowIndex(0));
  row.cursors[0].relaxed_store(100);
  row.cursors[1].relaxed_store(5);
  row.serial.relaxed_store(1);
  row.owner_pid.relaxed_store(kSenderPid);
  EXPECT_EQ(drained_total(memory.view), 0U);
  row.incarnation.publish(kInKey.incarnation.value());
  EXPECT_EQ(drained_total(memory.view), 105U);
}

TEST(Row, OpenRowsOfBothLanesAndClosedOnesAddUp) {
  const test::HomeMemory memory;
  for (std::uint16_t i = 0; i < kRowStep; ++i) {
    open_row(memory.home.row(RowIndex(i)), {kInKey.incarnation, i + 1U}, kSenderPid, i, 1);
  }
  constexpr std::uint64_t kSum = kRowStep * (kRowStep - 1) / 2 + kRowStep;
  EXPECT_EQ(drained_total(memory.view), kSum);
  for (std::uint16_t i = 0; i < kRowStep; ++i) {
    close_row(memory.home.control(), memory.home.row(RowIndex(i)));
    EXPECT_EQ(drained_total(memory.view), kSum);
    EXPECT_EQ(memory.view.row(RowIndex(i)).incarnation.observe(), 0U);
    EXPECT_EQ(memory.view.row(RowIndex(i)).retired.observe(), 0U);
  }
  EXPECT_EQ(memory.view.control().retired.observe(), kSum);
}

TEST(Row, AClosedRowIsUsedAgainForAnotherLink) {
  const test::HomeMemory memory;
  InRow& row = memory.home.row(RowIndex(0));
  for (std::uint32_t i = 0; i < 10; ++i) {
    open_row(row, {kInKey.incarnation, i + 1}, kSenderPid, 0, 0);
    row.cursors[0].publish(7);
    EXPECT_EQ(drained_total(memory.view), (i + 1) * 7);
    close_row(memory.home.control(), row);
    EXPECT_EQ(drained_total(memory.view), (i + 1) * 7);
  }
}

// The stores of close_row(), one by one.
constexpr int kCloseStores = 4;
void close_until(HomeControl& control, InRow& row, int stores) {
  const std::uint64_t total = control.retired.relaxed_load() + taken_from(row);
  if (stores > 0) row.retired.relaxed_store(total);
  if (stores > 1) control.retired.publish(total);
  if (stores > 2) row.incarnation.publish(0);
  if (stores > 3) row.retired.publish(0);
}

struct KilledClose {
  std::uint64_t retired_before;
  std::uint64_t normal;
  std::uint64_t urgent;
  std::uint64_t other_row;
};

class KilledInCloseRow : public testing::TestWithParam<KilledClose> {
 protected:
  static void set_up(const test::HomeMemory& memory) {
    const KilledClose& state = GetParam();
    memory.home.control().retired.publish(state.retired_before);
    open_row(memory.home.row(RowIndex(0)), kInKey, kSenderPid, state.normal, state.urgent);
    open_row(memory.home.row(RowIndex(1)), {kInKey.incarnation, 2}, kSenderPid, state.other_row, 0);
  }
};

TEST_P(KilledInCloseRow, TheRowCountsExactlyOnceAfterEveryStore) {
  for (int stores = 0; stores <= kCloseStores; ++stores) {
    const test::HomeMemory memory;
    set_up(memory);
    const std::uint64_t before = drained_total(memory.view);
    close_until(memory.home.control(), memory.home.row(RowIndex(0)), stores);
    EXPECT_EQ(drained_total(memory.view), before) << "killed after store " << stores;
  }
}

TEST_P(KilledInCloseRow, TheStoresAboveAreThoseOfCloseRow) {
  const test::HomeMemory ours;
  const test::HomeMemory theirs;
  set_up(ours);
  set_up(theirs);
  close_until(ours.home.control(), ours.home.row(RowIndex(0)), kCloseStores);
  close_row(theirs.home.control(), theirs.home.row(RowIndex(0)));
  EXPECT_EQ(std::memcmp(ours.memory.base(), theirs.memory.base(), ours.memory.bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(States, KilledInCloseRow,
                         testing::Values(KilledClose{0, 0, 0, 0}, KilledClose{0, 5, 0, 0},
                                         KilledClose{0, 0, 5, 7}, KilledClose{9, 0, 0, 7},
                                         KilledClose{9, 5, 6, 7}, KilledClose{5, 5, 0, 5},
                                         KilledClose{0xffff'fffe, 3, 0, 1},
                                         KilledClose{1, 0x1'0000'0000, 2, 0}));

TEST(Row, TheTotalIsTheSameForOneKilledWhileClosingAnother) {
  // Row 0 was closed by a predecessor in this state; row 1 was interrupted in the middle.
  const test::HomeMemory memory;
  open_row(memory.home.row(RowIndex(0)), kInKey, kSenderPid, 5, 0);
  open_row(memory.home.row(RowIndex(1)), {kInKey.incarnation, 2}, kSenderPid, 5, 0);
  close_row(memory.home.control(), memory.home.row(RowIndex(0)));
  close_until(memory.home.control(), memory.home.row(RowIndex(1)), 2);
  EXPECT_EQ(drained_total(memory.view), 10U);
}

}  // namespace
}  // namespace beeline::shm
