// Loss of power at each sync of the disk, a full disk, a disk that can only be read: KO-003,
// KO-017, KO-021, C-11, C-36.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "src/buffer/ledger.h"
#include "src/buffer/writer.h"
#include "src/os/event_fd.h"
#include "tests/buffer/test_disk.h"
#include "tests/support/soak.h"

namespace beeline::buffer {
namespace {

constexpr int kMessages = 16;
// So many that SQLite copies its journal into the file in between.
constexpr std::size_t kPayloadBytes = 300'000;

Put message_of(int key) {
  return {.channel = "a",
          .conversation = "c" + std::to_string(key % 3),
          .payload = std::string(kPayloadBytes, static_cast<char>('a' + key)),
          .key = std::to_string(key)};
}

// A life of a buffer, as its clients saw it.
struct Life {
  std::map<int, RowId> answered{};
  std::set<RowId> acknowledged{};
  std::set<RowId> in_doubt{};  // of a batch whose end was not answered

  // False when a call failed.
  bool live(Ledger& ledger) {
    for (int key = 0; key < kMessages; ++key) {
      const auto put = ledger.change(message_of(key));
      if (!put) return false;
      answered[key] = std::get<PutAnswer>(*put).id;
      if (key % 4 == 3 && !work(ledger)) return false;
    }
    return true;
  }
  bool work(Ledger& ledger) {
    if (!ledger.change(RouteStep{})) return false;
    const auto next = ledger.change(NextBatch{"main"});
    if (!next) return false;
    const auto& batch = std::get<std::optional<Batch>>(*next);
    for (const Message& one : batch->messages) in_doubt.insert(one.id);
    if (!ledger.change(AckBatch{batch->id})) return false;
    acknowledged.merge(in_doubt);
    return true;
  }
};

void check_after_loss(Ledger& ledger, const Life& life) {
  for (const auto& [key, id] : life.answered) {
    const auto again = ledger.change(message_of(key));
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_TRUE(std::get<PutAnswer>(*again).is_repeat);
    EXPECT_EQ(std::get<PutAnswer>(*again).id, id);
  }
  ASSERT_TRUE(ledger.change(GiveBack{}));
  ASSERT_TRUE(ledger.change(RouteStep{}));
  std::set<RowId> seen;
  for (;;) {
    auto next = ledger.change(NextBatch{"main"});
    ASSERT_TRUE(next) << next.error().text;
    const auto& batch = std::get<std::optional<Batch>>(*next);
    if (!batch) break;
    for (const Message& one : batch->messages) {
      EXPECT_TRUE(seen.insert(one.id).second);
      EXPECT_FALSE(life.acknowledged.contains(one.id));
      EXPECT_EQ(one.payload.size(), kPayloadBytes);
    }
  }
  for (const auto& [key, id] : life.answered) {
    EXPECT_TRUE(seen.contains(id) || life.acknowledged.contains(id) || life.in_doubt.contains(id))
        << "message " << id << " was answered, and did not come out";
    const auto row = ledger.queries().message(id);
    ASSERT_TRUE(row && *row);
    EXPECT_EQ((*row)->payload, message_of(key).payload);
  }
}

// True if the power went off before the life was over.
bool lives_through_loss_at(std::uint64_t sync, std::uint32_t seed) {
  TestDisk disk("power-" + std::to_string(sync) + "-" + std::to_string(seed));
  const auto open = [&] { return Ledger::open({.path = "/buffer.db", .vfs = disk.name()}); };
  disk.lose_power_at(sync);
  Life life;
  if (auto ledger = open()) (void)life.live(**ledger);
  const bool was_lost = !disk.has_power();
  disk.restore_power(seed);
  auto ledger = open();
  EXPECT_TRUE(ledger) << ledger.error().text;
  if (ledger) check_after_loss(**ledger, life);
  return was_lost;
}

TEST(BufferPowerLoss, NoSyncLosesAnAnsweredMessage) {  // KO-003, KO-017, KO-021, C-11, C-36
  const std::uint32_t seeds = test::is_soak() ? 15 : test::is_brief() ? 1 : 2;
  std::uint64_t sync = 0;
  bool was_lost = true;
  while (was_lost && !testing::Test::HasFailure()) {
    ++sync;
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
      was_lost = lives_through_loss_at(sync, seed);
      if (testing::Test::HasFailure()) std::printf("sync %lu, seed %u\n", sync, seed);
    }
  }
  EXPECT_GT(sync, static_cast<std::uint64_t>(kMessages + 12));
}

TEST(BufferPowerLoss, AFullDiskIsSaidAndLosesNothing) {
  TestDisk disk("full");
  auto ledger = Ledger::open({.path = "/buffer.db", .vfs = disk.name()});
  ASSERT_TRUE(ledger) << ledger.error().text;
  auto writer = Writer::start(std::move(*ledger));
  ASSERT_TRUE(writer);
  const auto ask = [&](Request request) {
    auto order = std::make_unique<Order>(Order{.request = std::move(request)});
    EXPECT_TRUE((*writer)->submit(order));
    for (;;) {
      if (auto done = (*writer)->take()) return done;
      (void)os::wait_readable((*writer)->fd(), std::chrono::nanoseconds::max());
    }
  };
  Life life;
  for (int key = 0; key < 8; ++key) {
    disk.set_full(key % 2 == 1);
    const auto order = ask(message_of(key));
    EXPECT_EQ(order->answer.has_value(), key % 2 == 0);
    if (order->answer) {
      life.answered[key] = std::get<PutAnswer>(*order->answer).id;
    } else {
      EXPECT_EQ(order->answer.error().code, ErrorCode::kFull);
      EXPECT_NE(order->answer.error().text.find("free some space"), std::string::npos);
    }
  }
  disk.set_full(false);
  EXPECT_EQ(std::get<PutAnswer>(*ask(message_of(1))->answer).id, 5) << "rows without gaps";
  writer->reset();
  auto again = Ledger::open({.path = "/buffer.db", .vfs = disk.name()});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->open_messages(), 5U);
  check_after_loss(**again, life);
}

