// The short way of a message that waits alone in all lanes: a conversation is made of these.

#include "src/os/clock.h"
#include "src/receive/receiver.h"

namespace beeline::receive {

// The link with the one message that lies in all lanes, if nothing is left of what was drained
// before.
inline InLink* Receiver::only_link() const {
  if (!queue_.empty() || has_to_settle() || looked_at_ > kActiveLinks) return nullptr;
  InLink* only = nullptr;
  for (std::size_t i = 0; i < looked_at_; ++i) {
    InLink* const link = links_[i].get();
    if (!link->may_send || link->quarantined()) continue;  // what lies there stays there
    link->prefetch_payload();
    if (link->has_message(shm::Lane::kNormal)) {
      if (only != nullptr || !link->has_one_alone()) return nullptr;
      only = link;
    } else if (link->has_message(shm::Lane::kUrgent) &&
               !shm::is_mutant(shm::Mutant::kUrgentOverlooked)) {
      return nullptr;
    }
  }
  return only;
}

// The stores are those of put, commit and take, in their order; what is left out is the order among
// messages, of which there is one.
template <typename Wanted>
[[gnu::always_inline]] inline std::uint32_t Receiver::take_alone_if(Wanted&& wanted,
                                                                    std::uint16_t mark) {
  InLink* const only = only_link();
  if (only == nullptr || !only->open() || only->rate != nullptr) return shm::kNoEntry;
  InLink& link = *only;
  constexpr auto kNormal = shm::Lane::kNormal;
  std::uint64_t& position = link.position[static_cast<std::size_t>(kNormal)];
  shm::Inbox& inbox = home_->inbox();
  if (inbox.plain_room() == 0) return shm::kNoEntry;
  const shm::Slot& slot = link.view.slot(kNormal, position);
  const shm::HeaderWords words(slot);
  if (!is_simple(link, words) || !wanted(link, words) ||
      words.hops() > home_->home().control().max_hops || !prepare(link, words)) {
    return shm::kNoEntry;
  }
  if (words.in_slab()) link.prefetch_slab(words.slab(), words.length());
  if (words.sent_ns() > clock_ns_) {  // the clock has ticked since it was told
    clock_ns_ = os::coarse_ns();
    if (!link.has_one_alone()) return shm::kNoEntry;  // the last look comes after it
  }
  const std::uint32_t at =
      inbox.put_alone(words, slot, link.row, kNormal, position, time_sent(link, words.sent_ns()),
                      rank_of(link, words.rank(), words.type()), mark);
  ++link.live;
  ++position;
  commit(link, kNormal);
  inbox.take_only(at);
  ++link.received;
  ring_sometimes(link);
  note_empty(link);
  return at;
}

std::uint32_t Receiver::take_alone() {
  const auto is_ordinary = [this](InLink& link, const shm::HeaderWords& words) {
    const std::uint64_t id = words.reply_to();
    return id == 0 || (answers_.waiting_for(link.owner_pid, id, false) == nullptr &&
                       nobody_asked(link, id, words.type()));
  };
  return take_alone_if(is_ordinary, 0);
}

// Whatever answers the request from now on is late, as after mark_for(), and nobody waits any more.
std::uint32_t Receiver::take_alone(PendingReply& pending) {
  const auto is_awaited = [&](InLink& link, const shm::HeaderWords& words) {
    return words.reply_to() != 0 &&
           answers_.waiting_for(link.owner_pid, words.reply_to(), false) == &pending;
  };
  const bool is_marked = !shm::is_mutant(shm::Mutant::kAnswerUnmarked);
  const std::uint32_t at = take_alone_if(is_awaited, is_marked ? shm::kFlagMatched : 0);
  if (at != shm::kNoEntry) forget(pending);
  return at;
}

// SYNC(link.space), after one message: a fence for the last of kReceiptsPerFence receipts,
// whichever links they are for. SUBTLE: whoever sleeps for want of space has missed fewer receipts
// than that. A fence shows them all, and whoever takes from this lane after it sees the space word;
// a lane of kReceiptsPerFence slots still holds such a message (space.pml). Who leaves looks for
// the last receipt itself (AgentCore::detach).
void Receiver::ring_sometimes(InLink& link) {
  const bool is_short = link.view.capacity(shm::Lane::kNormal) < kReceiptsPerFence;
  const bool is_wanted = link.view.control().space.relaxed_load() != 0;
  if (is_short || is_wanted || ++unfenced_ == kReceiptsPerFence) ring_for_space(link);
}

}  // namespace beeline::receive
