// A receiver is killed at each of its steps while its sender goes on, or it was fenced and goes on
// itself. A successor takes over its entries from the old home, its stamps and cursors from the old
// link, the rest from the lane. Every message lies in a slab.

#include "tests/explore/pair.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr std::uint64_t kMostLetters = 3;
constexpr shm::Incarnation kLifeNext = kLifeB + 1;

// The numbers of a scenario.
struct Size {
  std::uint32_t slots = 1;
  std::uint32_t slabs = 1;
  std::uint64_t letters = 2;
};

struct Succession : Pair {  // the receiver is the first life of B
  Size size;
  std::optional<shm::DirectoryWriter> coordinator;
  std::optional<Receiver> second;
  std::optional<shm::Home> home;
  std::optional<shm::Inbox> inbox;
  shm::EntryIndex free[shm::kMinInboxCapacity];
  std::uint64_t begun = 0;  // messages that the first life has begun to finish
  std::uint64_t finished = 0;
  std::uint64_t again[kMostLetters + 1] = {};  // how often the second life got each message
};
Succession succession;

void fresh_succession(const Size& size) {
  succession = {};
  static_cast<Pair&>(succession) = fresh_pair(size.slots);
  succession.size = size;
  succession.coordinator.emplace(fresh_directory(), 1, shm::kMinMaxPayload, 1);
  const shm::AgentWord first{kLifeB, shm::AgentState::kRunning};
  succession.coordinator->set_word(0, first);
  succession.sender->place = &succession.coordinator->view().word(0);
  succession.sender->known_word = first.pack();
  succession.sender->slabs.set_allocated(0, size.slabs);
  succession.second.emplace(succession.receiver->in,
                            fresh_link("next link B>A", contract_of(size.slots)));
  succession.home.emplace(fresh_home("home B", kLifeB));
  succession.inbox.emplace(*succession.home, succession.free);
  succession.inbox->grow_index(2);
  succession.inbox->add_entries(0, 1);
  shm::open_row(succession.home->row(shm::RowIndex(0)), kLinkA, kPidA, 0, 0);
  for (shm::SlabIndex slab(0); slab.value() < size.slabs; ++slab) {
    std::memset(succession.sender->own.slab(slab), 0, 8);
  }
}

// The earlier messages are done.
void watch_succession() {
  for (shm::SlabIndex slab(0); slab.value() < succession.size.slabs; ++slab) {
    explorer().watch(0, succession.sender->own.slab(slab), 8, true);
  }
  explorer().watch(1, &succession.home->entry(shm::EntryIndex(0)), sizeof(shm::Entry), false);
  explorer().watch(1, &succession.home->control().next_arrival, 8, false);
}

// SendPath::follow, SendPath::retarget and OutLink::find_receipts. The successor is the last life,
// so its receipts count.
void follow() {
  const shm::AgentWord word = succession.coordinator->view().agent(0);
  Sender& own = *succession.sender;
  if (word.pack() == own.known_word) return;
  own.known_word = word.pack();
  own.stamps_ready = false;
  own.bank = shm::kBanks;
  if (word.state == shm::AgentState::kStarting) return;
  own.opposite = view_of(succession.second->own);
  own.bank = own.opposite.find_bank(kLinkA);
  check(own.bank != shm::kBanks, "the successor has no bank for the link that it was told of");
  own.lanes[0].listen_to(own.receipt(shm::Lane::kNormal), own.own.capacity(shm::Lane::kNormal));
  check(!own.lanes[0].lied_to(), "the receipts of the successor begin beyond what was sent");
}

void put_letter(std::uint64_t number, const shm::SlabPool::Loan& loan) {
  Sender& own = *succession.sender;
  const std::uint64_t payload = payload_of(number);
  std::memcpy(own.own.slab(loan.slab), &payload, 8);
  shm::MessageHeader header = message(number);
  header.flags = shm::kFlagSlab;
  header.slab = loan.slab.value();
  own.slabs.mark_out(loan);
  own.put(shm::Lane::kNormal, header, loan.generation, nullptr);
}

