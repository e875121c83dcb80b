#include "tests/killpoints/judge.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "shm/verify.h"

namespace beeline::killpoints {
namespace {

constexpr int kMostRounds = 100;  // rounds of taking everything; far more than any scenario needs
constexpr std::size_t kExtra = 3;
constexpr std::size_t kMeanwhile = 12;

using Lane = shm::Lane;

std::string describe(const char* what, const shm::Broken& broken) {
  return fmt::format("tools: {}: {} at {}: found {}, expected {}", what, broken.invariant,
                     broken.where, broken.found, broken.limit);
}

std::string verify(const char* what, const std::byte* base, std::size_t bytes, shm::Taken taken) {
  const auto finding = shm::verify_segment({base, bytes}, taken);
  return finding ? describe(what, *finding) : std::string();
}

// The checks on the segments of one life that need no other segment.
std::string verify_life(const Life& life, shm::Taken taken) {
  const segment::Owned& home = life.receiver->home().memory();
  const std::string who = fmt::format("agent {} life {}", life.pid, life.incarnation.value());
  auto found = verify((who + " home").c_str(), home.data(), home.size(), taken);
  if (found.empty())
    found = verify((who + " link").c_str(), life.whole.data(), life.whole.size(), taken);
  return found;
}

// If the sender is told that a message was taken, it is in the home, whenever the receiver is
// killed. A takeover would hide a violation, because a successor follows a receipt that is ahead.
std::string verify_receipts(const Life& life) {
  for (const auto& link : life.receiver->links().all()) {
    if (!link->sink().valid()) continue;
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      const auto& receipts = life.out->view().bank(link->sink().bank);
      const std::uint64_t told = receipts.cursors[lane].relaxed_load();
      const std::uint64_t held = life.home().row(link->row()).cursors[lane].relaxed_load();
      if (told <= held) continue;
      return fmt::format("I2: lane {}: the receipt says {}, the home {}", lane, told, held);
    }
  }
  return {};
}

// Takes every message that a receiver can find, and keeps count.
class Taker {
 public:
  Taker(Ledger& ledger, Life& life) : ledger_(ledger), life_(life) {}

  // Violations go into `finding`.
  void take_everything(Finding& finding);
  void take_dead_letters(Finding& finding);
  // Finishes the messages that consumers hold.
  void finish_leases(Finding& finding);

 private:
  void deliver(shm::EntryIndex at, Finding& finding);
  [[nodiscard]] std::string look_at(shm::EntryIndex at, Message*& message) const;
  [[nodiscard]] std::string in_order(const Message& message, const shm::Entry& entry);

