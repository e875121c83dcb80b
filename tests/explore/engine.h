#pragma once
// The accesses of src/send, src/receive, src/segment and src/control around the headers of shm/, in
// their order, without the private state of a process. Each function names the one that it stands
// for. The real sleeper (src/wake) runs as it is.

#include <bitset>
#include <cstring>

#include "shm/handover.h"
#include "shm/lane.h"
#include "shm/strings.h"
#include "src/wake/bell.h"
#include "src/wake/waiter.h"
#include "tests/explore/explorer.h"
#include "tests/explore/kernel.h"
#include "tests/explore/segments.h"

namespace beeline::explore {

inline constexpr std::int64_t kNever = INT64_MAX;

// A message of the scenarios: its number is its counter, and 8 bytes of payload repeat it.
[[nodiscard]] inline shm::MessageHeader message(std::uint64_t number) {
  shm::MessageHeader header{};
  header.id = shm::make_message_id(kPidA, number);
  header.sent_ns = static_cast<std::int64_t>(number);
  header.rank = shm::kRankNormal;
  header.length = 8;
  header.slab = shm::kNoSlab.value();
  return header;
}
[[nodiscard]] inline std::uint64_t payload_of(std::uint64_t number) { return number * 0x1111; }

// The sender's end of a link (send::OutLink, send::SendPath).
struct Sender {
  Sender(const shm::Link& link, const shm::LinkView& receipts) : own(link), opposite(receipts) {}

  shm::Link own;
  shm::LinkView opposite;  // holds the receipts
  wake::Bell bell;         // of the receiver; empty: nobody is rung
  std::size_t bank = 0;    // kBanks: it reads none
  shm::LaneWriter lanes[shm::kLanes];
  shm::SlabPool slabs{own.layout()};
  bool stamps_ready = false;
  const shm::Atomic<std::uint64_t>* place = nullptr;  // of the receiver; null: it has one life
  std::uint64_t known_word = 0;

  [[nodiscard]] const shm::Atomic<std::uint64_t>* receipt(shm::Lane lane) const {
    if (bank == shm::kBanks) return nullptr;
    return &opposite.bank(bank).cursors[static_cast<std::size_t>(lane)];
  }
  // OutLink::still_counts
  [[nodiscard]] bool still_counts() const {
    if (place == nullptr) return true;
    shm::full_fence();  // OutLink::still_counts
    return place->relaxed_load() == known_word;
  }
  // LaneWriter::refresh, as OutLink calls it. False: a receipt lies.
  bool refresh(shm::Lane lane) {
    return lanes[static_cast<std::size_t>(lane)].refresh(receipt(lane),
                                                         [this] { return still_counts(); });
  }
  // OutLink::has_space
  [[nodiscard]] bool has_space(shm::Lane lane) {
    return lanes[static_cast<std::size_t>(lane)].has_space(own.capacity(lane), receipt(lane),
                                                           [this] { return still_counts(); });
  }
  // OutLink::unread_slabs, of the normal lane
  [[nodiscard]] std::bitset<shm::kMaxSlabs> unread_slabs() const {
    std::bitset<shm::kMaxSlabs> unread;
    for (std::uint64_t at = lanes[0].cursor(); at < lanes[0].tail(); ++at) {
      const auto header = own.slot(shm::Lane::kNormal, at).header.load<shm::MessageHeader>();
      if ((header.flags & shm::kFlagSlab) != 0) unread.set(header.slab);
    }
    return unread;
  }
  // OutLink::collect_slabs, of a receiver that has had another life
  [[nodiscard]] bool collect_slabs(std::size_t slab_class) {
    if (!find_stamps()) return false;
    refresh(shm::Lane::kNormal);
    return slabs.collect(slab_class, opposite, bank, unread_slabs(),
                         [this] { return still_counts(); }) != 0;
  }
  // SendPath::put, then SendPath::publish without the directory
  void put(shm::Lane lane, const shm::MessageHeader& header, std::uint64_t generation,
           const void* area) {
    shm::LaneWriter& writer = lanes[static_cast<std::size_t>(lane)];
    shm::publish_slot(own.slot(lane, writer.tail()), writer.tail(), header, generation, area);
    writer.advance();
  }
  void send(shm::Lane lane, std::uint64_t number) {
    const std::uint64_t payload = payload_of(number);
    put(lane, message(number), 0, &payload);
    if (bell.page != nullptr) ring();
  }
  static void fence() {
    shm::full_fence();  // SendPath::publish
  }
  void ring() {
    fence();
    (void)wake::ring(bell, 0);
  }
  // SendPath::publish: whether the receiver is seen to be dead, so that its message may have been
  // left.
  [[nodiscard]] bool is_orphaned() const {
    fence();
    return shm::AgentWord::unpack(place->relaxed_load()).state == shm::AgentState::kDead;
  }
  // SendPath::want_space
  void want_space(bool wanted) {
    own.control().space.relaxed_store(wanted ? 1 : 0);
    if (wanted) shm::full_fence();  // SendPath::want_space
  }
  // OutLink::find_stamps
  [[nodiscard]] bool find_stamps() {
    if (!stamps_ready && bank != shm::kBanks) {
      stamps_ready = opposite.bank(bank).stamps_ready.observe() != 0;
    }
    return stamps_ready;
  }
};

// The receiver's end (receive::InLink, receive::Receiver).
struct Receiver {
  Receiver(const shm::LinkView& lanes, const shm::Link& link) : in(lanes), own(link) {}

