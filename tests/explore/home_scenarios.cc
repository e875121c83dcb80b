// An agent is killed inside its inbox, and a successor looks at its home: no accepted message is
// lost, none comes twice, the counts agree. The victim's entries are watched, because they are
// plain memory.

#include <optional>

#include "shm/verify_home.h"
#include "tests/explore/engine.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr std::uint32_t kEntries = 2;
constexpr shm::RowIndex kRow(0);
constexpr std::uint64_t kMessages = 3;  // 1 and 2 in the normal lane, 3 in the urgent one
constexpr std::uint64_t kUrgentStart = 5;
constexpr std::uint64_t kBefore = 90;  // an old message
constexpr std::uint64_t kGeneration = 4;

enum class Fate { kKept, kEnding, kEnded };

struct Victim {
  std::optional<shm::Home> home;
  std::optional<shm::Inbox> inbox;
  shm::EntryIndex free[shm::kMinInboxCapacity];
  shm::EntryIndex entry[kMessages + 1];  // of each message, once it was put
  Fate fate[kMessages + 1];
  bool in_slab;  // message 1
};
Victim victim;

[[nodiscard]] shm::Link lanes() {
  return {segment("link A>B", 1), contract_of(8), shm::WholeLink{}};
}
[[nodiscard]] shm::Link stamps() {
  return {segment("link B>A", 1), contract_of(8), shm::WholeLink{}};
}
[[nodiscard]] shm::Lane lane_of_number(std::uint64_t number) {
  return number == 3 ? shm::Lane::kUrgent : shm::Lane::kNormal;
}
[[nodiscard]] std::uint64_t position_of(std::uint64_t number) {
  return number == 3 ? kUrgentStart : number - 1;
}

[[nodiscard]] shm::SlotCopy slot_of(std::uint64_t number) {
  shm::SlotCopy copy{};
  copy.header = message(number);
  const std::uint64_t payload = payload_of(number);
  std::memcpy(copy.payload, &payload, 8);
  if (number == 1 && victim.in_slab) {
    copy.header.flags = shm::kFlagSlab;
    copy.header.slab = 0;
    copy.generation = kGeneration;
  }
  return copy;
}

void put(std::uint64_t number) {
  victim.entry[number] = victim.inbox->put(slot_of(number), kRow, lane_of_number(number),
                                           position_of(number), static_cast<int>(number), 0);
}
void commit(std::uint64_t number) {
  victim.inbox->commit(kRow, lane_of_number(number), position_of(number) + 1);
}
void take(std::uint64_t number) { victim.inbox->take(victim.entry[number]); }
void put_and_take(std::uint64_t number) {
  put(number);
  commit(number);
  take(number);
}
[[nodiscard]] shm::Atomic<std::uint64_t>* stamp_of(std::uint64_t number) {
  return number == 1 && victim.in_slab ? &stamps().stamp(0, kSlab) : nullptr;
}
void done(std::uint64_t number, bool has_bank = true) {
  victim.fate[number] = Fate::kEnding;
  victim.inbox->done(victim.entry[number], has_bank ? stamp_of(number) : nullptr);
  shm::crash_fence();  // its user goes on, and makes changes that others see
  victim.fate[number] = Fate::kEnded;
}
void bury(std::uint64_t number) {
  victim.inbox->bury(victim.entry[number], shm::DeadReason::kRejected);
}
void purge(std::uint64_t number) {
  victim.fate[number] = Fate::kEnding;
  victim.inbox->purge(victim.entry[number], stamp_of(number));
  shm::crash_fence();
  victim.fate[number] = Fate::kEnded;
}