  Ledger& ledger_;
  Life& life_;
  std::map<std::pair<std::int32_t, bool>, std::uint64_t> last_;  // id by rank and lane
};

void complain(Finding& finding, std::string text) {
  if (finding.text.empty()) finding.text = std::move(text);
}

// Checks every byte of it.
std::string Taker::look_at(shm::EntryIndex at, Message*& message) const {
  const shm::MessageHeader& header = life_.receiver->entry(at).header;
  message = ledger_.find(header.id);
  if (message == nullptr) return fmt::format("I1: message {:x} was never sent", header.id);
  if (header.length != message->length || header.rank != message->rank) {
    return fmt::format("I3: message {:x}: length {} rank {}, expected {} and {}", header.id,
                       header.length, header.rank, message->length, message->rank);
  }
  const auto payload = life_.receiver->payload(at);
  if (payload.size() != message->length ||
      !is_payload(message->id, payload.data(), payload.size())) {
    return fmt::format("I3: message {:x}: its payload is torn", header.id);
  }
  return {};
}

// Messages of one sender, rank and lane are delivered in the order of their sends.
std::string Taker::in_order(const Message& message, const shm::Entry& entry) {
  if ((entry.header.flags & shm::kUnindexedFlags) != 0) return {};
  std::uint64_t& last = last_[{message.rank, shm::lane_of(entry.header) == Lane::kUrgent}];
  const std::uint64_t before = std::exchange(last, message.id);
  if (message.id > before) return {};
  return fmt::format("I1: message {:x} is delivered after {:x} of its rank", message.id, before);
}

void Taker::deliver(shm::EntryIndex at, Finding& finding) {
  Message* message = nullptr;
  if (auto wrong = look_at(at, message); !wrong.empty()) return complain(finding, wrong);
  Fate& fate = finding.fates[ledger_.place(*message)];
  if (fate != kUnsent) {
    complain(finding, fmt::format("I1: message {:x} is there twice: {}, and again", message->id,
                                  to_string(fate)));
  }
  const shm::Entry& entry = life_.receiver->entry(at);
  fate = live(entry.word().attempts);
  if (auto wrong = in_order(*message, entry); !wrong.empty()) complain(finding, wrong);
  life_.receiver->done(at);
}

void Taker::take_everything(Finding& finding) {
  receive::Receiver& receiver = *life_.receiver;
  for (int round = 0; round < kMostRounds; ++round) {
    bool some = receiver.drain_all();
    for (shm::EntryIndex at = receiver.take(); at != shm::kNoEntry; at = receiver.take()) {
      deliver(at, finding);
      some = true;
      if (!finding.ok()) return;
    }
    for (shm::EntryIndex at = receiver.take_stashed_answer(); at != shm::kNoEntry;
         at = receiver.take_stashed_answer()) {
      deliver(at, finding);
      some = true;
    }
    if (!some) return;
  }
  complain(finding, "I7: there is always something more to take");
}

// A successor counts a lease as a delivery and buries a task, and so does this. A held message that
// was cancelled becomes a dead letter.
void Taker::finish_leases(Finding& finding) {
  for (shm::EntryIndex at(0); at.value() < life_.home().entries_allocated(); ++at) {
    const shm::EntryWord word = life_.home().entry(at).word();
    if (word.state != shm::EntryState::kLeased) continue;
    if (life_.receiver->is_cancelled(at)) {
      life_.receiver->requeue(at);
      continue;
    }
    Message* message = nullptr;
    if (auto wrong = look_at(at, message); !wrong.empty()) return complain(finding, wrong);
    finding.fates[ledger_.place(*message)] =
        life_.home().entry(at).is_task() ? dead(shm::DeadReason::kCancelled)
                                         : live(static_cast<std::uint8_t>(word.attempts + 1));
    life_.receiver->done(at);
  }
}

void Taker::take_dead_letters(Finding& finding) {
  const shm::Home& home = life_.home();
  for (shm::EntryIndex at(0); at.value() < home.entries_allocated(); ++at) {
    if (home.entry(at).word().state != shm::EntryState::kDead) continue;
    Message* message = nullptr;
    if (auto wrong = look_at(at, message); !wrong.empty()) return complain(finding, wrong);
    Fate& fate = finding.fates[ledger_.place(*message)];
    if (fate != kUnsent) {
      complain(finding, fmt::format("I1: message {:x} is a dead letter and {}", message->id,
                                    to_string(fate)));
    }
    fate = dead(home.entry(at).reason());
    life_.receiver->purge_dead(at);
  }
}

// No message is left, and every message that was ever committed is accounted for.
std::string verify_balance(const Life& life, std::size_t committed) {
  const auto& inbox = life.receiver->home().inbox();
  if (!life.receiver->all_empty() || inbox.queued() + inbox.leased() + inbox.dead() != 0) {
    return fmt::format("I1: {} queued, {} leased, {} dead entries are left", inbox.queued(),
                       inbox.leased(), inbox.dead());
  }
  const shm::InboxCounters& counters = life.home().control().counters;
  const std::uint64_t drained = shm::drained_total(life.home());
  const std::uint64_t ended = counters.done.observe() + counters.purged.observe();
  if (drained == committed && ended == committed) return {};
  return fmt::format("balance: {} were sent, {} drained, {} done or purged", committed, drained,
                     ended);
}

// A message that was committed before and is nowhere now is gone. Returns how many were ever
// committed.
std::size_t settle_gone(const Ledger& ledger, const Fates& before, Finding& finding) {
  std::size_t committed = 0;
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    Fate& fate = finding.fates[i];
    if (fate == kUnsent && before[i] != kUnsent) fate = kGone;
    committed += fate == kUnsent ? 0 : 1;
  }
  return committed;
}

