#pragma once
// One message on its way from a lane into the table: it is checked, judged, put, and the
// reader does all that its arrival asks for.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/receive/answers.h"
#include "src/receive/cancel_orders.h"
#include "src/receive/lane_turns.h"
#include "src/receive/rank.h"

namespace beeline::receive {

// The nouns among which a message that comes is shared out. All outlive the intake.
struct IntakeDesks {
  Entries& entries;
  Kept& kept;
  CancelOrders& orders;
  Answers& answers;
  Expiry& expiry;
  LaneTurns& turns;
};

class Intake {
 public:
  explicit Intake(const IntakeDesks& desks);

  // Puts the next message of a lane into the table. False when there is none, no room, or the slot
  // is bad.
  bool put_next(InLink& link, shm::Lane lane);
  // Counts the room for ordinary messages once, so that the next messages of this lane need not
  // ask.
  void begin_lane(const InLink& link, shm::Lane lane);
  void end_lane() { spare_ = 0; }
  // A message that was put asks for something to be done after its commit.
  [[nodiscard]] bool has_to_settle() const {
    return !unwanted_.empty() || kept_.has_new() || !orders_.empty();
  }
  // Does it.
  void settle();
  // After a take-over: finds again the facts that only the entries hold.
  void adopt_entries();
  // A lane holds a message that found no room in the table. True may be out of date.
  [[nodiscard]] bool lacks_room() const { return lacks_room_; }
  void forget_lack_of_room() { lacks_room_ = false; }

  // ---- The clock ----
  // The coarse clock, from a caller that has just read it. An agent that blocks forgets the time.
  void tell_time(std::int64_t now_ns) { clock_ns_ = now_ns; }
  void forget_time() { clock_ns_ = kNoTime; }
  [[nodiscard]] std::int64_t time() const { return clock_ns_; }
  // Every lane was empty after this time: no message that comes later was sent before it.
  void note_all_empty(std::int64_t now_ns);
  // All that lay in the lanes of the link was taken.
  void note_empty(InLink& link);
  // When a message was sent: as it says, but neither before the lane was empty nor later than now.
  [[nodiscard]] std::int64_t time_sent(const InLink& link, std::int64_t said_ns) const;

  // ---- The judgement of a message ----
  // It is sound and simple, and no order can be about it.
  [[nodiscard]] bool is_simple(const InLink& link, const shm::HeaderWords& words) const {
    return shm::is_sound_simple(words, link.owner_pid(), link.view().layout(), link.verified()) &&
           orders_.empty();
  }
  // The relation decides how urgent a message may be.
  [[nodiscard]] std::int32_t rank_of(InLink& link, std::int32_t said, std::uint16_t type) const {
    if (!ranks_by_relation_) return said;
    return stored_rank(said, link.relation(), link.known_type(type) == KnownType::kEscalation);
  }
  // Before a checked message is put, which may lie in a slab. False: it could not be finished.
  [[nodiscard]] static bool prepare(const InLink& link, const shm::HeaderWords& words) {
    return !words.in_slab() || prepare_slab(link, words.slab(), words.generation());
  }
  // This agent does not remember that it asked for it, and its type does not say that it is an
  // answer. SUBTLE: by values, so that a caller that has the words of the header in registers keeps
  // them there.
  [[nodiscard]] bool nobody_asked(InLink& link, std::uint64_t reply_to, std::uint16_t type) const {
    return !answers_.was_asked(reply_to, link.owner_pid()) &&
           link.known_type(type) != KnownType::kTaskResponse;
  }

 private:
  [[nodiscard]] static bool prepare_slab(const InLink& link, shm::SlabIndex slab,
                                         std::uint64_t generation);
  // If nothing is queued, the reader reads the message that is put next, unless a more urgent one
  // comes with it (docs/cache-lines.md, Prefetch distances).
  void prefetch_first(const InLink& link, const shm::HeaderWords& words) const {
    if (words.in_slab() && entries_.inbox().queued() == 0) {
      link.prefetch_slab(words.slab(), words.length());
    }
  }
  bool put_special(InLink& link, shm::Lane lane, const shm::Slot& slot, shm::HeaderWords words);
  void judge(InLink& link, shm::MessageHeader& header) const;
  [[nodiscard]] static bool may_show(const InLink& link, const shm::SlotCopy& copy);
  // Which of kUnindexedFlags it gets, and kFlagUnasked. `waiting` is set when somebody waits for
  // it.
  [[nodiscard]] std::uint16_t mark_for(InLink& link, const shm::SlotCopy& copy,
                                       std::int64_t sent_ns, PendingReply*& waiting);
  // Remembers the work that an entry which was put asks for after its commit.
  void note_put(shm::EntryIndex at, std::uint16_t mark);
  void note_report(shm::EntryIndex at);
  [[nodiscard]] bool make_room(InLink& link, shm::Lane lane);
  [[nodiscard]] shm::Room room_for_awaited(const InLink& link, shm::Lane lane) const;
  bool drop_copies();

  Entries& entries_;
  Kept& kept_;
  CancelOrders& orders_;
  Answers& answers_;
  Expiry& expiry_;
  LaneTurns& turns_;
  // Copies that an agent other than a child shows; dropped once committed.
  std::vector<shm::EntryIndex> unwanted_;
  std::uint32_t spare_ = 0;  // ordinary messages of the lane for which there is room
  bool lacks_room_ = false;
  bool ranks_by_relation_ = false;
  std::int64_t all_empty_ns_ = 0;
  static constexpr std::int64_t kNoTime = -1;  // every message was sent later
  std::int64_t clock_ns_ = kNoTime;            // coarse: when the last batch was begun, or later
};

// The time is at most that of the look that found nothing more. A link that came to be known in
// between has a later one.
[[gnu::always_inline]] inline void Intake::note_empty(InLink& link) {
  link.note_empty(std::max(link.seen_empty_ns(), clock_ns_));
  entries_.table().row(link.row()).seen_empty_ns.relaxed_store(link.seen_empty_ns());
}

// A link that became known in the tick of the clock in which all were seen empty was not among
// them.
inline std::int64_t Intake::time_sent(const InLink& link, std::int64_t said_ns) const {
  const bool was_known = link.known_since_ns() < all_empty_ns_;
  const std::int64_t earliest =
      was_known ? std::max(link.seen_empty_ns(), all_empty_ns_) : link.seen_empty_ns();
  return std::clamp(said_ns, earliest, std::max(earliest, clock_ns_));
}

}  // namespace beeline::receive
