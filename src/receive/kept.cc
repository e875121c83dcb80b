#include "src/receive/kept.h"

#include <algorithm>
#include <utility>

#include "src/receive/dead_letters.h"

namespace beeline::receive {

// ---- Dead letters -------------------------------------------------------------------------------

void Kept::bury(shm::EntryIndex at, shm::DeadReason reason) {
  if (hear_burial_) hear_burial_(at, reason);
  if (reason != shm::DeadReason::kRejected) refuse(at, reason);
  entries_.inbox().bury(at, reason);
  keep_slabs_bounded(at);
  keep_dead_letters_bounded();  // `at` may be among those that go
}

void Kept::refuse(shm::EntryIndex at, std::string_view why) {
  const shm::Entry& entry = entries_.entry(at);
  if ((entry.header.flags & shm::kFlagRequiresAck) == 0) return;
  refused_.push_back({entry.header.id, entry.is_question(), why});
}

std::vector<Refused> Kept::take_refused() { return std::exchange(refused_, {}); }

bool Kept::drop_unfit(shm::EntryIndex at) {
  const shm::Entry& entry = entries_.entry(at);
  if (is_copy(entry.header) && entry.word().attempts != 0) {
    entries_.drop_copy(at);  // a copy is looked at once
    return true;
  }
  if (has_expired(entry)) {
    bury(at, shm::DeadReason::kExpired);
    return true;
  }
  if (entry.header.hops > entries_.control().max_hops && !entry.is_revived()) {
    bury(at, shm::DeadReason::kLoop);
    return true;
  }
  if (entry.word().attempts >= entries_.most_attempts()) {
    bury(at, shm::DeadReason::kExhausted);
    return true;
  }
  return false;
}

void Kept::requeue(shm::EntryIndex at, shm::Cost cost) {
  // In one step: killed between two, a message that was taken back would be delivered again.
  if (entries_.is_cancelled(at)) return bury(at, shm::DeadReason::kCancelled);
  entries_.inbox().requeue(at, cost);
  expiry_.note(entries_.entry(at));
  if ((entries_.entry(at).header.flags & shm::kFlagStashed) != 0) put_aside(at);
}

void Kept::keep_dead_letters_bounded() {
  while (entries_.inbox().dead() > most_letters(entries_.table())) {
    const shm::EntryIndex at = first_letter_to_go(entries_.table(), entries_.inbox().letters());
    if (at == shm::kNoEntry) return;
    entries_.purge_dead(at);
  }
}

// There may be more than at any other time: messages that were being handled when they were
// cancelled, and letters for which a smaller inbox has no room. The same go as of too many at any
// other time.
void Kept::drop_surplus_letters() {
  const shm::Home& home = entries_.table();
  std::vector<shm::EntryIndex> letters;
  for (shm::EntryIndex at(0); at.value() < home.entries_allocated(); ++at) {
    if (home.entry(at).word().state == shm::EntryState::kDead) letters.push_back(at);
  }
  if (letters.size() <= most_letters(home)) return;
  std::sort(letters.begin(), letters.end(), [&](shm::EntryIndex a, shm::EntryIndex b) {
    return home.entry(a).arrival < home.entry(b).arrival;
  });
  while (letters.size() > most_letters(home)) {
    const shm::EntryIndex at = first_letter_to_go(home, letters);
    entries_.purge_dead(at);
    std::erase(letters, at);
  }
  entries_.inbox().list_letters();
}

// ---- The stash ----------------------------------------------------------------------------------

void Kept::add_new(shm::EntryIndex at) {
  keep_aside(at);
  newly_kept_.push_back(at);
}

void Kept::keep_aside(shm::EntryIndex at) {
  const shm::Entry& entry = entries_.entry(at);
  if (entry.is_task()) return tasks_.add(at);
  Stash::Kind kind = Stash::Kind::kAsked;
  if ((entry.header.flags & shm::kFlagUnasked) != 0) kind = Stash::Kind::kUnasked;
  if (is_ack(entry.header)) kind = Stash::Kind::kAck;
  if (entry.kind() != shm::MessageKind::kOrdinary) kind = Stash::Kind::kReport;
  stash_.add({at, entries_.sender_of(at), entry.arrival, kind, entry.in_slab()});
}

void Kept::put_aside(shm::EntryIndex at) {
  keep_aside(at);
  keep_slabs_bounded(at);
  keep_stash_bounded();
}

void Kept::settle() {
  auto fresh = std::exchange(newly_kept_, {});
  for (const shm::EntryIndex at : fresh) {
    // It may have been taken back, or given way to another.
    if (entries_.entry(at).in_slab() && stash_.contains(at)) keep_slabs_bounded(at);
  }
  // The newest first: where too many have come at once, those that came before them stay.
  std::for_each(fresh.rbegin(), fresh.rend(), [this](shm::EntryIndex at) {
    if (entries_.entry(at).is_task()) judge_task(at);
  });
  keep_stash_bounded();
  fresh.clear();
  if (newly_kept_.empty()) newly_kept_.swap(fresh);  // for its memory
}

// The stash must not fill the table. The sender that has the most in it loses the oldest of that,
// acknowledgements first; an answer becomes a dead letter.
void Kept::keep_stash_bounded() {
  while (stash_.size() > most_stashed()) {
    const shm::EntryIndex at = stash_.first_to_go();
    if (unstash(at)) bury(at, shm::DeadReason::kUnclaimed);
  }
}

// Dead letters, acknowledgements that nobody has fetched and answers to no open question hold a
// part of the slabs of a class of a link at most.
void Kept::keep_slabs_bounded(shm::EntryIndex at) {
  const InLink* link = entries_.entry(at).in_slab() ? entries_.link_of(at) : nullptr;
  if (link == nullptr) return;
  const shm::LinkLayout& layout = link->view().layout();
  const std::size_t slab_class = layout.class_of(shm::slab_of(entries_.entry(at).header));
  const auto holds_one = [&](shm::EntryIndex kept) {
    const shm::Entry& other = entries_.entry(kept);
    return other.in_slab() && other.word().row == link->row() &&
           layout.class_of(shm::slab_of(other.header)) == slab_class;
  };
  std::vector<shm::EntryIndex> kept;
  for (const shm::EntryIndex letter : entries_.inbox().letters()) {
    if (holds_one(letter)) kept.push_back(letter);
  }
  for (const auto& [place, item] : stash_.items()) {
    const bool dispensable = item.in_slab && item.kind != Stash::Kind::kAsked;
    if (dispensable && holds_one(item.at)) kept.push_back(item.at);
  }
  const std::size_t most = most_slabs_kept(layout.classes[slab_class].count);
  for (const shm::EntryIndex each : surplus_of(entries_.table(), std::move(kept), most, at)) {
    discard(each);
  }
}

// Lets go of a letter, or of a stashed message.
void Kept::discard(shm::EntryIndex at) {
  if (entries_.entry(at).word().state == shm::EntryState::kDead) return entries_.purge_dead(at);
  if (!unstash(at)) return;
  refuse(at, shm::DeadReason::kUnclaimed);
  entries_.inbox().bury(at, shm::DeadReason::kUnclaimed);
  entries_.purge_dead(at);
}

void Kept::take_aside(shm::EntryIndex at) {
  forget(at);
  entries_.inbox().take_unindexed(at);
}

// ---- Tasks --------------------------------------------------------------------------------------

// A task that this agent does not do is gone at once, and its sender is told.
void Kept::judge_task(shm::EntryIndex at) {
  if (entries_.entry(at).word().state != shm::EntryState::kQueued) return;  // it was taken back
  const std::string_view why = tasks_.why_not(at);
  if (why.empty()) return;
  take_aside(at);
  refuse(at, why);
  entries_.done(at);
}

shm::EntryIndex Kept::take_task() {
  while (!tasks_.empty()) {
    const shm::EntryIndex at = tasks_.first();
    tasks_.remove(at);
    entries_.inbox().take_unindexed(at);
    if (!drop_unfit(at)) return at;
  }
  return shm::kNoEntry;
}

// Leases it. False if that was all: an acknowledgement is gone then, and a word about a task.
bool Kept::unstash(shm::EntryIndex at) {
  take_aside(at);
  const bool is_dropped = is_ack(entries_.entry(at).header);
  if (!is_dropped && entries_.entry(at).kind() == shm::MessageKind::kOrdinary) return true;
  if (is_dropped) ++acks_unread_;
  entries_.done(at);
  return false;
}

}  // namespace beeline::receive
