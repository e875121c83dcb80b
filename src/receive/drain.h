#pragma once
// From the lanes into the table: which links a look visits, and how many messages it takes of each.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "src/receive/intake.h"

namespace beeline::receive {

// How far a look goes in an ordinary lane. kShortOfTheEnd: of many messages it may leave the last
// few, which came in the last microseconds, so as not to get in the way of the sender that writes
// the next.
enum class Reach : std::uint8_t { kToTheEnd, kShortOfTheEnd };

// Messages of one lane that are drained at a time, for one store of each cursor: at most a 32nd of
// a large table, so that the other lanes get their turn.
[[nodiscard]] constexpr std::uint32_t drain_budget(std::uint32_t table_entries) {
  constexpr std::uint32_t kLeast = 32;
  constexpr std::uint32_t kMost = 128;
  return std::clamp(table_entries / 32, kLeast, kMost);
}

class Drain {
 public:
  // All outlive it.
  Drain(Entries& entries, Intake& intake, CancelOrders& orders, LaneTurns& turns);

  // One turn over the links: recently active ones, those where something urgent lies, and a slice
  // of the others. True when something was taken.
  bool turn(Reach reach);
  // All links.
  bool all();
  // All links to where their lanes end now, as far as the table has room.
  void whole();
  // The links of one agent, whichever of its lives owns them.
  bool from(std::uint32_t pid);
  // Whether a lane may have held more than one turn takes, since this was asked last.
  [[nodiscard]] bool was_cut_short() { return std::exchange(cut_short_, false); }
  // The table has room for less than half of what a turn takes out of one lane; in a small one, for
  // less than a sixteenth of it.
  [[nodiscard]] bool is_crowded() const { return entries_.inbox().plain_places() < few_places_; }
  // When a link that is held back by its rate has its next token, on the coarse clock; kForEver if
  // there is none.
  [[nodiscard]] std::int64_t next_token_ns() const;

 private:
  bool drain(InLink& link, std::uint32_t budget, Reach reach = Reach::kToTheEnd);
  bool drain_urgent();
  bool serve_queue();
  bool stop_looking(InLink& link);
  std::uint32_t drain_lane(InLink& link, shm::Lane lane, std::uint32_t budget, Reach reach);
  std::uint32_t put_run(InLink& link, shm::Lane lane, std::uint32_t run);
  std::uint32_t drain_merged(InLink& link, std::uint32_t budget, std::uint32_t normal_budget);
  [[nodiscard]] static std::uint32_t tokens_of(InLink& link, std::uint32_t budget);
  [[nodiscard]] static std::optional<shm::Lane> next_in_order(const InLink& link);

  Entries& entries_;
  Intake& intake_;
  CancelOrders& orders_;
  LaneTurns& turns_;
  std::uint32_t budget_;
  std::uint32_t few_places_;  // see is_crowded()
  bool cut_short_ = false;    // see was_cut_short()
  bool fifo_;
};

}  // namespace beeline::receive
