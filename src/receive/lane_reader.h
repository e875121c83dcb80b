#pragma once
// The lanes of a link that another agent owns, and how far this agent has read them.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <beeline/types.h>

#include "shm/lane.h"
#include "shm/strings.h"
#include "src/segment/foreign.h"

namespace beeline::receive {

// The types that the engine acts on.
enum class KnownType : std::uint8_t { kOther, kEscalation, kCancel, kTaskResponse };

// The text of the fault for Extents::kLie.
inline constexpr const char* kLieAboutMemory = "it announces memory that it has not allocated";

enum class Extents : std::uint8_t {
  kVerified,
  kNotNow,  // this process or the machine lacks the memory or the descriptors
  kLie,     // the owner has announced memory that it has not allocated
};

class LaneReader {
 public:
  LaneReader(segment::Foreign segment, const shm::LinkContract& contract)
      : memory_(std::move(segment)), view_(memory_.data(), contract) {}

  // ---- The memory ----
  [[nodiscard]] const shm::LinkView& view() const { return view_; }
  [[nodiscard]] const segment::Foreign& memory() const { return memory_; }
  // The memory of the owner that is known to be there.
  [[nodiscard]] const shm::VerifiedExtents& verified() const { return verified_; }
  // Looks whether the owner has announced more memory since, and verifies it.
  [[nodiscard]] Extents verify_extents();

  // ---- The next message ----
  [[nodiscard]] std::uint64_t position(shm::Lane lane) const {
    return position_[static_cast<std::size_t>(lane)];
  }
  // The slot of the next message of the lane.
  [[nodiscard]] const shm::Slot& next_slot(shm::Lane lane) const {
    return view_.slot(lane, position(lane));
  }
  // The next message was taken.
  void advance(shm::Lane lane) { ++position_[static_cast<std::size_t>(lane)]; }
  // All messages before this position were taken, by this life or another.
  void move_to(shm::Lane lane, std::uint64_t next) {
    position_[static_cast<std::size_t>(lane)] = next;
  }
  // True when a message waits in the lane.
  [[nodiscard]] bool has_message(shm::Lane lane) const {
    const std::uint64_t at = position(lane);
    return shm::is_published(view_.slot(lane, at), at);
  }
  [[nodiscard]] bool has_message() const {
    return has_message(shm::Lane::kUrgent) || has_message(shm::Lane::kNormal);
  }
  // REQUIRES: a message waits in the ordinary lane. True when it is alone in both.
  [[nodiscard]] bool has_one_alone() const {
    const std::uint64_t next = position(shm::Lane::kNormal) + 1;
    return !shm::is_published(view_.slot(shm::Lane::kNormal, next), next) &&
           !has_message(shm::Lane::kUrgent);
  }
  // Asks for the payload of the next ordinary message, together with its header
  // (docs/cache-lines.md, Prefetch distances).
  void prefetch_payload() const { shm::prefetch(next_slot(shm::Lane::kNormal).payload); }
  // Asks for both lines of the slot that is so many places behind the next one.
  void prefetch_slot(shm::Lane lane, std::uint32_t ahead) const {
    const shm::Slot& slot = view_.slot(lane, position(lane) + ahead);
    shm::prefetch(slot);
    shm::prefetch(slot.payload);
  }
  // Asks for the lines of a payload in a slab, where they are few. REQUIRES: slab and length were
  // checked.
  [[gnu::noinline]] void prefetch_slab(shm::SlabIndex slab, std::uint32_t length) const {
    if (length > shm::kBytesAhead) return;
    const std::byte* const lines = view_.slab(slab);
    for (std::uint32_t at = 0; at < length; at += shm::kCacheLine) shm::prefetch(lines[at]);
  }
  // The type that the engine knows a string as. It knows no type that the message carries: the
  // sender keeps room in the table for the types that the engine acts on. REQUIRES: number <=
  // verified().strings, or kCarriedText.
  [[nodiscard]] KnownType known_type(std::uint32_t number) {
    return number == 0 ? KnownType::kOther : look_up_type(number);
  }
  // After this time, in ticks of the CPU, a look goes to the end of the ordinary lane; see Reach.
  [[nodiscard]] std::uint64_t end_due_ticks() const { return end_due_ticks_; }
  void put_off_end(std::uint64_t until_ticks) { end_due_ticks_ = until_ticks; }

  // ---- When the lanes were empty ----
  // All that was taken was all there was at this time; at first, when the link was opened.
  [[nodiscard]] std::int64_t seen_empty_ns() const { return seen_empty_ns_; }
  void note_empty(std::int64_t now_ns) { seen_empty_ns_ = now_ns; }
  // When this agent came to know of the link.
  [[nodiscard]] std::int64_t known_since_ns() const { return known_since_ns_; }
  void begin_at(std::int64_t seen_empty_ns, std::int64_t known_since_ns) {
    seen_empty_ns_ = seen_empty_ns;
    known_since_ns_ = known_since_ns;
  }

  // ---- The lives of the reader ----
  // This incarnation of ours reads from now on.
  void begin_life(shm::Incarnation incarnation) { reader_life_ = incarnation; }
  [[nodiscard]] shm::Incarnation reader_life() const { return reader_life_; }
  // The owner rings a later life of ours. relaxed: to be looked at after has_message(), whose
  // observe has seen the word of a sender that sent after it.
  [[nodiscard]] bool is_turned_to_later_life() const {
    return shm::Incarnation(view_.control().watching.relaxed_load()) > reader_life_;
  }
  // Its owner hears no life before ours any more.
  [[nodiscard]] bool is_heard() const {
    return shm::Incarnation(view_.control().watching.observe()) >= reader_life_;
  }
  // A life before ours may have taken from it, or takes still. Until its owner is seen to have
  // turned to us nobody knows how far; it has no more ids.
  void allow_for_others() {
    may_hear_others_ = true;
    for (std::uint64_t& taken : taken_by_others_) taken = (1ULL << shm::kMessageCounterBits) - 1;
  }
  // The owner may still go by the receipts of a life before ours.
  [[nodiscard]] bool may_hear_others() const { return may_hear_others_; }
  // The owner goes by our receipts now.
  void note_turn();
  // A message that we wait for may be written over below this position: a life before ours has
  // taken it.
  [[nodiscard]] std::uint64_t taken_by_others(shm::Lane lane) const {
    return taken_by_others_[static_cast<std::size_t>(lane)];
  }
  // Our receipts for it began with the stamps of another life.
  [[nodiscard]] bool has_old_stamps() const { return has_old_stamps_; }
  void note_old_stamps() { has_old_stamps_ = true; }

 private:
  [[nodiscard]] KnownType look_up_type(std::uint32_t number);
  [[nodiscard]] Extents verify(std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] Extents verify_slabs(std::size_t slab_class, std::uint32_t now);

  segment::Foreign memory_;
  shm::LinkView view_;
  std::uint64_t position_[shm::kLanes] = {0, 0};
  shm::Incarnation reader_life_{~0ULL};
  std::uint64_t taken_by_others_[shm::kLanes] = {0, 0};
  bool may_hear_others_ = false;
  bool has_old_stamps_ = false;
  std::int64_t seen_empty_ns_ = 0;
  std::int64_t known_since_ns_ = 0;
  std::uint64_t end_due_ticks_ = 0;
  shm::VerifiedExtents verified_;
  std::vector<KnownType> known_types_;  // of the strings that were looked at, number n at n - 1
};

}  // namespace beeline::receive
