// What an agent tells about itself.

#include <algorithm>

#include "src/agent/core.h"
#include "src/agent/core_path.h"

namespace beeline {

std::vector<InboxItem> AgentCore::inbox(std::size_t limit, const Filter& filter) {
  if (!has_ended()) hear();
  static_cast<void>(drain_fully());
  bury_expired();
  const shm::Home& home = receiver_->home().home();
  const receive::Selection selection = selection_of(filter);
  std::vector<std::uint32_t> entries = receive::list(receiver_->entries(), selection);
  for (const auto& [place, item] : receiver_->kept().stash().items()) {
    if (receive::matches(receiver_->entries(), item.at, selection)) entries.push_back(item.at);
  }
  for (const shm::EntryState state : {shm::EntryState::kLeased, shm::EntryState::kDead}) {
    for (std::uint32_t i = 0; i < home.entries_allocated(); ++i) {
      if (home.entry(i).word().state == state &&
          receive::matches(receiver_->entries(), i, selection)) {
        entries.push_back(i);
      }
    }
  }
  std::vector<InboxItem> items;
  for (std::size_t i = 0; i < std::min(limit, entries.size()); ++i)
    items.push_back(describe(entries[i]));
  return items;
}

InboxItem AgentCore::describe(std::uint32_t at) const {
  const shm::Entry& entry = receiver_->entry(at);
  InboxItem item;
  item.id = entry.header.id;
  item.from = shm::pid_of_message(entry.header.id);
  item.from_name = receiver_->entries().sender_name(at);
  item.reply_to = entry.header.reply_to;
  item.rank = entry.header.rank;
  item.length = entry.header.length;
  item.attempts = entry.word().attempts;
  item.sent_ns = entry.header.sent_ns;
  item.ttl_ms = entry.header.ttl_ms;
  item.hops = entry.header.hops;
  item.cause = entry.cause();
  item.requires_ack = (entry.header.flags & shm::kFlagRequiresAck) != 0;
  item.type = receiver_->entries().type(at).view();
  item.channel = receiver_->entries().channel(at).view();
  const auto payload = receiver_->payload(at);
  item.preview.assign(reinterpret_cast<const char*>(payload.data()),
                      std::min<std::size_t>(payload.size(), 64));
  item.stashed = entry.word().state == shm::EntryState::kQueued &&
                 (entry.header.flags & shm::kFlagStashed) != 0;
  item.leased = entry.word().state == shm::EntryState::kLeased;
  item.dead = entry.word().state == shm::EntryState::kDead;
  if (item.dead) item.reason = shm::to_string(entry.reason());
  return item;
}

// A look shows nothing as waiting that nobody will be handed out any more.
void AgentCore::bury_expired() {
  if (has_ended()) return;
  receiver_->bury_expired();
  offer_room();
}

InboxCounters AgentCore::counters() {
  bury_expired();
  const receive::HomeMemory& memory = receiver_->home();
  const shm::InboxCounters& counts = memory.home().control().counters;
  InboxCounters result;
  result.drained = shm::drained_total(memory.home());
  result.queued = memory.inbox().queued();
  result.leased = memory.inbox().leased();
  result.dead = memory.inbox().dead();
  result.done = counts.done.relaxed_load();
  result.purged = counts.purged.relaxed_load();
  result.requeued = counts.requeued.relaxed_load();
  result.quarantined_links = counts.bad_slots.relaxed_load();
  result.late_replies = counts.late_replies.relaxed_load();
  result.acks_dropped = acks_dropped_;
  result.acks_unread = receiver_->kept().acks_unread();
  result.notices_dropped = notices_dropped_;
  result.copies_dropped = counts.copies_dropped.relaxed_load();
  return result;
}

std::vector<LinkCounters> AgentCore::links() {
  std::vector<LinkCounters> result;
  const auto lock = lock_send();
  for (const auto& link : out_) {
    if (link == nullptr) continue;
    send_path_.follow(*link);
    LinkCounters counts{link->peer(),         link->sent,     link->not_taken(), 0,
                        link->copies_dropped, link->is_away()};
    if (const auto before = received_before_.find(link->peer()); before != received_before_.end()) {
      counts.received = before->second;
    }
    receiver_->links().index().each_of(
        link->peer(), [&](const receive::InLink& from) { counts.received += from.received; });
    result.push_back(counts);
  }
  return result;
}

}  // namespace beeline
