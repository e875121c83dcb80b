// The real sleeper and the real ring. There is no time here, so a sleeper without a ring sleeps for
// ever, and the explorer reports that.

#include "tests/explore/kernel.h"
#include "tests/explore/pair.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr int kEventA = 0;
constexpr int kEventB = 1;
constexpr std::int64_t kLongest = 1'000'000'000'000;  // of one block; this time never passes here
constexpr wake::WaitPolicy kNoSpin{.spin_ns = 0, .never_sleep = false, .short_first_wait = false};

struct Meeting : Pair {
  std::uint64_t accepted = 0;  // its send() has returned
};
Meeting meeting;

shm::StatusPage& status_a() {
  return *reinterpret_cast<shm::StatusPage*>(segment("status A", shm::kStatusBytes));
}
shm::StatusPage& status_b() {
  return *reinterpret_cast<shm::StatusPage*>(segment("status B", shm::kStatusBytes));
}
// An announcement of the coordinator to B, as a message that waits in a socket.
shm::Atomic<std::uint64_t>& notice() {
  return *reinterpret_cast<shm::Atomic<std::uint64_t>*>(segment("socket of B", 8));
}

void fresh_meeting(std::uint32_t slots) {
  clear_events();
  (void)fresh_status("status A");
  (void)fresh_status("status B");
  notice().relaxed_store(0);
  meeting = {fresh_pair(slots), 0};
  meeting.sender->bell = {&status_b(), kEventB};
  meeting.receiver->bell = {&status_a(), kEventA};
}

bool take_one() {
  Receiver& own = *meeting.receiver;
  if (!own.has_message(shm::Lane::kNormal)) return false;
  check_message(own.take(shm::Lane::kNormal), ++meeting.taken);
  own.commit(shm::Lane::kNormal);
  own.ring_for_space();
  return true;
}

// The bells of an agent without peers of other users.
wake::BellSet bells_of(int event_fd) {
  number_next_event(event_fd);
  return std::move(*wake::BellSet::create());
}

template <typename LastLook>
void sleep_until(shm::StatusPage& page, int event_fd, LastLook&& last_look) {
  const wake::BellSet bells = bells_of(event_fd);
  wake::Waiter waiter(page, bells, kNoSpin);
  waiter.use_events();
  waiter.wait(
      kNever, [] { return false; }, last_look, [] { return kLongest; });
}

void receive(std::uint64_t count) {
  while (meeting.taken < count) {
    if (take_one()) continue;
    sleep_until(status_b(), kEventB, [] { return meeting.receiver->has_message(); });
  }
}

Scenario sleeping(const char* name, std::uint64_t count) {
  Scenario scenario(name, ring(4, count), "a receiver that goes to sleep misses no message");
  scenario.set_up = [] { fresh_meeting(4); };
  scenario.threads = {
      {"sender",
       [count] {
         for (std::uint64_t i = 1; i <= count; ++i) meeting.sender->send(shm::Lane::kNormal, i);
       }},
      {"receiver", [count] { receive(count); }},
  };
  scenario.least = 2;
  return scenario;
}

// The sender dies between publish and ring; the coordinator learns of it and rings.
Scenario killed_before_ring() {
  Scenario scenario("sleep-killed", ring(4, 2),
                    "what a killed sender published is found, since its death rings");
  scenario.set_up = [] { fresh_meeting(4); };
  scenario.threads = {
      {"sender",
       [] {
         for (std::uint64_t i = 1; i <= 2; ++i) {
           meeting.sender->send(shm::Lane::kNormal, i);
           meeting.accepted = i;
         }
       }},
      {"receiver",
       [] {
         for (bool told = false; !told;) {
           sleep_until(status_b(), kEventB, [] {
             return notice().relaxed_load() != 0 || meeting.receiver->has_message();
           });
           told = receive_packet(notice());
           while (take_one()) {
           }
         }
       }},
      {"coordinator",
       [] {
         explorer().wait_for_death(0);
         tell(notice(), status_b(), kEventB);
       }},
  };
  scenario.victim = 0;
  scenario.judge = [] {
    check(meeting.taken >= meeting.accepted, "an accepted message of a killed sender is lost");
  };
  return scenario;
}

// The sender waits for room in a full lane.
Scenario space(const char* name, bool is_armed) {
  Scenario scenario(name, ring(1, 2), "a sender that waits for space is rung when there is some");
  scenario.set_up = [] { fresh_meeting(1); };
  scenario.threads = {
      {"sender",
       [is_armed] {
         Sender& own = *meeting.sender;
         own.send(shm::Lane::kNormal, 1);
         const auto has_space = [&own] { return own.has_space(shm::Lane::kNormal); };
         if (is_armed) {  // its user waits on the fd, outside of the library
           const wake::BellSet bells = bells_of(kEventA);
           wake::Waiter waiter(status_a(), bells, kNoSpin);
           waiter.use_events();
           waiter.fall_asleep();
           own.want_space(true);
           if (!has_space()) wait_outside(kEventA);
           waiter.wake_up();
           check(has_space(), "the fd is readable and there is no space");
         } else {
           own.want_space(true);
           sleep_until(status_a(), kEventA, has_space);
         }
         own.want_space(false);
         own.send(shm::Lane::kNormal, 2);
       }},
      {"receiver", [] { receive(2); }},
  };
  return scenario;
}

// The sender waits for a slab. The receiver finishes two of its messages one after the other and
// has one fence for both, before it drains.
Scenario space_of_slabs() {
  Scenario scenario("space-slabs", "2 slabs",
                    "a sender that waits for a slab is rung when one is finished");
  scenario.set_up = [] {
    fresh_meeting(2);
    Sender& own = *meeting.sender;
    own.slabs.set_allocated(0, 2);
    for (int i = 0; i < 2; ++i) own.slabs.mark_out(own.slabs.take(0));
    meeting.receiver->ensure_stamps();
  };
  scenario.threads = {
      {"sender",
       [] {
         Sender& own = *meeting.sender;
         own.want_space(true);
         sleep_until(status_a(), kEventA, [&own] {
           return own.find_stamps() && own.slabs.collect(0, own.opposite, own.bank) != 0;
         });
         own.want_space(false);
       }},
      {"receiver",
       [] {
         for (std::uint32_t slab = 0; slab < 2; ++slab) {
           meeting.receiver->finish(shm::SlabIndex(slab), 1);
         }
         meeting.receiver->ring_stamped();
       }},
  };
  return scenario;
}

}  // namespace

void add_wake_scenarios(Scenarios& all, Depth depth) {
  all.push_back(sleeping("sleep", 2));
  all.push_back(killed_before_ring());
  all.push_back(space("space", false));
  all.push_back(space("space-armed", true));
  all.push_back(space_of_slabs());
  if (depth == Depth::kLong) all.push_back(sleeping("sleep-4", 4));
}

}  // namespace beeline::explore