// The part of a sender's state that no kill of a receiver changes.
struct SenderState {
  explicit SenderState(const Life& life)
      : lanes{life.out->lanes[0], life.out->lanes[1]},
        awaited{life.out->awaited[0], life.out->awaited[1]},
        slabs(life.out->slabs),
        receipts(life.out->receipts),
        bell(life.out->bell),
        known_word(life.out->known_word),
        sent(life.out->counts.sent),
        path(life.path) {}
  void restore(Life& life) const {
    for (std::size_t i = 0; i < shm::kLanes; ++i) {
      life.out->lanes[i] = lanes[i];
      life.out->awaited[i] = awaited[i];
    }
    life.out->slabs = slabs;
    life.out->receipts = receipts;
    life.out->bell = bell;
    life.out->known_word = known_word;
    life.out->counts.sent = sent;
    life.path = path;
  }

 private:
  shm::LaneWriter lanes[shm::kLanes];
  std::uint64_t awaited[shm::kLanes];
  shm::SlabPool slabs;
  send::Receipts receipts;
  wake::Bell bell;
  std::uint64_t known_word;
  std::uint64_t sent;
  send::SendPath path;
};

// Every slot and slab that the sender has handed over has come back.
std::string verify_given_back(Life& sender, const Life& receiver) {
  send::OutLink& link = *sender.out;
  sender.path.follow(link);
  const std::uint64_t left = link.not_taken();
  if (left != 0) return fmt::format("I2: {} messages are not taken for the sender", left);
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    const std::uint64_t taken =
        receiver.receiver->links().all().front()->position(static_cast<shm::Lane>(lane));
    if (taken == link.lanes[lane].tail()) continue;
    return fmt::format("I2: lane {}: the sender is at {}, the receiver at {}", lane,
                       link.lanes[lane].tail(), taken);
  }
  if (link.receipts.bank == shm::kBanks) return "I4: the sender finds no receipts";
  for (std::size_t c = 0; c < shm::kSlabClasses && link.slabs.out() != 0; ++c) {
    link.collect_slabs(c);
  }
  if (link.slabs.out() == 0) return {};
  return fmt::format("I4: {} slabs never come back", link.slabs.out());
}

// Nobody receives, and the sender goes on: it writes into every slot and slab that it got back. Its
// messages join the ledger.
void send_meanwhile(Life& sender, Ledger& ledger) {
  send::OutLink& link = *sender.out;
  sender.path.follow(link);
  if (link.receipts.bank == shm::kBanks) link.find_receipts();
  const auto& classes = link.view().layout().classes;
  std::vector<shm::SlabPool::Loan> loans;
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) {
    link.collect_slabs(c);
    for (auto loan = link.slabs.take(c); loan.slab != shm::kNoSlab; loan = link.slabs.take(c)) {
      std::memset(link.slab_bytes(loan), 0xa5, classes[c].slab_bytes);
      loans.push_back(loan);
    }
  }
  for (const auto& loan : loans) link.slabs.put_back(loan);
  for (std::size_t i = 0; i < kMeanwhile; ++i) {
    Message message;
    message.id = sender.path.reserve_id();
    message.length = 60;
    std::array<std::byte, shm::kInlineBytes> payload{};
    fill_payload(message.id, payload.data(), message.length);
    const auto outcome = sender.path.write(
        link, {.payload = std::span(payload).first(message.length), .id = message.id});
    if (outcome != SendStatus::kOk) return;
    ledger.add(message);
  }
}

