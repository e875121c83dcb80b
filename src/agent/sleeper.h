#pragma once
// How an agent waits, for whatever it waits: it drains its in-links all the while, and before each
// block it looks at the control socket and the directory too.

#include <chrono>
#include <cstdint>
#include <utility>

#include "src/agent/activity.h"
#include "src/agent/deadlines.h"
#include "src/agent/own_life.h"
#include "src/control/client.h"
#include "src/receive/receiver.h"
#include "src/segment/owned.h"
#include "src/wake/waiter.h"

namespace beeline {

class Announcements;
class Arrivals;
class Debts;
class Intake;
class Leases;
class Reports;
class Turn;

class Sleeper {
 public:
  struct Needs {
    OwnLife& life;
    control::Client& client;
    receive::Receiver& receiver;
    Notices& notices;
    Arrivals& arrivals;
    Announcements& announcements;
    Reports& reports;
    Leases& leases;
    Debts& debts;
    Intake& intake;
    Turn& turn;
  };
  // `status` is an initialized status page.
  Sleeper(segment::Owned status, wake::BellSet bells, const wake::WaitPolicy& policy,
          const Needs& needs);

  [[nodiscard]] const segment::Owned& status() const { return status_; }
  [[nodiscard]] wake::BellSet& bells() { return bells_; }
  [[nodiscard]] wake::Waiter& waiter() { return waiter_; }
  [[nodiscard]] Deadlines& deadlines() { return deadlines_; }

  // ---- Waiting ----
  // Waits until `ready()`; meanwhile drains, and handles control messages before each block.
  template <typename Ready>
  bool wait_until(std::int64_t deadline_ns, Ready&& ready) {
    return wait_with(
        deadline_ns, [] { return false; }, ready, [this] { return receiver_.calls_for_turn(); });
  }
  // The same, asking `first()` before each turn. `glance` sees a sign of news: see Waiter.
  template <typename First, typename Ready, typename Glance>
  bool wait_with(std::int64_t deadline_ns, First&& first, Ready&& ready, Glance&& glance) {
    const bool was_armed = armed_;
    disarm();
    const bool done = waiter_.wait(
        deadline_ns,
        [&] {
          if (first()) return true;
          look();
          return ready();
        },
        [&] {
          last_look();
          return ready();
        },
        [&] { return longest_block(); }, glance);
    if (was_armed) arm_again();
    return done;
  }
  // A flood adds to lanes and socket: the last look has left something.
  [[nodiscard]] bool goes_on() const;
  // Senders still look for this successor of another life.
  void begin_succession() { successor_since_ns_ = os::monotonic_ns(); }
  // While it leaves, the last receipt may come without a ring: SpaceRings::ring_sometimes().
  void set_leaving(bool leaving) { leaving_ = leaving; }

  // ---- Event mode: this agent counts as asleep while the user waits outside ----
  [[nodiscard]] int event_fd();
  void arm();
  void disarm() {
    if (armed_) wake_up();
  }
  // The same for a user that learns at once what was found, and asks for the rest at next_look().
  void arm_for_poll();
  [[nodiscard]] Deadline next_look() {
    return Deadline(std::chrono::nanoseconds(os::monotonic_ns() + longest_block()));
  }
  [[nodiscard]] bool is_armed() const { return armed_; }
  // Something is there for a user that waits outside.
  void call_user() {
    if (armed_) waiter_.signal_self();
  }
  // A place in the table may have become free. No peer rings for a message that found none, so a
  // user that waits outside is to look again.
  void offer_room() {
    if (armed_ && receiver_.lacks_room()) waiter_.signal_self();
  }

  // ---- The timer behind the fd of the user ----
  Result<void> make_timer();
  void set_timer();
  // The same where the fd of the user is the sign that it must.
  void renew_timer() {
    if (armed_) set_timer();
  }

  // ---- The status page ----
  void show_activity() { activity_.show(receiver_.home().inbox().leased() != 0); }
  void set_sleeping(bool sleeping);
  void publish_pressure();

  // While it lives, this agent says that it is blocked.
  class Blocked {
   public:
    explicit Blocked(Sleeper& sleeper)
        : sleeper_(sleeper), before_(sleeper.activity_.set_blocked(true)) {
      sleeper_.show_activity();
    }
    ~Blocked() {
      sleeper_.activity_.set_blocked(before_);
      sleeper_.show_activity();
    }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

   private:
    Sleeper& sleeper_;
    bool before_;
  };

 private:
  void look();
  void last_look();
  void fall_asleep();
  void arm_again();
  void wake_up();  // says that it is awake, looks at the control socket where a clock has ticked
  void note_belt();
  [[nodiscard]] std::int64_t longest_block();
  [[nodiscard]] std::int64_t next_timer_ns() const;

  OwnLife& life_;
  control::Client& client_;
  receive::Receiver& receiver_;
  Notices& notices_;
  Arrivals& arrivals_;
  Announcements& announcements_;
  Reports& reports_;
  Leases& leases_;
  Debts& debts_;
  Intake& intake_;
  Turn& turn_;
  segment::Owned status_;
  wake::BellSet bells_;
  wake::Waiter waiter_;
  Activity activity_;
  Deadlines deadlines_;
  os::UniqueFd timer_;  // once it was needed: it is behind the fd of the user too
  bool timer_is_set_ = false;
  bool armed_ = false;
  bool leaving_ = false;
  bool flooded_ = false;                 // the last look found no end
  std::int64_t belt_ns_ = 0;             // bound of the next block where a ring may not come
  std::int64_t successor_since_ns_ = 0;  // 0: no sender has to find us
};

}  // namespace beeline
