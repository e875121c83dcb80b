// The two ends of a link as two threads over one mapping, and the directory with three readers.
// Every message determines its own contents. Run under the thread sanitizer, this also proves that
// commit and stamp alone order the plain memory of the slabs.
//
// The threads meet only in the segments: a counter that both touch would order memory that the
// protocol must order.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "shm/directory.h"
#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::kInKey;
using test::kSenderPid;

constexpr std::uint64_t kMessages = 300'000;
constexpr LinkContract kContract{128, 16, kMinMaxPayload};
constexpr std::size_t kBank = 0;
constexpr std::uint32_t kSlabsOfAClass = 8;

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// The contents of message `counter`, computed by both ends.
struct Expected {
  Lane lane;
  std::uint32_t length;
  std::int32_t rank;

  explicit Expected(std::uint64_t counter) {
    const std::uint64_t dice = mix(counter);
    lane = dice % 16 == 0 ? Lane::kUrgent : Lane::kNormal;
    rank = static_cast<std::int32_t>(dice >> 32);
    const std::uint64_t size = dice >> 8;
    switch (dice >> 4 & 15) {
      case 0:
        length = static_cast<std::uint32_t>(size % 4096);
        break;
      case 1:
      case 2:
        length = static_cast<std::uint32_t>(size % 600);
        break;
      default:
        length = static_cast<std::uint32_t>(size % (kInlineBytes + 1));
        break;
    }
    if (counter % 4096 == 0) length = kMinMaxPayload;
  }
  [[nodiscard]] bool in_slab() const { return length > kInlineBytes; }
};

// Payloads are written and checked by plain words, because GCC's thread sanitizer does not see its
// replacements of memcpy and memcmp. `words` has room for the whole last word.
void fill(std::uint64_t* words, std::uint64_t counter, std::size_t length) {
  for (std::size_t i = 0; i < (length + 7) / 8; ++i) words[i] = mix(counter + (i << 32));
}

bool holds(const std::uint64_t* words, std::uint64_t counter, std::size_t length) {
  for (std::size_t i = 0; i < length / 8; ++i) {
    if (words[i] != mix(counter + (i << 32))) return false;
  }
  const std::size_t rest = length % 8;
  if (rest == 0) return true;
  const std::uint64_t difference = words[length / 8] ^ mix(counter + (length / 8 << 32));
  return difference << (64 - 8 * rest) == 0;
}

using InlineWords = std::array<std::uint64_t, kInlineBytes / 8>;

// Both links of a pair, and the word by which a failed end stops the other.
struct Pair {
  test::LinkMemory to_receiver{kContract};
  test::LinkMemory to_sender{kContract};
  std::atomic<bool> failed{false};

  [[nodiscard]] bool going() const { return !failed.load(std::memory_order_relaxed); }
  void fail(const char* what, std::uint64_t counter) {
    if (!failed.exchange(true, std::memory_order_relaxed)) {
      ADD_FAILURE() << what << ", message " << counter;
    }
  }
};