// Three messages in the lanes, a home that has handled one before, and `more`.
void fresh_victim(bool in_slab, const std::function<void()>& more) {
  const shm::Link a = fresh_link("link A>B", contract_of(8));
  const shm::Link b = fresh_link("link B>A", contract_of(8));
  victim.in_slab = in_slab;
  std::fill(std::begin(victim.fate), std::end(victim.fate), Fate::kKept);
  for (std::uint64_t number = 1; number <= kMessages; ++number) {
    const shm::SlotCopy copy = slot_of(number);
    const std::uint64_t at = position_of(number);
    shm::publish_slot(a.slot(lane_of_number(number), at), at, copy.header, copy.generation,
                      copy.payload);
  }
  shm::open_bank(b.bank(0), kLinkA, 0, 0);
  b.bank(0).stamps_ready.relaxed_store(1);
  victim.home.emplace(fresh_home("home B", kLifeB));
  // An earlier life has finished all messages before the first old one.
  victim.home->control().counters.done.relaxed_store(kUrgentStart - 1);
  victim.inbox.emplace(*victim.home, victim.free);
  victim.inbox->grow_index(kEntries);
  victim.inbox->add_entries(0, kEntries);
  shm::open_row(victim.home->row(kRow), kLinkA, kPidA, 0, kUrgentStart - 1);
  victim.inbox->put(slot_of(kBefore), kRow, shm::Lane::kUrgent, kUrgentStart - 1, 0, 0);
  victim.inbox->commit(kRow, shm::Lane::kUrgent, kUrgentStart);
  victim.inbox->done(victim.inbox->take_best(), nullptr);
  if (more) more();
  explorer().watch(0, &victim.home->entry(shm::EntryIndex(0)), kEntries * sizeof(shm::Entry),
                   false);
  explorer().watch(0, &victim.home->control().next_arrival, 8, false);
  explorer().watch(0, &victim.home->control().index, sizeof(shm::IndexControl), false);
}

// The checks of shm-dump on the home that is left.
void verify_left() {
  const std::span<const std::byte> left(segment("home B", 1), victim.home->layout().bytes);
  const auto finding = shm::verify_home(shm::ByteView(left), shm::Taken::kAfterDeath);
  check(!finding, finding ? finding->invariant : "");
}

[[nodiscard]] shm::InheritedLink link_to_inherit() {
  shm::InheritedLink link;
  link.key = kLinkA;
  link.owner_pid = kPidA;
  link.layout = lanes().layout();
  link.verified.slabs[0] = 1;
  return link;
}

struct Found {
  std::uint64_t live[kMessages + 1] = {};
  std::uint64_t in_lane[kMessages + 1] = {};
  std::uint64_t entries = 0;
};

void look_at_entries(const shm::HomeView& old, const shm::InheritedLink& link, Found& found) {
  for (shm::EntryIndex i(0); i.value() < old.entries_allocated(); ++i) {
    const shm::EntryCopy copy = shm::copy_entry(old.entry(i));
    if (copy.word.state != shm::EntryState::kFree && copy.word.row != kRow) continue;
    const auto verdict = shm::judge_entry(copy, link, old.control().next_arrival);
    check(verdict != shm::Inherit::kBad, "an entry that its owner wrote is refused");
    if (verdict != shm::Inherit::kTake) continue;
    const shm::MessageHeader& header = copy.slot.header;
    const std::uint64_t number = shm::counter_of_message(header.id);
    check(number >= 1 && number <= kMessages, "a message that was finished long ago comes back");
    ++found.live[number];
    ++found.entries;
    check(header.length == 8 && header.sent_ns == static_cast<int>(number), "a header is torn");
    const std::uint64_t payload = payload_of(number);
    const bool whole = victim.in_slab && number == 1
                           ? copy.slot.generation == kGeneration
                           : std::memcmp(copy.slot.inline_payload(), &payload, 8) == 0;
    check(whole, "a payload is torn");
    const auto reason = static_cast<shm::DeadReason>(header.flags >> shm::kReasonShift);
    const bool is_dead = copy.word.state == shm::EntryState::kDead;
    check(!is_dead || reason != shm::DeadReason::kNone, "a dead letter has lost its reason");
    const bool was_revived =
        reason != shm::DeadReason::kNone && !is_dead && copy.word.state == shm::EntryState::kQueued;
    check(!was_revived || (header.flags & shm::kFlagRevived) != 0,
          "a letter is back in the queue without its mark");
  }
}

// Returns how many messages wait in the lanes behind the cursors.
std::uint64_t look_at_lanes(const shm::InheritedLink& link, Found& found) {
  std::uint64_t waiting = 0;
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    std::uint64_t at = link.cursors[static_cast<std::size_t>(lane)];
    const std::uint64_t count = shm::published_from(view_of(lanes()), lane, at);
    for (const std::uint64_t end = at + count; at != end; ++at, ++waiting) {
      ++found.in_lane[lane == shm::Lane::kUrgent ? 3 : at + 1];
    }
  }
  return waiting;
}

