// Messages on their way: lanes that wrap, reused slabs, interned strings.

#include "tests/explore/pair.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

Pair pair;

void send_all(shm::Lane lane, std::uint64_t count) {
  for (std::uint64_t number = 1; number <= count; ++number) {
    await([lane] { return pair.sender->has_space(lane); });
    pair.sender->send(lane, number);
  }
}

void take_all(shm::Lane lane, std::uint64_t count, std::uint64_t batch) {
  while (pair.taken < count) {
    await([lane] { return pair.receiver->has_message(lane); });
    for (std::uint64_t i = 0; i < batch && pair.receiver->has_message(lane); ++i) {
      check_message(pair.receiver->take(lane), ++pair.taken);
    }
    pair.receiver->commit(lane);
  }
}

Scenario lane(const char* name, std::uint32_t slots, std::uint64_t count, std::uint64_t batch) {
  Scenario scenario(name, ring(slots, count),
                    "a lane that wraps delivers each message once, in order, whole");
  scenario.set_up = [slots] { pair = fresh_pair(slots); };
  scenario.threads = {
      {"sender", [count] { send_all(shm::Lane::kNormal, count); }},
      {"receiver", [count, batch] { take_all(shm::Lane::kNormal, count, batch); }},
  };
  scenario.least = 2;
  return scenario;
}

// The sender is killed anywhere; its published messages are taken, and nothing else is seen.
Scenario killed_sender() {
  Scenario scenario("lane-killed", ring(2, 3),
                    "of a killed sender all that it published arrives, and nothing half written");
  scenario.set_up = [] { pair = fresh_pair(2); };
  scenario.threads = {
      {"sender",
       [] {
         for (std::uint64_t i = 1; i <= 3 && pair.sender->has_space(shm::Lane::kNormal); ++i) {
           pair.sender->send(shm::Lane::kNormal, i);
         }
       }},
      {"receiver",
       [] {
         const auto take = [] {
           if (!pair.receiver->has_message(shm::Lane::kNormal)) return false;
           check_message(pair.receiver->take(shm::Lane::kNormal), ++pair.taken);
           pair.receiver->commit(shm::Lane::kNormal);
           return true;
         };
         take();
         explorer().wait_for_death(0);
         while (take()) {
         }
       }},
  };
  scenario.victim = 0;
  scenario.judge = [] {
    check(explorer().was_killed() || pair.taken == pair.sender->lanes[0].tail(),
          "a message is lost");
  };
  return scenario;
}

Scenario two_lanes() {
  Scenario scenario("two-lanes", "2 lanes, " + ring(2, 4),
                    "a fifo inbox merges both lanes in the order in which they were sent");
  scenario.set_up = [] { pair = fresh_pair(2); };
  scenario.threads = {
      {"sender",
       [] {
         pair.sender->send(shm::Lane::kNormal, 1);
         pair.sender->send(shm::Lane::kUrgent, 2);
         pair.sender->send(shm::Lane::kNormal, 3);
         pair.sender->send(shm::Lane::kUrgent, 4);
       }},
      {"receiver",
       [] {
         while (pair.taken < 4) {
           await([] { return pair.receiver->has_message(); });
           const shm::Lane lane = pair.receiver->next_in_order();
           if (!pair.receiver->has_message(lane)) continue;
           check_message(pair.receiver->take(lane), ++pair.taken);
           pair.receiver->commit(lane);
         }
       }},
  };
  return scenario;
}

// Every message lies in the only slab.
Scenario slab(std::uint64_t count) {
  Scenario scenario("slab", "1 slab, " + ring(2, count),
                    "a slab is written again only after its reader has finished it");
  scenario.set_up = [] {
    pair = fresh_pair(2);
    pair.sender->slabs.set_allocated(0, 1);
    std::byte* memory = pair.sender->own.slab(kSlab);
    std::memset(memory, 0, 16);
    // The content of the bank's row for another life.
    pair.receiver->own.stamp(0, kSlab).relaxed_store(1);
    explorer().watch(0, memory, 16, true);
  };
  scenario.threads = {
      {"sender",
       [count] {
         Sender& own = *pair.sender;
         for (std::uint64_t number = 1; number <= count; ++number) {
           auto loan = own.slabs.take(0);
           if (loan.slab == shm::kNoSlab) {
             await([&own] {
               return own.find_stamps() && own.slabs.collect(0, own.opposite, own.bank) != 0;
             });
             loan = own.slabs.take(0);
           }
           const std::uint64_t bytes[2] = {payload_of(number), ~payload_of(number)};
           std::memcpy(own.own.slab(loan.slab), bytes, 16);
           shm::MessageHeader header = message(number);
           header.flags = shm::kFlagSlab;
           header.length = 16;
           header.slab = loan.slab.value();
           own.slabs.mark_out(loan);
           await([&own] { return own.has_space(shm::Lane::kNormal); });
           own.put(shm::Lane::kNormal, header, loan.generation, nullptr);
         }
       }},
      {"receiver",
       [count] {
         Receiver& own = *pair.receiver;
         while (pair.taken < count) {
           await([&own] { return own.has_message(shm::Lane::kNormal); });
           const shm::SlotCopy copy = own.take(shm::Lane::kNormal);
           own.ensure_stamps();
           own.commit(shm::Lane::kNormal);
           explorer().read_plain(own.in.slab(shm::slab_of(copy.header)), 16);
           std::uint64_t bytes[2];
           std::memcpy(bytes, own.in.slab(shm::slab_of(copy.header)), 16);
           ++pair.taken;
           check(bytes[0] == payload_of(pair.taken) && bytes[1] == ~bytes[0],
                 "a payload in a slab is torn");
           shm::stamp(own.own.stamp(own.bank, shm::slab_of(copy.header)), copy.generation);
         }
       }},
  };
  return scenario;
}

Scenario strings() {
  Scenario scenario("strings", "2 strings",
                    "a string below a count that was observed is whole (REQUIRES of read_string)");
  scenario.set_up = [] { pair = fresh_pair(2); };
  scenario.threads = {
      {"owner",
       [] {
         shm::append_string(pair.sender->own, "first");
         shm::append_string(pair.sender->own, "second");
       }},
      {"reader",
       [] {
         // verify_extents() of src/receive
         const std::uint32_t count = pair.receiver->in.control().string_count.observe();
         if (count >= 1)
           check(shm::read_string(pair.receiver->in, 1).view() == "first", "string 1");
         if (count >= 2)
           check(shm::read_string(pair.receiver->in, 2).view() == "second", "string 2");
       }},
  };
  return scenario;
}

}  // namespace

void add_lane_scenarios(Scenarios& all, Depth depth) {
  all.push_back(lane("lane", 2, 3, 1));
  all.back().preemptions = depth == Depth::kLong ? 5 : 3;
  all.push_back(lane("lane-batch", 2, 3, 2));
  all.push_back(killed_sender());
  all.back().preemptions = depth == Depth::kLong ? 3 : 2;
  all.push_back(two_lanes());
  all.push_back(slab(2));
  all.push_back(strings());
  if (depth == Depth::kShort) return;
  all.push_back(lane("lane-4-slots", 4, 9, 2));
  all.push_back(lane("lane-2-slots", 2, 6, 2));
}

}  // namespace beeline::explore
