// The receiver's dealing with answers: to whom they go, and those that nobody waits for.

#include <algorithm>
#include <utility>

#include "src/receive/receiver.h"

namespace beeline::receive {

// An answer goes to whoever waits for it. One that nobody waits for is stashed when it answers
// something that was asked, or says that it is an answer; so is an acknowledgement. An order to
// cancel is never handed out, nor is a copy of somebody who is no child; any other order always is.
// What has expired answers nothing.
std::uint16_t Receiver::mark_for(InLink& link, const shm::SlotCopy& copy, std::int64_t sent_ns,
                                 PendingReply*& waiting) {
  const shm::MessageHeader& header = copy.header;
  if (is_cancel_order(link, header)) return shm::kFlagStashed;
  if (is_copy(header)) return may_show(link, copy) ? 0 : shm::kFlagStashed;
  if (header.reply_to == 0 || is_order(header) || has_expired(header, sent_ns)) return 0;
  waiting = answers_.waiting_for(link.owner_pid, header);
  if (waiting != nullptr) {
    if (!waiting->for_ack) remember_asked(*waiting);
    return shm::kFlagMatched;
  }
  if (is_ack(header)) return shm::kFlagStashed;
  if (nobody_asked(link, header.reply_to, header.type)) return 0;
  if (answers_.close(header.reply_to, link.owner_pid)) return shm::kFlagStashed;
  add_one(home_->home().control().counters.late_replies);
  return shm::kFlagStashed | shm::kFlagUnasked;
}

// Nobody has ever asked for it, nor does it say that it is an answer. SUBTLE: by values, so that
// whoever has the words of its header in registers keeps them there.
bool Receiver::nobody_asked(InLink& link, std::uint64_t reply_to, std::uint16_t type) const {
  return !answers_.was_asked(reply_to, link.owner_pid) &&
         link.known_type(type) != KnownType::kTaskResponse;
}

// An answer is in the stash at once, so that an order to cancel finds it there.
void Receiver::note_put(std::uint32_t at, std::uint16_t mark) {
  const shm::MessageHeader& header = entry(at).header;
  for (CancelOrder& order : orders_) {
    if (order.id == header.id) order.found = at;
  }
  if ((mark & shm::kFlagStashed) == 0) return;
  if (is_copy(header) || entry(at).ends_question()) {
    unwanted_.push_back(at);
  } else if (is_order(header)) {
    orders_.push_back({.entry = at, .row = entry(at).word().row, .id = header.reply_to});
  } else {
    keep_aside(at);
    newly_stashed_.push_back(at);
  }
}

void Receiver::keep_aside(std::uint32_t at) {
  const shm::MessageHeader& header = entry(at).header;
  Stash::Kind kind = Stash::Kind::kAsked;
  if ((header.flags & shm::kFlagUnasked) != 0) kind = Stash::Kind::kUnasked;
  if (is_ack(header)) kind = Stash::Kind::kAck;
  stash_.add({at, sender_of(at), entry(at).arrival, kind, entry(at).in_slab()});
}

// Where nothing waits for its commit.
void Receiver::put_aside(std::uint32_t at) {
  keep_aside(at);
  keep_slabs_bounded(at);
  keep_stash_bounded();
}

void Receiver::settle_put() {
  for (const std::uint32_t at : std::exchange(unwanted_, {})) {
    home_->inbox().take_unindexed(at);
    if (is_copy(entry(at).header)) {
      drop_copy(at);
    } else {
      done(at);
    }
  }
  if (!orders_.empty()) obey_orders(0);
  for (const std::uint32_t at : std::exchange(newly_stashed_, {})) {
    // It may have been taken back, or given way to another.
    if (entry(at).in_slab() && stash_.contains(at)) keep_slabs_bounded(at);
  }
  keep_stash_bounded();
}

void Receiver::settle_adopted() {
  drop_surplus_letters();
  settle_put();
}

std::size_t Receiver::most_stashed() const { return home_->home().capacity() / 4; }

// What is stashed must not fill the table. Whoever has the most in it loses the oldest of that,
// acknowledgements first; an answer becomes a dead letter.
void Receiver::keep_stash_bounded() {
  while (stash_.size() > most_stashed()) {
    const std::uint32_t at = stash_.first_to_go();
    if (unstash(at)) bury(at, shm::DeadReason::kUnclaimed);
  }
}

// Leases it.
void Receiver::take_aside(std::uint32_t at) {
  stash_.remove(at);
  home_->inbox().take_unindexed(at);
}

// Leases it. False if that was all: an acknowledgement is gone then.
bool Receiver::unstash(std::uint32_t at) {
  take_aside(at);
  if (!is_ack(entry(at).header)) return true;
  ++acks_unread_;
  done(at);
  return false;
}

template <typename Wanted>
std::uint32_t Receiver::take_stashed(Wanted&& wanted) {
  settle_put();
  for (;;) {
    const std::uint32_t at = stash_.find_if(wanted);
    if (at == shm::kNoEntry) return at;
    take_aside(at);
    if (!drop_unfit(at)) return at;
  }
}

std::uint32_t Receiver::take_stashed_answer() {
  return take_stashed([](const Stash::Item& item) { return item.kind != Stash::Kind::kAck; });
}

std::uint32_t Receiver::take_stashed_ack(std::uint64_t id, std::uint32_t from) {
  return take_stashed([&](const Stash::Item& item) {
    return item.kind == Stash::Kind::kAck && item.from == from &&
           entry(item.at).header.reply_to == id;
  });
}

void Receiver::forget(PendingReply& pending) {
  answers_.stop_expecting(pending);
  if (!pending.for_ack) remember_asked(pending);
  if (pending.word != shm::kNoEntry) done(take_word(pending));
  if (pending.entry == shm::kNoEntry) return;
  const std::uint32_t at = std::exchange(pending.entry, shm::kNoEntry);
  home_->inbox().stash(at);
  note_life(at);
  put_aside(at);
}

// Whatever answers it from now on is late, or one too many.
void Receiver::remember_asked(const PendingReply& pending) {
  answers_.remember(pending.request_id, pending.from);
  answers_.remember(pending.alias, pending.from);
}

// Orders are obeyed later: before its commit a successor finishes nothing.
void Receiver::adopt_entries() {
  std::vector<std::uint32_t> found;
  for (std::uint32_t at = 0; at < home_->home().entries_allocated(); ++at) {
    const bool queued = entry(at).word().state == shm::EntryState::kQueued;
    if (queued) note_life(at);
    if (queued && (entry(at).header.flags & shm::kFlagStashed) != 0) found.push_back(at);
  }
  std::sort(found.begin(), found.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entry(a).arrival < entry(b).arrival;
  });
  for (const std::uint32_t at : found) note_put(at, shm::kFlagStashed);
}

}  // namespace beeline::receive