// The successor's view, once the victim is dead.
void judge_home() {
  explorer().wait_for_death(0);
  const shm::LinkView receipts = view_of(stamps());
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  shm::InheritedLink link = link_to_inherit();
  const std::size_t bank = read_receipts(receipts, link);
  const bool has_row = read_row(old, link);
  Found found;
  std::uint64_t waiting = 0;
  if (has_row) {
    look_at_entries(old, link, found);
    waiting = look_at_lanes(link, found);
    for (std::uint64_t number = 1; number <= kMessages; ++number) {
      const std::uint64_t there = found.live[number] + found.in_lane[number];
      const Fate fate = victim.fate[number];
      check(there <= 1, "a message is there twice");
      check(fate != Fate::kEnded || there == 0, "a finished message comes back");
      check(fate != Fate::kKept || there == 1, "an accepted message is lost");
    }
    // A sender with a closed bank is gone, and its slabs with it.
    const bool has_stamps = victim.in_slab && bank != shm::kBanks;
    if (has_stamps && found.live[1] + found.in_lane[1] == 0) {
      check(receipts.stamp(0, kSlab).relaxed_load() == kGeneration, "a slab is lost for ever");
    }
  }
  // Those of the four messages that are in no lane were taken, also the old one.
  const std::uint64_t drained = shm::drained_total(old);
  const std::uint64_t taken = kUrgentStart + kMessages - waiting;
  check(drained == taken, "the count of what was ever taken is wrong");
  const std::uint64_t finished =
      old.control().counters.done.relaxed_load() + old.control().counters.purged.relaxed_load();
  check(!has_row || finished <= drained - found.entries,
        "a counter has run ahead of the entries that it counts");
}

// Rows that open and close: taken messages count once.
constexpr std::uint64_t kTaken = kUrgentStart + kMessages;
constexpr shm::LinkKey kNextLink{kLifeA + 1, 2};

void take_everything() {
  for (std::uint64_t number = 1; number <= kMessages; ++number) {
    put_and_take(number);
    victim.inbox->done(victim.entry[number], nullptr);
  }
}

void judge_rows() {
  explorer().wait_for_death(0);
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  check(shm::drained_total(old) == kTaken, "what a row has counted counts twice, or not at all");
  const shm::InRow& row = old.row(kRow);
  const shm::Incarnation life(row.incarnation.relaxed_load());
  const shm::LinkKey key{life, row.serial.relaxed_load()};
  check(key.incarnation != kNextLink.incarnation || key == kNextLink, "a row with half a name");
}

Scenario row(const char* name, std::function<void()> before, std::function<void()> acts) {
  Scenario scenario(name, "1 row",
                    "an inbox that dies while a row opens or closes counts what it took once");
  scenario.set_up = [before = std::move(before)] { fresh_victim(false, before); };
  scenario.threads = {{"victim", std::move(acts)}, {"successor", [] { judge_rows(); }}};
  scenario.judge = [] { verify_left(); };
  scenario.victim = 0;
  scenario.least = 5;
  return scenario;
}

// A successor builds its home and is killed meanwhile; the next one takes over from the newest
// ready one.
Scenario inherit() {
  Scenario scenario("inherit", "2 entries", "a home that says ready holds all that it inherited");
  scenario.set_up = [] {
    fresh_victim(false, [] {
      put_and_take(1);
      put(2);
      commit(2);
    });
    const shm::Home home = fresh_home("next home B", kLifeB + 1);
    home.control().entries_allocated.relaxed_store(kEntries);
    explorer().watch(0, &home.entry(shm::EntryIndex(0)), kEntries * sizeof(shm::Entry), false);
  };
  scenario.threads = {
      {"successor",
       [] {
         const shm::Home next(segment("next home B", 1), shm::kMinInboxCapacity);
         const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
         shm::open_row(next.row(kRow), kLinkA, kPidA, 2, kUrgentStart);
         for (shm::EntryIndex i(0); i.value() < kEntries; ++i) {
           shm::inherit_entry(next, i, shm::copy_entry(old.entry(i)), kRow);
         }
         shm::inherit_counters(next, old, kEntries, shm::drained_total(old));
         set_ready(next);
       }},
      {"coordinator",
       [] {
         explorer().wait_for_death(0);
         const shm::HomeView next(segment("next home B", 1), shm::kMinInboxCapacity);
         if (!is_ready(next.header())) return;
         for (shm::EntryIndex i(0); i.value() < kEntries; ++i) {
           const shm::EntryCopy copy = shm::copy_entry(next.entry(i));
           const std::uint64_t number = shm::counter_of_message(copy.slot.header.id);
           check(copy.word.state == shm::EntryState::kQueued, "an inherited entry is missing");
           check(number >= 1 && number <= kMessages, "an inherited entry is half written");
           check(copy.word.attempts == (number == 1 ? 1 : 0), "a lease is not counted");
         }
         check(shm::drained_total(next) == kUrgentStart + 2, "the accounts are incomplete");
         check(next.control().counters.done.relaxed_load() == kUrgentStart,
               "the counters are not there");
       }},
  };
  scenario.victim = 0;
  scenario.least = 8;
  return scenario;
}