// Does something that a sleeper waits for: the sleeper must be rung.
template <typename Work>
void expect_ring(World& world, const char* whom, Finding& finding, Work&& work) {
  world.fall_asleep();
  work();
  if (!world.wake_up()) complain(finding, fmt::format("I6: {} is not rung", whom));
}

// The next life takes everything, from a sender that slept while it waited for space.
void take_from_sleeper(Life& sender, Life& next, Taker& taker, Finding& finding) {
  World& world = *sender.world;
  sender.out->view().control().space.relaxed_store(1);
  expect_ring(world, "who waited for space when its receiver died", finding,
              [&] { next.receiver->ring_all_for_space(); });
  expect_ring(world, "who waits for space", finding, [&] { taker.take_everything(finding); });
  sender.out->view().control().space.relaxed_store(0);
}

// The two go on as if nothing had happened.
void go_on(Life& sender, Life& receiver, Finding& finding) {
  constexpr std::uint32_t kLengths[kExtra] = {24, 700, 12};
  constexpr std::int32_t kRanks[kExtra] = {2, 2, 0};
  Ledger extra;
  for (std::size_t i = 0; i < kExtra; ++i) {
    Message message;
    message.id = sender.path.reserve_id();
    message.length = kLengths[i];
    message.rank = kRanks[i];
    std::array<std::byte, 1024> payload{};
    fill_payload(message.id, payload.data(), message.length);
    extra.add(message);
    auto outcome = SendStatus::kOk;
    expect_ring(*sender.world, "who waits for a message", finding, [&] {
      outcome = sender.path.write(
          *sender.out,
          {std::span(payload).first(message.length), {.rank = message.rank}, message.id});
    });
    if (outcome == SendStatus::kOk) continue;
    return complain(
        finding, fmt::format("I4: the sender cannot go on: outcome {}", static_cast<int>(outcome)));
  }
  Finding then;
  Taker(extra, receiver).take_everything(then);
  if (!then.ok()) return complain(finding, "afterwards: " + then.text);
  for (std::size_t i = 0; i < kExtra; ++i) {
    if (then.fates[i] != live()) complain(finding, "I1: what is sent afterwards does not arrive");
  }
}

}  // namespace

Finding judge_next_receiver(Rig& rig, const Fates& before, bool sender_lives) {
  Finding finding;
  World& world = rig.world;
  Life& old = world.life_that_counts(world.receiver());
  Life& sender = world.sender();
  for (const Life* life : {&old, &sender}) {
    if (life->lies) continue;
    if (auto wrong = verify_life(*life, shm::Taken::kAfterDeath); !wrong.empty()) {
      return {wrong, {}};
    }
  }
  if (!old.lies) {
    if (auto wrong = verify_receipts(old); !wrong.empty()) return {wrong, {}};
  }
  Life& next = world.make_life(old);
  const SenderState kept(sender);
  const std::size_t known = rig.ledger.size();
  const auto judge = [&] {
    const bool goes_on = sender_lives && !rig.faded;
    // A sender that believed a liar may overwrite messages that the liar has not taken, until it
    // turns.
    if (goes_on && !old.takes_back) send_meanwhile(sender, rig.ledger);
    std::vector<Life*> peers;
    if (!rig.faded) peers.push_back(&sender);
    if (auto built = World::inherit(next, old, peers); !built) {
      return complain(finding, "I5: there can be no next life: " + built.error().text);
    }
    if (auto wrong = verify_life(next, shm::Taken::kAtRest); !wrong.empty()) {
      return complain(finding, wrong);
    }
    world.name(next);
    next.receiver->settle_adopted();
    Taker taker(rig.ledger, next);
    if (goes_on) {
      send_meanwhile(sender, rig.ledger);
      take_from_sleeper(sender, next, taker, finding);
    } else {
      taker.take_everything(finding);
    }
    if (finding.ok()) taker.take_dead_letters(finding);
    if (!finding.ok()) return;
    std::size_t committed = settle_gone(rig.ledger, before, finding);
    if (goes_on) {
      if (auto wrong = verify_given_back(sender, next); !wrong.empty()) complain(finding, wrong);
      go_on(sender, next, finding);
      committed += kExtra;
    }
    if (auto wrong = verify_balance(next, committed); !wrong.empty()) complain(finding, wrong);
  };
  judge();
  for (std::size_t i = known; finding.ok() && i < rig.ledger.size(); ++i) {
    if (finding.fates[i] == live()) continue;
    complain(finding,
             fmt::format("I1: what was sent meanwhile is {}", to_string(finding.fates[i])));
  }
  rig.ledger.messages().resize(known);
  std::fill(finding.fates.begin() + static_cast<std::ptrdiff_t>(known), finding.fates.end(),
            kUnsent);
  kept.restore(sender);
  world.forget(next);
  return finding;
}