class Sender {
 public:
  explicit Sender(Pair& pair) : pair_(pair), pool_(LinkLayout(kContract)) {
    const LinkLayout& layout = pair.to_receiver.link.layout();
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      // Few slabs, so that most are written again as soon as their stamp is seen.
      pool_.set_allocated(i, std::min(layout.classes[i].count, kSlabsOfAClass));
    }
  }

  void run() {
    for (std::uint64_t counter = 1; counter <= kMessages && pair_.going(); ++counter) {
      send(counter, Expected(counter));
    }
    while (pool_.out() != 0 && pair_.going()) {
      collect();
      std::this_thread::yield();
    }
  }

 private:
  void send(std::uint64_t counter, const Expected& expected) {
    SlabPool::Loan loan;
    InlineWords payload{};
    MessageHeader header = test::make_header(counter, expected.length);
    header.rank = expected.rank;
    if (expected.in_slab()) {
      loan = take_slab(expected.length);
      if (loan.slab == kNoSlab) return;
      fill(reinterpret_cast<std::uint64_t*>(link().slab(loan.slab)), counter, expected.length);
      header.flags = kFlagSlab;
      header.slab = loan.slab.value();
    } else {
      fill(payload.data(), counter, expected.length);
    }
    LaneWriter& lane = lanes_[static_cast<std::size_t>(expected.lane)];
    if (!wait_for_space(lane, expected.lane, counter)) return;
    publish_slot(link().slot(expected.lane, lane.tail()), lane.tail(), header, loan.generation,
                 payload.data());
    lane.advance();
    if (expected.in_slab()) pool_.mark_out(loan);
  }

  SlabPool::Loan take_slab(std::uint32_t length) {
    const std::size_t slab_class = pool_.class_for(length);
    SlabPool::Loan loan = pool_.take(slab_class);
    while (loan.slab == kNoSlab && pair_.going()) {
      if (collect() == 0) std::this_thread::yield();
      loan = pool_.take(slab_class);
    }
    return loan;
  }

  bool wait_for_space(LaneWriter& writer, Lane lane, std::uint64_t counter) {
    const auto& receipt = pair_.to_sender.view.bank(kBank).cursors[static_cast<std::size_t>(lane)];
    while (!writer.has_space(link().capacity(lane), &receipt)) {
      if (!pair_.going()) return false;
      if (!writer.refresh(&receipt)) pair_.fail("the receipt lies", counter);
      std::this_thread::yield();
    }
    return true;
  }

  std::uint32_t collect() {
    std::uint32_t freed = 0;
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      freed += pool_.collect(i, pair_.to_sender.view, kBank);
    }
    return freed;
  }
  [[nodiscard]] const Link& link() const { return pair_.to_receiver.link; }

  Pair& pair_;
  SlabPool pool_;
  LaneWriter lanes_[kLanes];
};

class Receiver {
 public:
  explicit Receiver(Pair& pair) : pair_(pair) {}

