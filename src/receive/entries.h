#pragma once
// The messages in the table of an agent, with the links through which they came.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "src/receive/home_memory.h"
#include "src/receive/in_links.h"
#include "src/receive/receipts.h"

namespace beeline::receive {

// The type of a message as its receiver names it.
struct TypeText {
  char text[kSiblingTraffic.size() + shm::kMaxStringLength];
  unsigned char length = 0;
  [[nodiscard]] std::string_view view() const { return {text, length}; }
};

class Entries {
 public:
  explicit Entries(std::unique_ptr<HomeMemory> home) : home_(std::move(home)) {}

  [[nodiscard]] HomeMemory& home() { return *home_; }
  [[nodiscard]] const HomeMemory& home() const { return *home_; }
  [[nodiscard]] const shm::Home& table() const { return home_->home(); }
  [[nodiscard]] shm::Inbox& inbox() { return home_->inbox(); }
  [[nodiscard]] const shm::Inbox& inbox() const { return home_->inbox(); }
  [[nodiscard]] shm::HomeControl& control() const { return home_->home().control(); }
  [[nodiscard]] InLinks& links() { return links_; }
  [[nodiscard]] const InLinks& links() const { return links_; }

  // ---- Look ----
  [[nodiscard]] const shm::Entry& entry(shm::EntryIndex at) const {
    return home_->home().entry(at);
  }
  [[nodiscard]] std::span<const std::byte> payload(shm::EntryIndex at) const {
    const shm::Entry& found = entry(at);
    if (found.in_slab()) return slab_payload(at);
    return {reinterpret_cast<const std::byte*>(found.inline_payload()), found.header.length};
  }
  [[nodiscard]] std::uint32_t sender_of(shm::EntryIndex at) const {
    return shm::pid_of_message(entry(at).header.id);
  }
  // Empty where it is not known; stays where it is for as long as the entry is kept.
  [[nodiscard]] std::string_view sender_name(shm::EntryIndex at) const;
  [[nodiscard]] TypeText type(shm::EntryIndex at) const;
  // The same without the mark of a copy.
  [[nodiscard]] shm::StringCopy own_type(shm::EntryIndex at) const;
  [[nodiscard]] shm::StringCopy channel(shm::EntryIndex at) const;
  // The link through which it came; null when that is gone.
  [[nodiscard]] InLink* link_of(shm::EntryIndex at) const {
    return links_.of_row(entry(at).word().row);
  }
  // Its sender does not want the message any more. REQUIRES: it is leased.
  [[nodiscard]] bool is_cancelled(shm::EntryIndex at) const {
    return entry(at).reason() == shm::DeadReason::kCancelled;
  }
  // The dead letter of this id, or kNoEntry.
  [[nodiscard]] shm::EntryIndex find_dead(std::uint64_t id) const;
  [[nodiscard]] std::uint32_t most_attempts() const { return control().max_attempts; }
  // None of the reasons for which a message is not handed out can hold.
  [[nodiscard]] bool is_surely_fit(const shm::Entry& entry) const {
    const shm::MessageHeader& header = entry.header;
    return !is_copy(header) && header.ttl_ms == 0 && entry.word().attempts == 0 &&
           header.hops <= home_->home().control().max_hops;
  }
  // Asks for the payload of the message that is next in the order.
  void prefetch_next_payload() const;

  // ---- A lane ----
  // The messages of the lane up to its position are in the table: says so to the successor, then
  // to the sender.
  void commit(InLink& link, shm::Lane lane);
  [[nodiscard]] SpaceRings& rings() { return rings_; }
  // A link in which its owner wrote something impossible: nothing more is taken from it. `fault`
  // names it, and lives for ever.
  void quarantine(InLink& link, const char* fault);

  // ---- The end of an entry ----
  // Finishes a lease.
  void done(shm::EntryIndex at);
  // The same for one of many: a sender that waits for its slab may be left to a later call. The
  // caller drains before it blocks.
  void done_of_many(shm::EntryIndex at);
  // Lets a dead letter go.
  void purge_dead(shm::EntryIndex at);
  // Lets go of a copy of somebody else's message. REQUIRES: it is leased.
  void drop_copy(shm::EntryIndex at);

 private:
  // Payloads up to this size lie in classes of more than kStampsPerFence slabs.
  static constexpr std::uint32_t kManySlabsBytes = 8U << 10;
  static_assert(shm::slab_classes({})[2].count > kStampsPerFence);

  static void add_one(shm::Atomic<std::uint64_t>& counter) {
    counter.relaxed_store(counter.relaxed_load() + 1);
  }
  [[nodiscard]] std::span<const std::byte> slab_payload(shm::EntryIndex at) const;
  [[nodiscard]] shm::StringCopy string_of(shm::EntryIndex at, std::uint16_t number,
                                          shm::StringCopy shm::CarriedTexts::*carried) const;
  [[nodiscard]] shm::Atomic<std::uint64_t>* stamp_word(shm::EntryIndex at);

  std::unique_ptr<HomeMemory> home_;
  InLinks links_;
  SpaceRings rings_;
};

// ---- Steps of every message, inlined into their callers
// ------------------------------------------

[[gnu::always_inline]] inline void Entries::commit(InLink& link, shm::Lane lane) {
  home_->inbox().commit(link.row(), lane, link.position(lane));
  publish_receipt(link, lane);
  if (lane == shm::Lane::kUrgent) links_.watch_urgent(link);
}

[[gnu::always_inline]] inline void Entries::done_of_many(shm::EntryIndex at) {
  const shm::Entry& finished = entry(at);
  const shm::RowIndex row = finished.word().row;
  const std::uint32_t length = finished.header.length;
  shm::Atomic<std::uint64_t>* stamp = finished.in_slab() ? stamp_word(at) : nullptr;
  shm::Inbox& inbox = home_->inbox();
  inbox.done(at, stamp);
  links_.unrefer(row);
  if (stamp == nullptr) return;
  // A sender may wait for a slab as it waits for a slot.
  const bool has_more = inbox.queued() + inbox.leased() != 0;
  rings_.ring_after_stamp(*links_.of_row(row), has_more && length <= kManySlabsBytes);
}

}  // namespace beeline::receive
