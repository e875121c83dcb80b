#pragma once
// Messages that their senders take back. An order lies in the table like any message until it is
// obeyed, so a successor finds it again, unless its place was needed.

#include <cstdint>
#include <vector>

#include "src/receive/kept.h"

namespace beeline::receive {

// An order to cancel that lies in the table.
struct CancelOrder {
  // None: its place was needed, and it is remembered here alone; or it lies in its lane.
  shm::EntryIndex entry = shm::kNoEntry;
  shm::RowIndex row{};
  std::uint64_t id = 0;                   // of the message that it is about
  shm::EntryIndex found = shm::kNoEntry;  // that message, when it came after the order
  shm::EntryIndex scanned{};              // it is not among the entries before this one
  static constexpr std::uint64_t kNotInLane = ~0ULL;
  std::uint64_t position = kNotInLane;  // in the urgent lane, where it lies if it found no room
  [[nodiscard]] bool in_lane() const { return position != kNotInLane; }
};

[[nodiscard]] bool is_cancel_order(InLink& link, const shm::MessageHeader& header);

// Whether a message that goes before all data lies in the urgent lane.
[[nodiscard]] bool holds_order(InLink& link);

class CancelOrders {
 public:
  // Both outlive it.
  CancelOrders(Entries& entries, Kept& kept) : entries_(entries), kept_(kept) {}

  [[nodiscard]] bool empty() const { return orders_.empty(); }
  // An order was put into the table. It is obeyed after its commit.
  void add(shm::EntryIndex at);
  // A message was put into the table: an order may have been looking for it.
  void note_put(shm::EntryIndex at);
  // True if an order of this link may be put. An order gives way to a new one if its message has
  // not come; while all of them still look for their messages, the next waits in its lane.
  [[nodiscard]] bool has_room(const InLink& link);
  // Obeys an order that finds no room in the table, and leaves it in its lane: a message that makes
  // room may be waiting for it. REQUIRES: the next message of the urgent lane is published.
  void note_in_lane(InLink& link);
  void forget_in_lane(const InLink& link);
  // The link is removed.
  void forget(const InLink& link);

  // Looks at `budget` entries at most. True when a lane has moved on. REQUIRES: everything that was
  // put is committed.
  bool obey_all(std::uint32_t budget);
  // Orders are still looking for their messages: the next turns go on with it.
  [[nodiscard]] bool is_searching() const;
  // Gives back the places of orders whose messages lie in a lane that finds no place. They are
  // still obeyed, but no successor would know of them. Takes as many as make room; false, and none,
  // if that takes more.
  bool release(shm::Room room);

 private:
  bool obey(CancelOrder& order, std::uint32_t& budget);
  [[nodiscard]] bool is_scanned(const CancelOrder& order) const;
  [[nodiscard]] bool is_idle(const CancelOrder& order) const;
  [[nodiscard]] bool can_cancel(shm::EntryIndex at, std::uint64_t id) const;
  [[nodiscard]] bool is_dead(shm::EntryIndex at, std::uint64_t id) const;
  void cancel(shm::EntryIndex at);
  void finish(const CancelOrder& order);
  void take_off_lane(const CancelOrder& order);

  Entries& entries_;
  Kept& kept_;
  std::vector<CancelOrder> orders_;  // oldest first
};

}  // namespace beeline::receive