void send_letters(std::uint64_t first) {
  Sender& own = *succession.sender;
  for (std::uint64_t number = first; number <= succession.size.letters; ++number) {
    auto loan = own.slabs.take(0);
    if (loan.slab == shm::kNoSlab) {
      await([&own] {
        follow();
        return own.collect_slabs(0);
      });
      loan = own.slabs.take(0);
    }
    await([&own] {
      follow();
      check(own.refresh(shm::Lane::kNormal), "a receipt moves back");
      return own.has_space(shm::Lane::kNormal);
    });
    put_letter(number, loan);
  }
}

void read_letter(const shm::LinkView& in, shm::SlabIndex slab, std::uint64_t number) {
  std::uint64_t payload = 0;
  explorer().read_plain(in.slab(slab), 8);
  std::memcpy(&payload, in.slab(slab), 8);
  check(payload == payload_of(number), "a payload was overwritten before it was finished");
}

// The first receiver puts a copied message from its lane into its real inbox. Returns the entry.
shm::EntryIndex put_in_home(const shm::SlotCopy& copy) {
  Receiver& own = *succession.receiver;
  own.ensure_stamps();
  return succession.inbox->put(copy, shm::RowIndex(0), shm::Lane::kNormal, own.position[0] - 1, 0,
                               0);
}

void commit_in_home() {
  Receiver& own = *succession.receiver;
  succession.inbox->commit(shm::RowIndex(0), shm::Lane::kNormal, own.position[0]);
  own.commit(shm::Lane::kNormal);
}

void receive_letters() {
  Receiver& own = *succession.receiver;
  shm::Inbox& inbox = *succession.inbox;
  for (std::uint64_t number = 1; number <= succession.size.letters; ++number) {
    await([&own] { return own.has_message(shm::Lane::kNormal); });
    const shm::SlotCopy copy = own.take(shm::Lane::kNormal);
    const shm::EntryIndex at = put_in_home(copy);
    commit_in_home();
    inbox.take_best();
    read_letter(own.in, shm::slab_of(copy.header), number);
    succession.begun = number;
    inbox.done(at, &own.own.stamp(own.bank, shm::slab_of(copy.header)));
    shm::crash_fence();  // its user goes on, and makes changes that others see
    succession.finished = number;
  }
}

void finish(const shm::SlotCopy& copy) {
  const std::uint64_t number = shm::counter_of_message(copy.header.id);
  check(number >= 1 && number <= succession.size.letters, "a message that nobody sent");
  ++succession.again[number];
  read_letter(succession.second->in, shm::slab_of(copy.header), number);
  succession.second->ensure_stamps();
  shm::stamp(succession.second->own.stamp(0, shm::slab_of(copy.header)), copy.generation);
}

// receive::inherit_link and receive::inherit_home, between two words of the coordinator.
void take_over(bool is_fenced) {
  Receiver& own = *succession.second;
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  const shm::LinkView receipts = view_of(succession.receiver->own);
  succession.coordinator->set_word(0, {kLifeB, shm::AgentState::kStarting});
  begin_to_read();
  shm::InheritedLink link;
  link.key = kLinkA;
  link.owner_pid = kPidA;
  const std::size_t bank = read_receipts(receipts, link, succession.size.slabs);
  check(read_row(old, link), "its row is open");
  link.layout = own.in.layout();
  link.verified.slabs[0] = succession.size.slabs;
  own.position[0] = link.cursors[0];
  shm::inherit_stamps(own.own, 0, link);
  shm::open_bank(own.own.bank(0), kLinkA, link.cursors[0], 0);
  const shm::EntryCopy copy = shm::copy_entry(old.entry(shm::EntryIndex(0)));
  const auto verdict = shm::judge_entry(copy, link, old.control().next_arrival);
  // Messages that a fenced life takes beyond the cursors that were read stay in its lane.
  check(is_fenced || verdict != shm::Inherit::kBad, "an entry that its owner wrote is refused");
  if (verdict == shm::Inherit::kTake) link.held.set(copy.slot.header.slab);
  inherit_late_stamps(receipts, bank, link, succession.size.slabs, own);
  succession.coordinator->set_word(0, {kLifeNext, shm::AgentState::kRunning});
  if (verdict == shm::Inherit::kTake) finish(copy.slot);
  while (own.position[0] < succession.size.letters) {
    await([&own] { return own.has_message(shm::Lane::kNormal); });
    finish(own.take(shm::Lane::kNormal));
    own.commit(shm::Lane::kNormal);
  }
}