// The predecessor was fenced and still runs: it is told of a link, and takes from it, while its
// successor looks.
constexpr std::uint64_t kOtherCursor = 7;  // of the link that had the row before

void take_from_new_link() {
  shm::ReceiptBank& receipts = stamps().bank(0);
  shm::open_row(victim.home->row(kRow), kLinkA, kPidA, 0, kUrgentStart);
  for (const std::uint64_t number : {1, 3}) {
    put(number);
    commit(number);
    const auto lane = static_cast<std::size_t>(lane_of_number(number));
    receipts.cursors[lane].publish(position_of(number) + 1);
  }
}

void look_at_the_living() {
  const shm::LinkView receipts = view_of(stamps());
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  shm::InheritedLink link = link_to_inherit();
  (void)read_receipts(receipts, link);
  const bool has_row = read_row(old, link);
  const std::uint64_t start[shm::kLanes] = {0, kUrgentStart};
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    check(has_row || link.receipts[lane] == start[lane], "what has a receipt has no row");
    if (!has_row) continue;
    check(link.cursors[lane] - start[lane] <= 1, "a cursor of another link");
    check(link.receipts[lane] <= link.cursors[lane], "a receipt promises more than the home holds");
  }
  if (!has_row) return;
  Found found;
  look_at_entries(old, link, found);
  look_at_lanes(link, found);
  for (std::uint64_t number = 1; number <= kMessages; ++number) {
    check(found.live[number] + found.in_lane[number] == 1, "an accepted message is lost, or twice");
  }
}

Scenario inherit_from_the_living() {
  Scenario scenario("inherit-living", "2 lanes, 2 messages, 2 entries",
                    "a predecessor that still takes messages loses none for its successor");
  scenario.set_up = [] {
    fresh_victim(false, [] {
      shm::InRow& row = victim.home->row(kRow);
      shm::close_row(victim.home->control(), row);
      for (auto& cursor : row.cursors) cursor.relaxed_store(kOtherCursor);
      stamps().bank(0).cursors[1].relaxed_store(kUrgentStart);
    });
  };
  scenario.threads = {{"predecessor", [] { take_from_new_link(); }},
                      {"successor", [] { look_at_the_living(); }}};
  scenario.least = 5;
  return scenario;
}

// It takes the message in the slab, reads it and finishes it.
void finish_in_slab() {
  put(1);
  commit(1);
  stamps().bank(0).cursors[0].publish(1);
  take(1);
  explorer().read_plain(lanes().slab(kSlab), 8);
  done(1);
}

// A stamp is believed, so the message must be behind the cursor: else it would be taken once more,
// with a payload that its sender writes over, as is done here.
void look_at_its_stamps() {
  const shm::HomeView old(segment("home B", 1), shm::kMinInboxCapacity);
  const shm::LinkView receipts = view_of(stamps());
  shm::InheritedLink link = link_to_inherit();
  const std::size_t bank = read_receipts(receipts, link);
  check(read_row(old, link), "its row is open");
  const bool was_finished = link.stamps[0] == kGeneration;
  check(!was_finished || link.cursors[0] == 1, "what is finished is still to take");
  if (link.cursors[0] == 0) return;
  Found found;
  look_at_entries(old, link, found);
  link.held[0] = found.live[1] != 0;
  const bool ended = was_finished || shm::late_stamp(receipts, bank, kSlab, link) == kGeneration;
  check(ended != link.held[0], "a slab is lost for ever, or given away while it is held");
  if (ended) std::memset(lanes().slab(kSlab), 1, 8);
}

