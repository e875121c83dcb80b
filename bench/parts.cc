#include "bench/parts.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>

#include "bench/histogram.h"
#include "shm/directory.h"
#include "shm/handover.h"
#include "shm/inbox.h"
#include "shm/lane.h"
#include "shm/status.h"
#include "shm/verify.h"
#include "src/os/clock.h"
#include "src/wake/bell.h"

namespace beeline::bench {
namespace {

using shm::Lane;

constexpr std::uint32_t kOwner = 7;
constexpr std::uint32_t kReader = 9;
constexpr shm::LinkKey kKey{shm::Incarnation(1'000), 1};
constexpr shm::LinkContract kContract{shm::kDefaultNormalSlots, shm::kDefaultUrgentSlots,
                                      shm::kMinMaxPayload};
constexpr std::uint32_t kAgents = 1000;
// As in real traffic, few are critical.
constexpr std::array<std::int32_t, 8> kMixedRanks{2, 1, 2, 3, 2, 0, 2, 3};

// Zeroed memory that stands for a segment.
class Segment {
 public:
  explicit Segment(std::uint64_t bytes)
      : bytes_(bytes), base_(static_cast<std::byte*>(std::aligned_alloc(shm::kPage, bytes))) {
    if (base_ == nullptr) throw std::bad_alloc();
    std::memset(base_.get(), 0, bytes);
  }
  [[nodiscard]] std::byte* base() const { return base_.get(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {base_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, Free> base_;
};

struct LinkSegment {
  Segment memory{shm::LinkLayout(kContract).bytes};
  shm::Link link{memory.base(), kContract, shm::WholeLink{}};
  shm::LinkView view{memory.base(), kContract, shm::WholeLink{}};

  LinkSegment() { shm::init_link(link, shm::link_identity(kContract, kOwner, kReader, kKey)); }
};

// An inbox of its own, with room for twice its messages.
struct InboxSegment {
  std::uint32_t capacity;
  Segment memory;
  shm::Home home;
  std::vector<shm::EntryIndex> free_stack;

  explicit InboxSegment(std::size_t depth)
      : capacity(std::bit_ceil(static_cast<std::uint32_t>(2 * depth))),
        memory(shm::HomeLayout(capacity).bytes),
        home(memory.base(), capacity),
        free_stack(capacity) {
    shm::HomeOptions options;
    options.capacity = capacity;
    shm::init_home(home, options, kReader, kKey.incarnation + 1);
    home.control().rows_allocated.publish(shm::kRowStep);
    home.control().index.size = capacity;
    shm::open_row(home.row(shm::RowIndex(0)), kKey, kOwner, 0, 0);
  }
};

shm::MessageHeader header_of(std::uint64_t number) {
  shm::MessageHeader header{};
  header.id = shm::make_message_id(kOwner, number + 1);
  header.sent_ns = static_cast<std::int64_t>(100 * (number + 1));
  header.rank = kMixedRanks[number % kMixedRanks.size()];
  header.length = shm::kInlineBytes;
  header.slab = shm::kNoSlab.value();
  return header;
}

// ---- The basic operations -----------------------------------------------------------------------

void copy_slot_bytes(benchmark::State& state) {
  alignas(128) std::array<unsigned char, 128> from{};
  alignas(128) std::array<unsigned char, 128> to;
  for (auto _ : state) {
    benchmark::DoNotOptimize(from.data());
    std::memcpy(to.data(), from.data(), to.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
}

void fence(benchmark::State& state) {
  for (auto _ : state) shm::full_fence();
}

void read_coarse_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(os::coarse_ns());
}

void read_ticks(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(os::ticks());
}

// ---- The way of a message -----------------------------------------------------------------------

// One message of 64 bytes into a lane, out of it, checked, and the receipt for it.
void pass_lane(benchmark::State& state) {
  const LinkSegment sender;
  const LinkSegment receiver;
  shm::Atomic<std::uint64_t>& receipt = receiver.link.bank(0).cursors[0];
  const std::uint32_t capacity = sender.link.capacity(Lane::kNormal);
  const std::array<unsigned char, shm::kInlineBytes> payload{};
  const shm::VerifiedExtents verified;
  shm::LaneWriter writer;
  for (auto _ : state) {
    const std::uint64_t position = writer.tail();
    if (!writer.has_space(capacity, &receipt)) return state.SkipWithError("the lane is full");
    shm::publish_slot(sender.link.slot(Lane::kNormal, position), position, header_of(position), 0,
                      payload.data());
    writer.advance();
    const shm::Slot& slot = sender.view.slot(Lane::kNormal, position);
    if (!shm::is_published(slot, position)) return state.SkipWithError("nothing was published");
    shm::SlotCopy copy;
    shm::copy_slot(slot, copy);
    benchmark::DoNotOptimize(copy);
    if (shm::check_slot(copy, kOwner, sender.view.layout(), verified) != shm::SlotFault::kNone) {
      return state.SkipWithError("the slot is not sound");
    }
    receipt.publish(position + 1);
  }
}

// The work of a send to an awake receiver, besides the slot.
void ring_awake(benchmark::State& state) {
  const Segment page(shm::kPage);
  wake::Bell bell{reinterpret_cast<const shm::StatusPage*>(page.base()), -1};
  for (auto _ : state) {
    shm::full_fence();
    benchmark::DoNotOptimize(wake::ring(bell, 0));
  }
}

// Takes a slab, sends it, lets the receiver stamp it, and finds it free again once no other one
// is.
void pass_slab(benchmark::State& state) {
  const LinkSegment receiver;
  const shm::LinkLayout layout(kContract);
  shm::SlabPool pool(layout);
  pool.set_allocated(0, layout.classes[0].count);
  for (auto _ : state) {
    shm::SlabPool::Loan loan = pool.take(0);
    if (loan.slab == shm::kNoSlab) {
      pool.collect(0, receiver.view, 0);
      loan = pool.take(0);
    }
    if (loan.slab == shm::kNoSlab) return state.SkipWithError("no slab became free");
    pool.mark_out(loan);
    shm::stamp(receiver.link.stamp(0, loan.slab), loan.generation);
  }
}

// One message into an inbox that holds `depth` others, the next one leased and finished.
void pass_inbox(benchmark::State& state, std::size_t depth) {
  InboxSegment segment(depth);
  shm::Inbox inbox(segment.home, segment.free_stack);
  inbox.add_entries(0, segment.capacity);
  shm::Slot slot{};
  std::uint64_t number = 0;
  const auto put = [&] {
    const shm::MessageHeader header = header_of(number);
    slot.header.store(shm::to_words(header));
    inbox.put_simple(shm::HeaderWords(slot), slot, shm::RowIndex(0), Lane::kNormal, number,
                     header.sent_ns, header.rank);
    inbox.commit(shm::RowIndex(0), Lane::kNormal, ++number);
  };
  while (number < depth) put();
  for (auto _ : state) {
    put();
    inbox.done(inbox.take_best(), nullptr);
  }
  if (inbox.queued() != depth) state.SkipWithError("a message is missing in the inbox");
}

// One node into an order index that holds `depth` others of any order, and the first one out.
void pass_index(benchmark::State& state, std::size_t depth) {
  const std::size_t size = std::bit_ceil(2 * depth);
  std::vector<shm::IndexNode> run(size);
  std::vector<shm::IndexNode> heap(size);
  shm::IndexControl control{0, 0, 0, size};
  shm::OrderIndex index(control, run.data(), heap.data());
  std::minstd_rand random;
  std::uint64_t number = 0;
  // Keys rise like those of messages, and jump by ranks.
  const auto push = [&] {
    const auto key = static_cast<std::int64_t>(number + random() % (2 * depth));
    index.push(
        shm::make_node(key, number, shm::EntryIndex(static_cast<std::uint32_t>(number % size))));
    ++number;
  };
  while (number < depth) push();
  for (auto _ : state) {
    push();
    benchmark::DoNotOptimize(index.front());
    index.pop_front();
  }
}

// ---- Directory and checks -----------------------------------------------------------------------

class Directory {
 public:
  Directory() : records_(kAgents) {
    for (std::uint32_t i = 0; i < kAgents; ++i) {
      records_[i].pid = i + 1;
      writer_.set_word(i, {kKey.incarnation + i, shm::AgentState::kRunning});
    }
    writer_.set_agent_count(kAgents);
    writer_.publish(records_.data(), kAgents);
  }
  [[nodiscard]] shm::DirectoryView view() const { return writer_.view(); }

 private:
  Segment memory_{shm::DirectoryLayout::kBytes};
  shm::DirectoryWriter writer_{memory_.base(), 1, kContract.max_payload_bytes, 1};
  std::vector<shm::AgentRecord> records_;
};

void read_word(benchmark::State& state) {
  const Directory directory;
  std::uint32_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(directory.view().agent(at));
    at = at + 1 < kAgents ? at + 1 : 0;
  }
}

void read_record(benchmark::State& state) {
  const Directory directory;
  std::uint32_t at = 0;
  for (auto _ : state) {
    shm::AgentRecord record;
    if (!directory.view().read_record(at, record) || record.pid != at + 1) {
      return state.SkipWithError("the record is another one");
    }
    at = at + 1 < kAgents ? at + 1 : 0;
  }
}

void verify_link(benchmark::State& state) {
  const LinkSegment segment;
  for (auto _ : state) {
    if (shm::verify_segment(segment.memory.bytes())) return state.SkipWithError("it is not sound");
  }
}

void record_duration(benchmark::State& state) {
  const auto histogram = std::make_unique<Histogram>();
  std::int64_t value = 0;
  for (auto _ : state) histogram->record(value = (value + 37) % 100'000);
  benchmark::DoNotOptimize(histogram->count());
}

}  // namespace

std::vector<Part> all_parts() {
  std::vector<Part> parts{
      {"copy 128 bytes", 0, copy_slot_bytes}, {"full fence", 0, fence},
      {"coarse clock", 0, read_coarse_clock}, {"ticks", 0, read_ticks},
      {"lane: publish, take", 0, pass_lane},  {"fence, ring the awake", 0, ring_awake},
      {"slab: take, free", 0, pass_slab}};
  for (const std::size_t depth : {10U, 1000U, 100'000U}) {
    parts.push_back({"inbox: put, take, done", depth,
                     [depth](benchmark::State& state) { pass_inbox(state, depth); }});
  }
  for (const std::size_t depth : {1000U, 100'000U}) {
    parts.push_back({"index: push, pop", depth,
                     [depth](benchmark::State& state) { pass_index(state, depth); }});
  }
  parts.push_back({"directory: word", kAgents, read_word});
  parts.push_back({"directory: record", kAgents, read_record});
  parts.push_back({"verify a link", 0, verify_link});
  parts.push_back({"histogram: record", 0, record_duration});
  return parts;
}

}  // namespace beeline::bench
