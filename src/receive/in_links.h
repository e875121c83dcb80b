#pragma once
// The links that an agent reads, in the order in which the receiver looks at them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shm/check.h"
#include "src/receive/in_link.h"
#include "src/receive/link_index.h"
#include "src/receive/owner_watch.h"

namespace beeline::receive {

// Each turn looks at these links.
inline constexpr std::size_t kActiveLinks = 8;
// Each turn looks at this many of the other links.
inline constexpr std::size_t kSliceLinks = 32;

// Three kinds of links lie one behind the other: watched ones, where something urgent may come, the
// recently active first; other links that are looked at; the rest.
class InLinks {
 public:
  // Adds a link whose row is open already. This table owns the link.
  InLink& add(std::unique_ptr<InLink> link);
  // No entry of the inbox refers to the link. REQUIRES: its row is closed.
  void remove(InLink& link);
  // Sorts a link into its kind: a look at all links leaves it out once its owner has ended and
  // nothing is left in it, a turn leaves it out once its owner has ended and left nothing urgent.
  // The caller calls this wherever that changes.
  void arrange(InLink& link);
  // False: the link was quarantined before. `fault` lives for ever.
  bool quarantine(InLink& link, const char* fault);

  [[nodiscard]] LinkIndex& index() { return index_; }
  [[nodiscard]] const LinkIndex& index() const { return index_; }
  [[nodiscard]] OwnerWatch& owners() { return owners_; }
  [[nodiscard]] const std::vector<std::unique_ptr<InLink>>& all() const { return links_; }
  [[nodiscard]] InLink& at(std::size_t place) const { return *links_[place]; }
  // The link of a row; null where the link is gone.
  [[nodiscard]] InLink* of_row(shm::RowIndex row) const {
    return row.value() < rows_.size() ? rows_[row.value()] : nullptr;
  }
  [[nodiscard]] bool has_quarantined() const { return quarantined_ != 0; }

  // The first links, which each look at all links visits.
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }
  // The first links of these, where something urgent may come.
  [[nodiscard]] std::size_t watched() const { return watched_; }
  // There are more links than one turn looks at.
  [[nodiscard]] bool has_many() const { return looked_at_ > kActiveLinks + kSliceLinks; }
  // The largest number of slots of an ordinary lane.
  [[nodiscard]] std::uint32_t most_slots() const { return most_slots_; }
  // How many links were visited where not all are: a test bounds it.
  [[nodiscard]] std::uint64_t visits() const { return visits_; }
  void count_visits(std::size_t links) { visits_ += links; }

  // Puts a link before all others that are active.
  void move_to_front(std::size_t at);
  // The place of the next urgent message of a link has changed.
  void watch_urgent(const InLink& link);
  [[nodiscard]] bool has_urgent_at(std::size_t place) const {
    BEELINE_DCHECK(place < watched_, place, watched_);
    const UrgentPlace next = urgent_[place];
    return next.slot != nullptr && shm::is_published(*next.slot, next.position);
  }
  // No lane holds a message.
  [[nodiscard]] bool all_empty() const;
  // An urgent message lies in a lane that is open.
  [[nodiscard]] bool has_urgent_lane() const;
  // False where a look at the lanes may find something urgent, or cannot be quick.
  [[nodiscard]] bool urgent_lanes_are_empty() const;
  // False where a turn would hardly find anything. It costs a few loads, for a reader that looks
  // all the time.
  [[nodiscard]] bool calls_for_turn() const;

  // An entry of the inbox does not refer to the link of this row any more.
  void unrefer(shm::RowIndex row);

 private:
  void swap(std::size_t a, std::size_t b);
  [[nodiscard]] auto end_of(std::size_t count) const {
    return links_.begin() + static_cast<std::ptrdiff_t>(count);
  }
  [[gnu::noinline, gnu::cold]] void note_unreferred(InLink& link) { owners_.call(link); }

  // The next slot of the urgent lane of the link at the same place. Each turn looks at all of them,
  // so they lie side by side.
  struct UrgentPlace {
    const shm::Slot* slot = nullptr;
    std::uint64_t position = 0;
  };
  std::vector<std::unique_ptr<InLink>> links_;
  std::vector<UrgentPlace> urgent_;
  std::vector<InLink*> rows_;  // by row
  std::size_t watched_ = 0;
  std::size_t looked_at_ = 0;
  LinkIndex index_;
  OwnerWatch owners_;
  std::size_t quarantined_ = 0;
  std::uint64_t visits_ = 0;
  std::uint32_t most_slots_ = 0;
};

// Nearly always no urgent lane holds a message: the question whether one may be read is asked out
// of line.
inline bool InLinks::urgent_lanes_are_empty() const {
  if (watched_ > kActiveLinks) return false;
  for (std::size_t i = 0; i < watched_; ++i) {
    if (links_[i]->has_message(shm::Lane::kUrgent)) return !has_urgent_lane();
  }
  return true;
}

inline bool InLinks::calls_for_turn() const {
  if (looked_at_ > kActiveLinks) return true;  // a turn is shorter than a look at all of them
  for (std::size_t i = 0; i < looked_at_; ++i) {
    links_[i]->prefetch_payload();
    if (links_[i]->has_message()) return true;
  }
  return false;
}

[[gnu::always_inline]] inline void InLinks::unrefer(shm::RowIndex row) {
  InLink* const link = of_row(row);
  if (link == nullptr || link->live() == 0) return;
  link->unrefer();
  if (link->live() == 0 && link->owner_gone()) [[unlikely]]
    note_unreferred(*link);
}

}  // namespace beeline::receive
