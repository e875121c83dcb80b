// The short way of a message that waits alone in all lanes: a conversation is made of these.

#include "src/os/clock.h"
#include "src/receive/receiver.h"

namespace beeline::receive {

// The link with the one message that lies in all lanes, if no message that was drained before is
// left to be settled.
inline InLink* Receiver::only_link() const {
  const InLinks& links = entries_.links();
  if (!turns_.nobody_waits() || intake_.has_to_settle() || links.looked_at() > kActiveLinks) {
    return nullptr;
  }
  InLink* only = nullptr;
  for (std::size_t i = 0; i < links.looked_at(); ++i) {
    InLink* const link = &links.at(i);
    if (!link->may_send() || link->quarantined()) continue;  // its messages stay there
    link->prefetch_payload();
    if (link->has_message(shm::Lane::kNormal)) {
      if (only != nullptr || !link->has_one_alone()) return nullptr;
      only = link;
    } else if (link->has_message(shm::Lane::kUrgent)) {
      return nullptr;
    }
  }
  return only;
}

// The stores are those of put, commit and take, in their order. The order among messages is left
// out: there is one message.
template <typename Wanted>
[[gnu::always_inline]] inline shm::EntryIndex Receiver::take_alone_if(Wanted&& wanted,
                                                                      std::uint16_t mark) {
  InLink* const only = only_link();
  if (only == nullptr || !only->open() || only->rate() != nullptr) return shm::kNoEntry;
  InLink& link = *only;
  constexpr auto kNormal = shm::Lane::kNormal;
  const std::uint64_t position = link.position(kNormal);
  shm::Inbox& inbox = entries_.inbox();
  if (inbox.plain_room() == 0) return shm::kNoEntry;
  const shm::Slot& slot = link.next_slot(kNormal);
  const shm::HeaderWords words(slot);
  if (!intake_.is_simple(link, words) || !wanted(link, words) ||
      words.hops() > entries_.control().max_hops || !Intake::prepare(link, words)) {
    return shm::kNoEntry;
  }
  if (words.in_slab()) link.prefetch_slab(words.slab(), words.length());
  if (words.sent_ns() > intake_.time()) {  // the clock has ticked since it was told
    intake_.tell_time(os::coarse_ns());
    if (!link.has_one_alone()) return shm::kNoEntry;  // the last look comes after it
  }
  const shm::EntryIndex at = inbox.put_alone(
      words, slot, link.row(), kNormal, position, intake_.time_sent(link, words.sent_ns()),
      intake_.rank_of(link, words.rank(), words.type()), mark);
  link.refer();
  link.advance(kNormal);
  entries_.commit(link, kNormal);
  inbox.take_only(at);
  link.count_received(1);
  entries_.rings().ring_sometimes(link);
  intake_.note_empty(link);
  return at;
}

shm::EntryIndex Receiver::take_alone() {
  const auto is_ordinary = [this](InLink& link, const shm::HeaderWords& words) {
    const std::uint64_t id = words.reply_to();
    return id == 0 || (answers_.waiting_for(link.owner_pid(), id, false) == nullptr &&
                       intake_.nobody_asked(link, id, words.type()));
  };
  return take_alone_if(is_ordinary, 0);
}

// All that answers the request from now on is late, as after mark_for(), and nobody waits any more.
shm::EntryIndex Receiver::take_alone(PendingReply& pending) {
  const auto is_awaited = [&](InLink& link, const shm::HeaderWords& words) {
    return words.reply_to() != 0 &&
           answers_.waiting_for(link.owner_pid(), words.reply_to(), false) == &pending;
  };
  const shm::EntryIndex at = take_alone_if(is_awaited, shm::kFlagMatched);
  if (at != shm::kNoEntry) forget(pending);
  return at;
}

}  // namespace beeline::receive
