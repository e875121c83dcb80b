// A receiver is killed at each of its steps while its sender goes on, and a successor takes over:
// its entries from the old home, its stamps and cursors from the old link, the rest from the lane.
// Every message lies in the one slab that there is, and the lane has one slot.

#include <optional>

#include "tests/explore/engine.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr std::uint64_t kLetters = 2;
constexpr std::uint64_t kLifeNext = kLifeB + 1;
const shm::LinkContract kOneSlot = contract_of(1);

struct Succession {
  std::optional<shm::DirectoryWriter> coordinator;
  std::optional<Sender> sender;
  std::optional<Receiver> first;
  std::optional<Receiver> second;
  std::optional<shm::Home> home;
  std::optional<shm::Inbox> inbox;
  std::uint32_t free[shm::kMinInboxCapacity];
  std::uint64_t known_life = kLifeB;  // that the sender follows
  std::uint64_t begun = 0;            // messages that the first has begun to finish
  std::uint64_t finished = 0;
  std::uint64_t again[kLetters + 1] = {};  // how often the second had each
};
Succession all;

void fresh_succession() {
  const shm::Link a = fresh_link("link A>B", kOneSlot);
  const shm::Link b = fresh_link("link B>A", kOneSlot);
  const shm::Link next = fresh_link("next link B>A", kOneSlot);
  shm::open_bank(b.bank(0), kLinkA, 0, 0);
  all = {};
  all.coordinator.emplace(fresh_directory(), 1, shm::kMinMaxPayload, 1);
  all.coordinator->set_word(0, {kLifeB, shm::AgentState::kRunning});
  all.sender.emplace(a, view_of(b));
  all.sender->slabs.set_allocated(0, 1);
  all.first.emplace(view_of(a), b);
  all.second.emplace(view_of(a), next);
  all.home.emplace(fresh_home("home B", kLifeB));
  all.inbox.emplace(*all.home, all.free);
  all.inbox->grow_index(2);
  all.inbox->add_entries(0, 1);
  shm::open_row(all.home->row(0), kLinkA, kPidA, 0, 0);
  std::memset(a.slab(0), 0, 8);
  explorer().watch(0, a.slab(0), 8, true);
  explorer().watch(1, &all.home->entry(0), sizeof(shm::Entry), false);
  explorer().watch(1, &all.home->control().next_arrival, 8, false);
}

// SendPath::follow and SendPath::retarget
void follow() {
  const shm::AgentWord word = all.coordinator->view().agent(0);
  if (word.incarnation == all.known_life) return;
  all.known_life = word.incarnation;
  Sender& own = *all.sender;
  own.opposite = view_of(all.second->own);
  own.bank = own.opposite.find_bank(kLinkA);
  own.stamps_ready = false;
  check(own.bank != shm::kBanks, "the successor has no bank for the link that it was told of");
}

void send_letters() {
  Sender& own = *all.sender;
  for (std::uint64_t number = 1; number <= kLetters; ++number) {
    auto loan = own.slabs.take(0);
    if (loan.slab == shm::kNoSlab) {
      await([&own] {
        follow();
        return own.find_stamps() && own.slabs.collect(0, own.opposite, own.bank) != 0;
      });
      loan = own.slabs.take(0);
    }
    const std::uint64_t payload = payload_of(number);
    std::memcpy(own.own.slab(0), &payload, 8);
    shm::MessageHeader header = message(number);
    header.flags = shm::kFlagSlab;
    header.slab = 0;
    own.slabs.mark_out(loan);
    await([&own] {
      follow();
      check(own.lanes[0].refresh(own.receipt(shm::Lane::kNormal)), "a receipt moves back");
      return own.has_space(shm::Lane::kNormal);
    });
    own.put(shm::Lane::kNormal, header, loan.generation, nullptr);
  }
}

void read_letter(const shm::LinkView& in, std::uint64_t number) {
  std::uint64_t payload = 0;
  explorer().read_plain(in.slab(0), 8);
  std::memcpy(&payload, in.slab(0), 8);
  check(payload == payload_of(number), "a payload was overwritten before it was finished");
}

// The first receiver, with its real inbox.
void receive_letters() {
  Receiver& own = *all.first;
  shm::Inbox& inbox = *all.inbox;
  for (std::uint64_t number = 1; number <= kLetters; ++number) {
    await([&own] { return own.has_message(shm::Lane::kNormal); });
    const std::uint64_t position = own.position[0];
    const shm::SlotCopy copy = own.take(shm::Lane::kNormal);
    own.ensure_stamps();
    const std::uint32_t at = inbox.put(copy, 0, shm::Lane::kNormal, position, 0, 0);
    inbox.commit(0, shm::Lane::kNormal, own.position[0]);
    own.commit(shm::Lane::kNormal);
    inbox.take_best(at);
    read_letter(own.in, number);
    all.begun = number;
    inbox.done(at, &own.own.stamp(own.bank, 0));
    shm::crash_fence();  // its user goes on, and does what others see
    all.finished = number;
  }
}

void finish(const shm::SlotCopy& copy) {
  const std::uint64_t number = shm::counter_of_message(copy.header.id);
  check(number >= 1 && number <= kLetters, "a message that nobody sent");
  ++all.again[number];
  read_letter(all.second->in, number);
  all.second->ensure_stamps();
  shm::stamp(all.second->own.stamp(0, 0), copy.generation);
}

void take_over() {
  explorer().wait_for_death(1);
  Receiver& own = *all.second;
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  const shm::LinkView receipts = view_of(all.first->own);
  shm::InheritedLink link;
  link.key = kLinkA;
  link.owner_pid = kPidA;
  link.cursors[0] = old.row(0).cursors[0].relaxed_load();
  link.old_receipts = &receipts;
  link.old_bank = receipts.find_bank(kLinkA);
  link.layout = own.in.layout();
  link.verified.slabs[0] = 1;
  own.position[0] = link.cursors[0];
  shm::inherit_stamps(own.own, 0, link);
  shm::open_bank(own.own.bank(0), kLinkA, link.cursors[0], 0);
  all.coordinator->set_word(0, {kLifeNext, shm::AgentState::kRunning});
  const shm::EntryCopy copy = shm::copy_entry(old.entry(0));
  const auto verdict = shm::judge_entry(copy, link, old.control().next_arrival);
  check(verdict != shm::Inherit::kBad, "an entry that its owner wrote is refused");
  if (verdict == shm::Inherit::kTake) finish(copy.slot);
  while (own.position[0] < kLetters) {
    await([&own] { return own.has_message(shm::Lane::kNormal); });
    finish(own.take(shm::Lane::kNormal));
    own.commit(shm::Lane::kNormal);
  }
}

}  // namespace

void add_takeover_scenarios(Scenarios& scenarios, Depth /*depth*/) {
  Scenario scenario;
  scenario.name = "takeover";
  scenario.proves = "a successor has what its predecessor had not finished, and nothing else";
  scenario.set_up = [] { fresh_succession(); };
  scenario.threads = {
      {"sender", [] { send_letters(); }},
      {"receiver", [] { receive_letters(); }},
      {"successor", [] { take_over(); }},
  };
  scenario.victim = 1;
  scenario.judge = [] {
    for (std::uint64_t number = 1; number <= kLetters; ++number) {
      const std::uint64_t times = all.again[number];
      check(times <= 1, "a message comes twice");
      check(number > all.finished || times == 0, "a finished message comes again");
      check(number <= all.begun || times == 1, "an accepted message is lost");
    }
  };
  scenario.least = 50;
  scenarios.push_back(scenario);
}

}  // namespace beeline::explore