TEST(BufferPowerLoss, ALargeOrderThatFillsTheDiskDoesNotHarmItsNeighbours) {
  TestDisk disk("large");
  auto ledger = Ledger::open({.path = "/buffer.db", .vfs = disk.name()});
  ASSERT_TRUE(ledger);
  // The journal has room for small orders, since SQLite writes it from its begin again.
  for (int key = 0; key < kMessages; ++key) ASSERT_TRUE((*ledger)->change(message_of(key)));
  disk.set_full(true);
  auto writer = Writer::start(std::move(*ledger));
  ASSERT_TRUE(writer);
  Put large = message_of(0);
  large.key = "large";
  large.payload = std::string(8 << 20, 'x');
  int full = 0;
  for (int i = 0; i < 10; ++i) {
    auto order = std::make_unique<Order>();
    order->request = i == 4 ? large : Put{.channel = "a", .key = "small" + std::to_string(i)};
    ASSERT_TRUE((*writer)->submit(order));
  }
  while ((*writer)->pending() != 0) {
    (void)os::wait_readable((*writer)->fd(), std::chrono::nanoseconds::max());
    while (const auto order = (*writer)->take()) {
      if (order->answer) continue;
      EXPECT_EQ(std::get<Put>(order->request).key, "large");
      ++full;
    }
  }
  EXPECT_EQ(full, 1);
}

TEST(BufferPowerLoss, ADiskThatCanOnlyBeReadIsSaid) {
  TestDisk disk("read-only");
  { ASSERT_TRUE(Ledger::open({.path = "/buffer.db", .vfs = disk.name()})); }
  disk.set_read_only(true);
  const auto ledger = Ledger::open({.path = "/buffer.db", .vfs = disk.name()});
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().code, ErrorCode::kSystem);
  EXPECT_EQ(ledger.error().sys_errno, EROFS);
  EXPECT_NE(ledger.error().text.find("can only be read"), std::string::npos);
}

}  // namespace
}  // namespace beeline::buffer
