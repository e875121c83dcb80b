// A receiver is killed at each of its steps while its sender goes on, and a successor takes over:
// its entries from the old home, its stamps and cursors from the old link, the rest from the lane.
// Every message lies in a slab; there are as many as slots.

#include "tests/explore/pair.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr std::uint64_t kMostLetters = 3;
constexpr std::uint64_t kLifeNext = kLifeB + 1;

struct Succession : Pair {  // the receiver is the first life of B
  std::uint64_t letters = 0;
  std::optional<shm::DirectoryWriter> coordinator;
  std::optional<Receiver> second;
  std::optional<shm::Home> home;
  std::optional<shm::Inbox> inbox;
  std::uint32_t free[shm::kMinInboxCapacity];
  std::uint64_t known_life = kLifeB;  // that the sender follows
  std::uint64_t begun = 0;            // messages that the first has begun to finish
  std::uint64_t finished = 0;
  std::uint64_t again[kMostLetters + 1] = {};  // how often the second had each
};
Succession succession;

void fresh_succession(std::uint32_t slots, std::uint64_t letters) {
  succession = {};
  static_cast<Pair&>(succession) = fresh_pair(slots);
  succession.letters = letters;
  succession.coordinator.emplace(fresh_directory(), 1, shm::kMinMaxPayload, 1);
  succession.coordinator->set_word(0, {kLifeB, shm::AgentState::kRunning});
  succession.sender->slabs.set_allocated(0, slots);
  succession.second.emplace(succession.receiver->in,
                            fresh_link("next link B>A", contract_of(slots)));
  succession.home.emplace(fresh_home("home B", kLifeB));
  succession.inbox.emplace(*succession.home, succession.free);
  succession.inbox->grow_index(2);
  succession.inbox->add_entries(0, 1);
  shm::open_row(succession.home->row(0), kLinkA, kPidA, 0, 0);
  for (std::uint32_t number = 0; number < slots; ++number) {
    std::byte* slab = succession.sender->own.slab(number);
    std::memset(slab, 0, 8);
    explorer().watch(0, slab, 8, true);
  }
  explorer().watch(1, &succession.home->entry(0), sizeof(shm::Entry), false);
  explorer().watch(1, &succession.home->control().next_arrival, 8, false);
}

// SendPath::follow, SendPath::retarget and OutLink::find_receipts
void follow() {
  const shm::AgentWord word = succession.coordinator->view().agent(0);
  if (word.incarnation == succession.known_life) return;
  succession.known_life = word.incarnation;
  Sender& own = *succession.sender;
  own.opposite = view_of(succession.second->own);
  own.bank = own.opposite.find_bank(kLinkA);
  own.stamps_ready = false;
  check(own.bank != shm::kBanks, "the successor has no bank for the link that it was told of");
  own.lanes[0].listen_to(own.receipt(shm::Lane::kNormal), own.own.capacity(shm::Lane::kNormal));
  check(!own.lanes[0].lied_to(), "the receipts of the successor begin beyond what was sent");
}

void send_letters() {
  Sender& own = *succession.sender;
  for (std::uint64_t number = 1; number <= succession.letters; ++number) {
    auto loan = own.slabs.take(0);
    if (loan.slab == shm::kNoSlab) {
      await([&own] {
        follow();
        return own.find_stamps() && own.slabs.collect(0, own.opposite, own.bank) != 0;
      });
      loan = own.slabs.take(0);
    }
    const std::uint64_t payload = payload_of(number);
    std::memcpy(own.own.slab(loan.slab), &payload, 8);
    shm::MessageHeader header = message(number);
    header.flags = shm::kFlagSlab;
    header.slab = loan.slab;
    own.slabs.mark_out(loan);
    await([&own] {
      follow();
      check(own.lanes[0].refresh(own.receipt(shm::Lane::kNormal)), "a receipt moves back");
      return own.has_space(shm::Lane::kNormal);
    });
    own.put(shm::Lane::kNormal, header, loan.generation, nullptr);
  }
}

void read_letter(const shm::LinkView& in, std::uint32_t slab, std::uint64_t number) {
  std::uint64_t payload = 0;
  explorer().read_plain(in.slab(slab), 8);
  std::memcpy(&payload, in.slab(slab), 8);
  check(payload == payload_of(number), "a payload was overwritten before it was finished");
}