// Takes all messages that the living receiver has or gets; returns how many were committed.
std::size_t empty_living(Rig& rig, const Fates& before, Finding& finding) {
  Taker taker(rig.ledger, rig.world.receiver());
  taker.finish_leases(finding);
  taker.take_everything(finding);
  if (finding.ok()) taker.take_dead_letters(finding);
  return finding.ok() ? settle_gone(rig.ledger, before, finding) : 0;
}

Finding judge_next_sender(Rig& rig, const Fates& before) {
  Finding finding;
  World& world = rig.world;
  Life& receiver = world.receiver();
  Life& old = world.sender();
  const std::size_t committed = empty_living(rig, before, finding);
  if (!finding.ok()) return finding;
  if (auto wrong = verify_balance(receiver, committed); !wrong.empty()) complain(finding, wrong);
  Life& next = world.make_life(old);
  if (auto built = World::inherit(next, old, {&receiver}); !built) {
    return {"I5: the sender can have no next life: " + built.error().text, finding.fates};
  }
  world.name(next);
  receive::InLink& drained = *receiver.receiver->links().index().find(old.out->key());
  drained.set_owner_gone(true);
  World::connect(receiver, next);
  next.path.set_place(*next.out, receiver.index, receiver.incarnation);
  go_on(next, receiver, finding);
  if (auto wrong = verify_given_back(next, receiver); !wrong.empty()) complain(finding, wrong);
  if (!drained.faded()) {
    complain(finding, "I4: the link of the dead sender never fades");
  } else {
    receiver.receiver->remove(drained);
  }
  if (auto wrong = verify_balance(receiver, committed + kExtra); !wrong.empty()) {
    complain(finding, wrong);
  }
  return finding;
}

Finding judge_living(Rig& rig, const Fates& before) {
  Finding finding;
  Life& receiver = rig.world.receiver();
  Life& sender = rig.world.sender();
  const std::size_t committed = empty_living(rig, before, finding);
  if (!finding.ok()) return finding;
  if (auto wrong = verify_given_back(sender, receiver); !wrong.empty()) complain(finding, wrong);
  go_on(sender, receiver, finding);
  if (auto wrong = verify_balance(receiver, committed + kExtra); !wrong.empty()) {
    complain(finding, wrong);
  }
  return finding;
}

std::string judge_fates(const Ledger& ledger, const Course& course, const Fates& found,
                        const Fates& last) {
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const std::uint64_t id = ledger.messages()[i].id;
    const Fate before = course.before[i];
    const Fate after = course.after[i];
    // Its progress; -1: an impossible state.
    const auto progress = [&](Fate fate) {
      if (fate == after) return 2;
      if (fate == before) return 0;
      return course.leases && fate == leased(before) ? 1 : -1;
    };
    if (progress(found[i]) < 0) {
      return fmt::format("I1: message {:x} is {}; it was {} and becomes {}", id,
                         to_string(found[i]), to_string(before), to_string(after));
    }
    if (progress(found[i]) < progress(last[i])) {
      return fmt::format("I1: message {:x} is {} again; it was {} already", id, to_string(found[i]),
                         to_string(last[i]));
    }
  }
  return {};
}

}  // namespace beeline::killpoints