  shm::LinkView in;
  shm::Link own;    // its own link to the sender, where its receipts go
  wake::Bell bell;  // of the sender; empty: nobody is rung
  std::size_t bank = 0;
  std::uint64_t position[shm::kLanes] = {0, 0};

  // LaneReader::has_message
  [[nodiscard]] bool has_message(shm::Lane lane) const {
    const std::uint64_t at = position[static_cast<std::size_t>(lane)];
    return shm::is_published(in.slot(lane, at), at);
  }
  [[nodiscard]] bool has_message() const {
    return has_message(shm::Lane::kUrgent) || has_message(shm::Lane::kNormal);
  }
  // Intake::put_next, without the inbox
  [[nodiscard]] shm::SlotCopy take(shm::Lane lane) {
    std::uint64_t& at = position[static_cast<std::size_t>(lane)];
    shm::SlotCopy copy{};
    shm::copy_slot(in.slot(lane, at), copy);
    ++at;
    return copy;
  }
  // Entries::commit, the receipt
  void commit(shm::Lane lane) {
    const auto index = static_cast<std::size_t>(lane);
    own.bank(bank).cursors[index].publish(position[index]);
  }
  // SpaceRings::ring_for_space
  void ring_for_space() {
    shm::full_fence();  // SpaceRings::ring_for_space
    if (in.control().space.relaxed_load() != 0) (void)wake::ring(bell, 0);
  }
  // shm::stamp, then SpaceRings::ring_after_stamp where more messages are there
  void finish(shm::SlabIndex slab, std::uint64_t generation) {
    shm::stamp(own.stamp(bank, slab), generation);
    if (in.control().space.relaxed_load() != 0) ring_stamped();
  }
  // SpaceRings::ring_all_stamped
  void ring_stamped() {
    shm::full_fence();  // SpaceRings::ring_all_stamped
    if (in.control().space.relaxed_load() != 0) (void)wake::ring(bell, 0);
  }
  // Drain::next_in_order
  [[nodiscard]] shm::Lane next_in_order() const {
    bool normal = has_message(shm::Lane::kNormal);
    const bool urgent = has_message(shm::Lane::kUrgent);
    if (!urgent) return shm::Lane::kNormal;
    if (!normal) normal = has_message(shm::Lane::kNormal);
    if (!normal) return shm::Lane::kUrgent;
    const auto number_at = [this](shm::Lane lane) {
      const std::uint64_t at = position[static_cast<std::size_t>(lane)];
      return shm::counter_of_message(in.slot(lane, at).header.words[0].relaxed_load());
    };
    return number_at(shm::Lane::kNormal) < number_at(shm::Lane::kUrgent) ? shm::Lane::kNormal
                                                                         : shm::Lane::kUrgent;
  }
  // ensure_stamps, without the memory
  void ensure_stamps() const {
    shm::ReceiptBank& receipts = own.bank(bank);
    if (receipts.stamps_ready.relaxed_load() != 0) return;
    for (shm::SlabIndex slab(0); slab.value() < 2; ++slab) own.stamp(bank, slab).relaxed_store(0);
    receipts.stamps_ready.publish(1);
  }
};

// Hive::announce: the coordinator queues a packet on a socket, then rings.
inline void tell(shm::Atomic<std::uint64_t>& socket, const shm::StatusPage& page, int event_fd) {
  send_packet(socket);
  (void)wake::fence_and_ring(page, event_fd);  // Hive::ring
}

// TakeoverWorker::begin, after the word of the finally dead agent
inline void begin_takeover() {
  shm::full_fence();  // TakeoverWorker::begin
}

// segment::Foreign::accept
[[nodiscard]] inline bool is_ready(const shm::SegmentHeader& header) {
  return header.ready.observe() == 1;
}

// HomeMemory::set_ready
inline void set_ready(const shm::Home& home) { home.header().ready.publish(1); }

// OldHome::accept: a successor that was told that it is starting begins to read.
inline void begin_to_read() {
  shm::full_fence();  // OldHome::accept
}

// A successor reads its predecessor's receipts, then its row: receive::read_receipts, with the
// stamps of as many slabs as there are. Returns the bank.
inline std::size_t read_receipts(const shm::LinkView& receipts, shm::InheritedLink& link,
                                 std::uint32_t slabs = 1) {
  const std::size_t bank = receipts.find_bank(link.key);
  if (bank == shm::kBanks) return bank;
  if (receipts.bank(bank).stamps_ready.relaxed_load() != 0) {
    for (shm::SlabIndex slab(0); slab.value() < slabs; ++slab) {
      shm::copy_stamp(receipts, bank, slab, link);
    }
    link.has_stamps = true;
  }
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    link.receipts[lane] = receipts.bank(bank).cursors[lane].observe();
  }
  return bank;
}
// OldHome::read_row
[[nodiscard]] inline bool read_row(const shm::HomeView& old, shm::InheritedLink& link) {
  for (shm::RowIndex i(0); i.value() < old.rows_allocated(); ++i) {
    const shm::InRow& row = old.row(i);
    const shm::Incarnation incarnation(row.incarnation.observe());
    if (shm::LinkKey{incarnation, row.serial.relaxed_load()} != link.key) continue;
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      link.cursors[lane] = row.cursors[lane].observe();
    }
    return true;
  }
  return false;
}