// The first receiver, with its real inbox.
void receive_letters() {
  Receiver& own = *succession.receiver;
  shm::Inbox& inbox = *succession.inbox;
  for (std::uint64_t number = 1; number <= succession.letters; ++number) {
    await([&own] { return own.has_message(shm::Lane::kNormal); });
    const std::uint64_t position = own.position[0];
    const shm::SlotCopy copy = own.take(shm::Lane::kNormal);
    own.ensure_stamps();
    const std::uint32_t at = inbox.put(copy, 0, shm::Lane::kNormal, position, 0, 0);
    inbox.commit(0, shm::Lane::kNormal, own.position[0]);
    own.commit(shm::Lane::kNormal);
    inbox.take_best(at);
    read_letter(own.in, copy.header.slab, number);
    succession.begun = number;
    inbox.done(at, &own.own.stamp(own.bank, copy.header.slab));
    shm::crash_fence();  // its user goes on, and does what others see
    succession.finished = number;
  }
}

void finish(const shm::SlotCopy& copy) {
  const std::uint64_t number = shm::counter_of_message(copy.header.id);
  check(number >= 1 && number <= succession.letters, "a message that nobody sent");
  ++succession.again[number];
  read_letter(succession.second->in, copy.header.slab, number);
  succession.second->ensure_stamps();
  shm::stamp(succession.second->own.stamp(0, copy.header.slab), copy.generation);
}

void take_over() {
  explorer().wait_for_death(1);
  Receiver& own = *succession.second;
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  const shm::LinkView receipts = view_of(succession.receiver->own);
  shm::InheritedLink link;
  link.key = kLinkA;
  link.owner_pid = kPidA;
  link.cursors[0] = old.row(0).cursors[0].relaxed_load();
  const std::size_t bank = receipts.find_bank(kLinkA);
  if (receipts.bank(bank).stamps_ready.relaxed_load() != 0) shm::copy_stamps(receipts, bank, link);
  link.layout = own.in.layout();
  link.verified.slabs[0] = own.in.capacity(shm::Lane::kNormal);
  own.position[0] = link.cursors[0];
  shm::inherit_stamps(own.own, 0, link);
  shm::open_bank(own.own.bank(0), kLinkA, link.cursors[0], 0);
  succession.coordinator->set_word(0, {kLifeNext, shm::AgentState::kRunning});
  const shm::EntryCopy copy = shm::copy_entry(old.entry(0));
  const auto verdict = shm::judge_entry(copy, link, old.control().next_arrival);
  check(verdict != shm::Inherit::kBad, "an entry that its owner wrote is refused");
  if (verdict == shm::Inherit::kTake) finish(copy.slot);
  while (own.position[0] < succession.letters) {
    await([&own] { return own.has_message(shm::Lane::kNormal); });
    finish(own.take(shm::Lane::kNormal));
    own.commit(shm::Lane::kNormal);
  }
}

Scenario takeover(const char* name, std::uint32_t slots, std::uint64_t letters) {
  Scenario scenario(name, "slabs, " + ring(slots, letters),
                    "a successor has what its predecessor had not finished, and nothing else");
  scenario.set_up = [slots, letters] { fresh_succession(slots, letters); };
  scenario.threads = {
      {"sender", [] { send_letters(); }},
      {"receiver", [] { receive_letters(); }},
      {"successor", [] { take_over(); }},
  };
  scenario.victim = 1;
  scenario.judge = [] {
    for (std::uint64_t number = 1; number <= succession.letters; ++number) {
      const std::uint64_t times = succession.again[number];
      check(times <= 1, "a message comes twice");
      check(number > succession.finished || times == 0, "a finished message comes again");
      check(number <= succession.begun || times == 1, "an accepted message is lost");
    }
  };
  scenario.least = 50;
  return scenario;
}

}  // namespace

void add_takeover_scenarios(Scenarios& scenarios, Depth /*depth*/) {
  scenarios.push_back(takeover("takeover", 1, 2));
  scenarios.push_back(takeover("takeover-3", 2, kMostLetters));
}

}  // namespace beeline::explore
