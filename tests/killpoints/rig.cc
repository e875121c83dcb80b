#include "tests/killpoints/rig.h"

#include "tests/killpoints/rig_clock.h"

namespace beeline::killpoints {

Rig::Rig(const shm::HomeOptions& options) : world(options) {
  // Interning and the first slab of a class allocate; scenarios start after both.
  for (const std::string_view type : {std::string_view("note"), kCancelOrder}) {
    if (!sender().out->intern(type)) throw RigError{"a type cannot be interned"};
  }
  know_slabs(1);
  finished.reserve(kMostMessages);
}

void Rig::know_slabs(std::uint64_t bytes) {
  const auto slab = sender().out->take_slab(bytes);
  if (!slab) throw RigError{"there is no slab"};
  sender().out->slabs.put_back(*slab);
}

Letter& Rig::plan(const Plan& plan) {
  auto letter = std::make_unique<Letter>();
  letter->id = shm::make_message_id(kSenderPid, ++last_counter_);
  letter->payload.resize(plan.length);
  fill_payload(letter->id, letter->payload.data(), plan.length);
  letter->envelope = {.rank = plan.rank,
                      .type = plan.type,
                      .reply_to = plan.reply_to,
                      .ttl_ms = plan.ttl_ms,
                      .flags = plan.flags};
  if (plan.extended) letter->envelope.extension = &letter->extension;
  letter->extension.kind = static_cast<std::uint8_t>(plan.kind);
  Message message;
  message.id = letter->id;
  message.length = plan.length;
  message.rank = plan.rank;
  message.flags = plan.flags;
  ledger.add(message);
  planned.push_back(std::move(letter));
  return *planned.back();
}

SendStatus Rig::post(const Letter& letter) { return write(letter, nullptr); }

SendStatus Rig::post_loan(const Letter& letter) { return write(letter, &*loan); }

// Names the envelope as an agent does: the send path has a function of its own for the plain one.
SendStatus Rig::write(const Letter& letter, shm::SlabPool::Loan* lent) {
  Life& from = sender();
  const bool plain = letter.envelope == send::kPlainEnvelope;
  const send::Envelope& envelope = plain ? send::kPlainEnvelope : letter.envelope;
  return from.path.write(*from.out, {letter.payload, envelope, from.path.reserve_id(), lent});
}

std::uint64_t Rig::send(const Plan& wanted) {
  tick();
  Letter& letter = plan(wanted);
  outcome = post(letter);
  if (outcome != SendStatus::kOk) throw RigError{"a message of the prepared state is refused"};
  note_sent(letter);
  return letter.id;
}

void Rig::note_sent(const Letter& letter) {
  if (outcome != SendStatus::kOk) return;
  const send::OutLink& link = *sender().out;
  const send::SentPlace& place = sender().path.last_place();
  const auto header =
      link.view().slot(place.lane, place.position).header.load<shm::MessageHeader>();
  if ((header.flags & shm::kFlagSlab) != 0) {
    const auto& classes = link.view().layout().classes;
    const std::size_t c = link.view().layout().class_of(shm::slab_of(header));
    const std::uint32_t watched = c == 0 ? kWatchedSlabs : kWatchedLargeSlabs;
    if (c > 1 || header.slab - classes[c].first >= watched) {
      throw RigError{"a slab is used that nobody watches"};
    }
  }
  message(letter.id).fate = live();
}

void Rig::drain() {
  tick();
  while (receiver().drain_all()) {
  }
}

void Rig::note_leased(shm::EntryIndex entry) {
  set_fate(id_at(entry), leased(live(attempts_at(entry))));
}

std::uint64_t Rig::take() {
  const shm::EntryIndex entry = receiver().take();
  if (entry == shm::kNoEntry) throw RigError{"there is nothing to take"};
  note_leased(entry);
  return id_at(entry);
}

void Rig::take(std::uint64_t id) {
  const shm::EntryIndex entry = entry_of(id);
  receiver().home().inbox().take(entry);
  note_leased(entry);
}

void Rig::done(std::uint64_t id) {
  receiver().done(entry_of(id));
  set_fate(id, kGone);
}

void Rig::requeue(std::uint64_t id) { receiver().requeue(entry_of(id)); }

void Rig::bury(std::uint64_t id, shm::DeadReason reason) {
  receiver().bury(entry_of(id), reason);
  set_fate(id, dead(reason));
}

void Rig::finish_one() {
  const shm::EntryIndex entry = receiver().take();
  if (entry == shm::kNoEntry) return;
  const std::uint64_t id = id_at(entry);
  receiver().done(entry);
  set_fate(id, kGone);
}

void Rig::finish_all() {
  drain();
  while (receiver().home().inbox().queued() != 0) finish_one();
}

void Rig::finish_lanes() {
  constexpr std::uint32_t kLeft = 4;
  drain();
  while (!receiver().all_empty() || receiver().home().inbox().queued() > kLeft) {
    finish_one();
    drain();
  }
}

void Rig::send_and_finish(const Plan& wanted) {
  send(wanted);
  finish_all();
}

// A successor counts a lease as one more delivery; the ledger did so at the lease.
void Rig::hand_over() {
  tick();
  Life& before = world.receiver();
  Life& after = world.make_life(before);
  if (auto done = World::inherit(after, before, {&world.sender()}); !done) {
    throw RigError{done.error().text};
  }
  world.name(after);
  after.receiver->settle_adopted();
  world.replace_receiver(after);
}

Message& Rig::message(std::uint64_t id) {
  Message* found = ledger.find(id);
  if (found == nullptr) throw RigError{"an unknown message"};
  return *found;
}

shm::EntryIndex Rig::entry_of(std::uint64_t id) {
  const shm::Home& home = world.receiver().home();
  for (shm::EntryIndex i(0); i.value() < home.entries_allocated(); ++i) {
    if (home.entry(i).word().state != shm::EntryState::kFree && home.entry(i).header.id == id) {
      return i;
    }
  }
  throw RigError{"the message is not in the table"};
}

std::uint64_t Rig::id_at(shm::EntryIndex entry) {
  return world.receiver().home().entry(entry).header.id;
}

std::uint8_t Rig::attempts_at(shm::EntryIndex entry) {
  return world.receiver().home().entry(entry).word().attempts;
}

}  // namespace beeline::killpoints