[[nodiscard]] std::string bound_of(const Size& size) {
  return std::to_string(size.slabs) + " slabs, " + ring(size.slots, size.letters);
}

Scenario takeover(const char* name, const Size& size) {
  Scenario scenario(name, bound_of(size),
                    "a successor has what its predecessor had not finished, and nothing else");
  scenario.set_up = [size] {
    fresh_succession(size);
    watch_succession();
  };
  scenario.threads = {
      {"sender", [] { send_letters(1); }},
      {"receiver", [] { receive_letters(); }},
      {"successor",
       [] {
         explorer().wait_for_death(1);
         take_over(false);
       }},
  };
  scenario.victim = 1;
  scenario.judge = [] {
    for (std::uint64_t number = 1; number <= succession.size.letters; ++number) {
      const std::uint64_t times = succession.again[number];
      check(times <= 1, "a message comes twice");
      check(number > succession.finished || times == 0, "a finished message comes again");
      check(number <= succession.begun || times == 1, "an accepted message is lost");
    }
  };
  scenario.least = 50;
  return scenario;
}

// The first receiver was fenced and still runs: it commits that it has taken the first message, or
// finishes that, while its sender wants its place for the second message.
Scenario takeover_from_the_living(const char* name, const Size& size, bool is_taken) {
  Scenario scenario(name, bound_of(size),
                    "what a predecessor that still runs takes and finishes is not heard, and "
                    "nothing is written over that its successor waits for");
  static shm::SlotCopy first;
  static shm::EntryIndex held = shm::kNoEntry;
  scenario.set_up = [size, is_taken] {
    fresh_succession(size);
    put_letter(1, succession.sender->slabs.take(0));
    first = succession.receiver->take(shm::Lane::kNormal);
    held = put_in_home(first);
    if (is_taken) {
      commit_in_home();
      succession.inbox->take_best();
    }
    watch_succession();
  };
  const auto run_on = [is_taken] {
    if (!is_taken) return commit_in_home();
    const Receiver& own = *succession.receiver;
    succession.begun = 1;
    succession.inbox->done(held, &own.own.stamp(own.bank, shm::slab_of(first.header)));
  };
  scenario.threads = {
      {"sender", [] { send_letters(2); }},
      {"predecessor", run_on},
      {"successor", [] { take_over(true); }},
  };
  scenario.judge = [] {
    for (std::uint64_t number = 1; number <= succession.size.letters; ++number) {
      const std::uint64_t times = succession.again[number];
      check(times <= 1, "a message comes twice");
      check(number <= succession.begun || times == 1, "an accepted message is lost");
    }
  };
  scenario.least = 5;
  return scenario;
}

// The receiver is finally dead: the coordinator stores the word and reads the lanes, while a sender
// sends.
Scenario take_over_from_the_dead() {
  Scenario scenario("final-death", ring(2, 1),
                    "a message to the finally dead is a dead letter, or its sender sees the end");
  struct Outcome {
    bool is_orphaned = false;
    bool is_found = false;
  };
  static Outcome outcome;
  scenario.set_up = [] {
    fresh_succession({2, 1, 1});
    outcome = {};
  };
  scenario.threads = {
      {"sender",
       [] {
         succession.sender->send(shm::Lane::kNormal, 1);
         outcome.is_orphaned = succession.sender->is_orphaned();
       }},
      {"coordinator",
       [] {
         succession.coordinator->set_word(0, {kLifeB, shm::AgentState::kDead});
         begin_takeover();
         outcome.is_found = succession.receiver->has_message(shm::Lane::kNormal);
       }},
  };
  scenario.judge = [] {
    check(outcome.is_orphaned || outcome.is_found, "a message is left in a lane that was read");
  };
  scenario.least = 3;
  return scenario;
}

}  // namespace

void add_takeover_scenarios(Scenarios& scenarios, Depth /*depth*/) {
  scenarios.push_back(take_over_from_the_dead());
  scenarios.push_back(takeover_from_the_living("living-lane", {1, 2, 2}, false));
  scenarios.push_back(takeover_from_the_living("living-slab", {2, 1, 2}, true));
  scenarios.push_back(takeover("takeover", {}));
  scenarios.push_back(takeover("takeover-3", {2, 2, kMostLetters}));
}

}  // namespace beeline::explore
