#pragma once
// The receive side of an agent: how messages come out of the lanes and the inbox into calls.

#include <cstdint>
#include <optional>
#include <span>

#include <beeline/agent.h>

#include "src/agent/announcements.h"
#include "src/agent/look_pace.h"
#include "src/agent/sleeper.h"
#include "src/agent/turn.h"

namespace beeline {

class Leases;

class Intake {
 public:
  struct Needs {
    OwnLife& life;
    receive::Receiver& receiver;
    Notices& notices;
    Announcements& announcements;
    Leases& leases;
    Sleeper& sleeper;
    Turn& turn;
  };
  explicit Intake(const Needs& needs);

  [[nodiscard]] std::optional<Message> try_receive(const Filter& filter);
  [[nodiscard]] Result<Message> receive(const ReceiveOptions& options);
  // The first one was just handed out; adds those behind it. They are handled in that order.
  [[nodiscard]] std::size_t fill_batch(std::span<Message> batch, const Filter& filter);
  [[nodiscard]] bool urgent();

  // ---- Drain: nothing once this life has ended ----
  bool drain_turn() { return life_.still_counts() && receiver_.drain_turn(); }
  bool drain_from(Pid pid) { return life_.still_counts() && receiver_.drain_from(pid); }
  // Takes all that lies in the lanes. It ends after the first turn that is over later than this,
  // however much others go on sending; false: it had to.
  static constexpr std::int64_t kLongestDrain = 1'000'000'000;
  bool drain_fully(std::int64_t longest_ns = kLongestDrain);
  // Such a look has just come to the end of all lanes.
  void note_whole() { look_pace_.note_whole(receiver_.links().looked_at()); }

  // ---- Take ----
  [[nodiscard]] static receive::Selection selection_of(const Filter& filter);
  // The next entry, leased, without waiting; kNoEntry if no lane holds any.
  [[nodiscard]] shm::EntryIndex look_for(const Filter& filter);
  [[nodiscard]] shm::EntryIndex take_alone(receive::PendingReply& pending) {
    return life_.still_counts() ? receiver_.take_alone(pending) : shm::kNoEntry;
  }
  // The same with a wait, which ends when `stop()` too, and when the hive goes down.
  template <typename Stop>
  [[nodiscard]] shm::EntryIndex wait_for(const Filter& filter, std::int64_t deadline_ns,
                                         Stop&& stop);

 private:
  [[nodiscard]] shm::EntryIndex take(const Filter& filter) {
    return filter.empty() ? receiver_.take() : receiver_.take_selected(selection_of(filter));
  }
  [[nodiscard]] shm::EntryIndex take_alone(const Filter& filter);
  [[nodiscard]] shm::EntryIndex look_now(const Filter& filter);
  // As a call of the user: in event mode the agent counts as asleep after it found none.
  [[nodiscard]] shm::EntryIndex try_take(const Filter& filter);
  [[nodiscard]] Result<Message> receive_later(const ReceiveOptions& options);
  [[nodiscard]] bool has_just_looked(std::uint64_t within_ticks) const;
  void let_gather();
  void look_at_all();
  [[nodiscard]] shm::EntryIndex look_again(const Filter& filter);

  OwnLife& life_;
  receive::Receiver& receiver_;
  Notices& notices_;
  Announcements& announcements_;
  Leases& leases_;
  Sleeper& sleeper_;
  Turn& turn_;
  LookPace look_pace_;  // since a call of the user looked last and left something
};

// ---- Every message passes these, so they are taken into their callers ---------------------------

inline shm::EntryIndex Intake::take_alone(const Filter& filter) {
  const bool is_empty = receiver_.home().inbox().queued() == 0;
  const bool may = is_empty && filter.empty() && life_.still_counts();
  return may ? receiver_.take_alone() : shm::kNoEntry;
}

// While the inbox holds something, this agent looks at the ordinary lanes now and then (LookPace).
// It looks each time for urgent messages, and for those that this thread has sent.
[[gnu::always_inline]] inline shm::EntryIndex Intake::look_for(const Filter& filter) {
  if (life_.has_ended()) return shm::kNoEntry;
  announcements_.hear();
  if (receiver_.home().inbox().queued() != 0 && filter.empty() &&
      has_just_looked(LookPace::kNoLimit)) {
    if (const shm::EntryIndex at = receiver_.take(); at != shm::kNoEntry) return at;
  }
  return look_now(filter);
}

[[gnu::always_inline]] inline bool Intake::has_just_looked(std::uint64_t within_ticks) const {
  return look_pace_.may_wait(within_ticks) && receiver_.urgent_lanes_are_empty();
}

template <typename Stop>
shm::EntryIndex Intake::wait_for(const Filter& filter, std::int64_t deadline_ns, Stop&& stop) {
  shm::EntryIndex at = shm::kNoEntry;
  const auto is_over = [&] {
    const bool has_some = receiver_.home().inbox().queued() != 0;
    if (has_some && look_pace_.is_whole_due(os::ticks())) look_at_all();
    if (!life_.has_ended()) at = take(filter);
    return at != shm::kNoEntry || life_.is_down() || stop();
  };
  const auto is_alone = [&] { return (at = take_alone(filter)) != shm::kNoEntry; };
  // A task, or one of several messages, is not taken alone.
  const auto look = [&] { return is_alone() || (drain_turn() && is_over()); };
  const auto glance = [this] { return receiver_.calls_for_turn(); };
  if (!sleeper_.is_armed() && sleeper_.waiter().glimpse(look, glance)) return at;
  sleeper_.wait_with(deadline_ns, is_alone, is_over, glance);
  return at;
}

}  // namespace beeline