Scenario inherit_stamps_of_the_living() {
  Scenario scenario("inherit-stamps", "1 lane, 1 message",
                    "what a predecessor that still runs has finished, it has taken, and its "
                    "sender hears of it");
  scenario.set_up = [] {
    fresh_victim(true, {});
    std::memset(lanes().slab(kSlab), 0, 8);
    explorer().watch(1, lanes().slab(kSlab), 8, true);
  };
  scenario.threads = {{"predecessor", [] { finish_in_slab(); }},
                      {"successor", [] { look_at_its_stamps(); }}};
  scenario.least = 4;
  return scenario;
}

Scenario home(const char* name, bool in_slab, std::function<void()> before,
              std::function<void()> acts) {
  Scenario scenario(name, "2 lanes, 3 messages, 2 entries",
                    "an inbox that dies anywhere in this loses nothing and repeats nothing");
  scenario.set_up = [in_slab, before = std::move(before)] { fresh_victim(in_slab, before); };
  scenario.threads = {{"victim", std::move(acts)}, {"successor", [] { judge_home(); }}};
  scenario.judge = [] { verify_left(); };
  scenario.victim = 0;
  scenario.least = 8;
  return scenario;
}

// The sender is gone for good: its bank is closed, after its entries have gone or while they are
// leased.
void add_ends_of_links(Scenarios& all) {
  all.push_back(home(
      "home-forget", true,
      [] {
        put_and_take(1);
        for (const std::uint64_t number : {2, 3}) put_and_take(number), done(number);
      },
      [] {
        done(1);
        shm::close_row(victim.home->control(), victim.home->row(kRow));
        shm::close_bank(stamps().bank(0));
      }));
  all.push_back(home(
      "home-close-bank", true, [] { put_and_take(1), put_and_take(2); },
      [] {
        done(1);
        shm::close_bank(stamps().bank(0));
        done(2);
      }));
  all.push_back(home(
      "home-closed-bank", true, [] { put_and_take(1); },
      [] {
        shm::close_bank(stamps().bank(0));
        done(1, false);
      }));
}

}  // namespace

void add_home_scenarios(Scenarios& all, Depth /*depth*/) {
  all.push_back(home("home-drain", false, {}, [] {
    put(1);
    put(2);
    commit(2);
  }));
  all.push_back(home("home-take", false, {}, [] { put_and_take(1); }));
  all.push_back(home(
      "home-done", true, [] { put_and_take(1); }, [] { done(1); }));
  all.push_back(home(
      "home-reuse", false, [] { put_and_take(3), put_and_take(1); },
      [] {
        done(3);
        put(2);
        commit(2);
        take(2);
      }));
  all.push_back(home(
      "home-requeue", false, [] { put_and_take(1); },
      [] {
        put(2);
        commit(2);
        victim.inbox->requeue(victim.entry[1]);
      }));
  all.push_back(home(
      "home-bury", false, [] { put_and_take(1); }, [] { bury(1); }));
  all.push_back(home(
      "home-revive", false, [] { put_and_take(1), bury(1); },
      [] {
        victim.inbox->revive(victim.entry[1]);
        take(1);
      }));
  all.push_back(home(
      "home-purge", true, [] { put_and_take(1), bury(1); }, [] { purge(1); }));
  all.push_back(home(
      "home-grow", false, [] { put(1), put(2), commit(2); },
      [] {
        victim.inbox->grow_index(2 * kEntries);
        victim.inbox->add_entries(kEntries, kEntries + 1);
        put(3);
        commit(3);
      }));
  all.push_back(row(
      "row-close", [] { take_everything(); },
      [] { shm::close_row(victim.home->control(), victim.home->row(kRow)); }));
  all.push_back(row(
      "row-open",
      [] {
        take_everything();
        shm::close_row(victim.home->control(), victim.home->row(kRow));
      },
      [] { shm::open_row(victim.home->row(kRow), kNextLink, kPidA, 0, 0); }));
  add_ends_of_links(all);
  all.insert(all.end(), {inherit(), inherit_from_the_living(), inherit_stamps_of_the_living()});
}

}  // namespace beeline::explore
