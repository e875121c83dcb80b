// The receiver's dealing with answers: to whom they go, and those that nobody waits for.

#include <algorithm>
#include <utility>

#include "src/receive/receiver.h"

namespace beeline::receive {

namespace {

[[nodiscard]] bool is_order(const shm::MessageHeader& header) {
  return (header.flags & shm::kFlagControl) != 0;
}

}  // namespace

// An answer goes to whoever waits for it. One that nobody waits for is stashed when it answers
// something that was asked, or says that it is an answer; so is an acknowledgement. An order to
// cancel is never handed out.
std::uint16_t Receiver::mark_for(InLink& link, const shm::MessageHeader& header,
                                 PendingReply*& waiting) {
  if (is_order(header) && link.known_type(header.type) == KnownType::kCancel) {
    return shm::kFlagStashed;
  }
  if (header.reply_to == 0 || (header.flags & shm::kFlagCopy) != 0) return 0;
  waiting = answers_.waiting_for(link.owner_pid, header);
  if (waiting != nullptr) {
    if (!waiting->for_ack) answers_.remember(waiting->request_id, link.owner_pid, false);
    return shm::kFlagMatched;
  }
  if ((header.flags & shm::kFlagAck) != 0) return shm::kFlagStashed;
  const bool asked = answers_.was_asked(header.reply_to, link.owner_pid);
  if (!asked && link.known_type(header.type) != KnownType::kTaskResponse) return 0;
  if (!answers_.close(header.reply_to, link.owner_pid)) {
    auto& late = home_->home().control().counters.late_replies;
    late.relaxed_store(late.relaxed_load() + 1);
  }
  return shm::kFlagStashed;
}

void Receiver::note_put(std::uint32_t at, std::uint16_t mark) {
  const bool unwanted = !cancelled_.empty() && is_cancelled(at);
  if (mark == shm::kFlagStashed || unwanted) unsettled_.push_back(at);
}

void Receiver::finish_put() {
  for (const std::uint32_t at : std::exchange(unsettled_, {})) {
    const shm::MessageHeader& header = entry(at).header;
    if ((header.flags & shm::kFlagStashed) == 0) {
      cancel(header.id);
    } else if (is_order(header)) {
      obey_cancel(at);
    } else {
      stash_.push_back(at);
    }
  }
  keep_stash_bounded();
}

// What is stashed must not fill the table: the oldest answers become dead letters.
void Receiver::keep_stash_bounded() {
  const std::size_t most = home_->home().capacity() / 4;
  while (stash_.size() > most) {
    const std::uint32_t at = stash_.front();
    stash_.erase(stash_.begin());
    home_->inbox().take_unindexed(at);
    if ((entry(at).header.flags & shm::kFlagAck) != 0) {
      done(at);
    } else {
      bury(at, shm::DeadReason::kUnclaimed);
    }
  }
}

std::uint32_t Receiver::take_stashed(Stashed what, std::uint64_t id) {
  finish_put();
  for (;;) {
    const auto found = std::find_if(stash_.begin(), stash_.end(), [&](std::uint32_t at) {
      const shm::MessageHeader& header = entry(at).header;
      const bool is_ack = (header.flags & shm::kFlagAck) != 0;
      return is_ack == (what == Stashed::kAck) && (id == 0 || header.reply_to == id);
    });
    if (found == stash_.end()) return shm::kNoEntry;
    const std::uint32_t at = *found;
    stash_.erase(found);
    home_->inbox().take_unindexed(at);
    if (!drop_unfit(at)) return at;
  }
}

void Receiver::forget(PendingReply& pending) {
  answers_.stop_expecting(pending);
  if (!pending.for_ack) answers_.remember(pending.request_id, pending.from, false);
  if (pending.entry == shm::kNoEntry) return;
  const std::uint32_t at = std::exchange(pending.entry, shm::kNoEntry);
  home_->inbox().stash(at);
  stash_.push_back(at);
}

// They are settled later: before its commit a successor finishes nothing.
void Receiver::adopt_entries() {
  for (std::uint32_t at = 0; at < home_->home().entries_allocated(); ++at) {
    const bool queued = entry(at).word().state == shm::EntryState::kQueued;
    if (queued && (entry(at).header.flags & shm::kFlagStashed) != 0) unsettled_.push_back(at);
  }
  std::sort(unsettled_.begin(), unsettled_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entry(a).arrival < entry(b).arrival;
  });
}

}  // namespace beeline::receive