  void run() {
    while (received_ < kMessages && pair_.going()) {
      const std::uint64_t before = received_;
      drain(Lane::kUrgent, 16);
      drain(Lane::kNormal, 32);
      if (received_ != before) continue;
      // The sender may be waiting for a slab that this end holds.
      if (!held_.empty()) finish_one();
      std::this_thread::yield();
    }
    while (!held_.empty()) finish_one();
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  void drain(Lane lane, int budget) {
    const auto index = static_cast<std::size_t>(lane);
    const std::uint64_t start = cursors_[index];
    while (budget-- > 0 && pair_.going()) {
      const Slot& slot = link().slot(lane, cursors_[index]);
      if (!is_published(slot, cursors_[index])) break;
      SlotCopy copy{};
      copy_slot(slot, copy);
      take(lane, copy);
      ++cursors_[index];
    }
    if (cursors_[index] == start) return;
    // SYNC(lane.receipt): release, pairs with LaneWriter::refresh().
    pair_.to_sender.link.bank(kBank).cursors[index].publish(cursors_[index]);
  }

  void take(Lane lane, const SlotCopy& copy) {
    const std::uint64_t counter = counter_of_message(copy.header.id);
    const SlotFault fault = check_slot(copy, kSenderPid, link().layout(), verified_);
    if (fault != SlotFault::kNone) return pair_.fail(to_string(fault), counter);
    // Each lane is in order; messages of the other lane in between are skipped.
    std::uint64_t& last = last_[static_cast<std::size_t>(lane)];
    do {
      ++last;
    } while (last <= kMessages && Expected(last).lane != lane);
    if (last != counter) return pair_.fail("lost, repeated or out of order", counter);
    const Expected expected(counter);
    if (copy.header.length != expected.length || copy.header.rank != expected.rank ||
        ((copy.header.flags & kFlagSlab) != 0) != expected.in_slab()) {
      return pair_.fail("the header is torn", counter);
    }
    InlineWords inlined;
    std::memcpy(inlined.data(), copy.payload, kInlineBytes);
    const std::uint64_t* payload = expected.in_slab() ? slab(slab_of(copy.header)) : inlined.data();
    if (!holds(payload, counter, expected.length)) return pair_.fail("torn payload", counter);
    if (expected.in_slab()) {
      held_.push_back({slab_of(copy.header), copy.generation, counter, expected.length});
      while (held_.size() > dice_() % 24) finish_one();
    }
    ++received_;
  }

  // Finishes a random held message, after one more check that its slab was not reused.
  void finish_one() {
    std::swap(held_[dice_() % held_.size()], held_.back());
    const Held held = held_.back();
    held_.pop_back();
    if (!holds(slab(held.slab), held.counter, held.length)) {
      pair_.fail("a slab was written while it was held", held.counter);
    }
    stamp(pair_.to_sender.link.stamp(kBank, held.slab), held.generation);
  }
  [[nodiscard]] const LinkView& link() const { return pair_.to_receiver.view; }
  [[nodiscard]] const std::uint64_t* slab(SlabIndex number) const {
    return reinterpret_cast<const std::uint64_t*>(link().slab(number));
  }

  struct Held {
    SlabIndex slab;
    std::uint64_t generation;
    std::uint64_t counter;
    std::uint32_t length;
  };
  Pair& pair_;
  VerifiedExtents verified_ = test::verify_all(LinkLayout(kContract));
  std::uint64_t cursors_[kLanes]{};
  std::uint64_t last_[kLanes]{};
  std::vector<Held> held_;
  std::mt19937 dice_{1};
  std::uint64_t received_ = 0;
};

TEST(LaneStress, EveryMessageOfBothLanesArrivesOnceInOrderAndWhole) {
  Pair pair;
  open_bank(pair.to_sender.link.bank(kBank), kInKey, 0, 0);
  pair.to_sender.link.bank(kBank).stamps_ready.publish(1);
  Sender sender(pair);
  Receiver receiver(pair);
  std::thread sending([&] { sender.run(); });
  std::thread receiving([&] { receiver.run(); });
  sending.join();
  receiving.join();
  EXPECT_EQ(receiver.received(), kMessages);
  EXPECT_FALSE(pair.failed.load());
}

// Few records, so that the writer returns to a buffer while a reader copies it.
constexpr std::uint32_t kRecords = 2;
#ifdef BEELINE_TSAN
constexpr std::uint64_t kRounds = 60'000;
#else
constexpr std::uint64_t kRounds = 600'000;
#endif

AgentRecord record_of(std::uint64_t round, std::uint32_t index) {
  AgentRecord record;
  std::uint64_t words[sizeof(record) / 8];
  fill(words, round * kRecords + index, sizeof(words));
  std::memcpy(&record, words, sizeof(record));
  record.restarts = round;
  return record;
}

void write_directory(DirectoryWriter& writer) {
  std::vector<AgentRecord> records(kRecords);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (std::uint32_t i = 0; i < kRecords; ++i) records[i] = record_of(round, i);
    writer.publish(records.data(), kRecords);
    for (std::uint32_t i = 0; i < kRecords; ++i)
      writer.set_word(i, {shm::Incarnation(round), AgentState::kRunning});
    writer.set_agent_count(kRecords);
  }
}

// Reads until the last round; returns the last round that it saw, 0 after a torn record.
std::uint64_t read_directory(const DirectoryView& view) {
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; last < kRounds; i = (i + 1) % kRecords) {
    const std::uint64_t named = view.agent(i).incarnation.value();
    AgentRecord record;
    if (!view.read_record(i, record)) continue;
    if (record.pid == 0 && record.restarts == 0 && last == 0) {  // nothing was published yet
      std::this_thread::yield();
      continue;
    }
    const AgentRecord expected = record_of(record.restarts, i);
    if (std::memcmp(&record, &expected, sizeof(record)) != 0) return 0;
    // Stores before the change of the word are seen after it, and no round goes back.
    if (record.restarts < named || record.restarts < last) return 0;
    last = record.restarts;
  }
  return last;
}

TEST(DirectoryStress, RecordsAreNeverTornAndNeverGoBackForThreeReaders) {
  test::Memory memory(DirectoryLayout::kBytes);
  DirectoryWriter writer(memory.base(), 1, kDefaultMaxPayload, 0);
  const DirectoryView view = writer.view();
  std::uint64_t last[3]{};
  std::vector<std::thread> readers;
  for (auto& result : last) {
    readers.emplace_back([&view, &result] { result = read_directory(view); });
  }
  std::thread writing([&] { write_directory(writer); });
  writing.join();
  for (auto& reader : readers) reader.join();
  for (const std::uint64_t round : last) EXPECT_EQ(round, kRounds);
}

}  // namespace
}  // namespace beeline::shm