// receive::inherit_late_stamps, from the reading of `receipts` above into the first bank of `own`.
inline void inherit_late_stamps(const shm::LinkView& receipts, std::size_t bank,
                                const shm::InheritedLink& link, std::uint32_t slabs,
                                const Receiver& own) {
  if (!link.has_stamps && receipts.bank(bank).stamps_ready.relaxed_load() == 0) return;
  for (shm::SlabIndex slab(0); slab.value() < slabs; ++slab) {
    const std::uint64_t late = shm::late_stamp(receipts, bank, slab, link);
    if (late == 0) continue;
    own.ensure_stamps();
    shm::stamp(own.own.stamp(own.bank, slab), late);
  }
}

// A user's epoll on the fd of an agent.
inline void wait_outside(int event_fd) {
  (void)os::wait_readable(event_fd, std::chrono::nanoseconds::max());
}

// Whether a message arrived as it was sent.
inline void check_message(const shm::SlotCopy& copy, std::uint64_t number) {
  std::uint64_t payload = 0;
  std::memcpy(&payload, copy.inline_payload(), 8);
  check(shm::counter_of_message(copy.header.id) == number, "a message is lost, or comes twice");
  check(copy.header.sent_ns == static_cast<std::int64_t>(number), "a header is torn");
  check(payload == payload_of(number), "a payload is torn");
}

}  // namespace beeline::explore
