#include "src/agent/inbox_view.h"

#include <algorithm>

namespace beeline {

std::vector<InboxItem> InboxView::items(std::size_t limit, const Filter& filter) {
  if (!with_.life.has_ended()) with_.announcements.hear();
  (void)with_.intake.drain_fully();
  bury_expired();
  const shm::Home& home = with_.receiver.home().home();
  const receive::Selection selection = with_.intake.selection_of(filter);
  std::vector<shm::EntryIndex> entries = receive::list(with_.receiver.entries(), selection);
  for (const auto& [place, item] : with_.receiver.kept().stash().items()) {
    if (receive::matches(with_.receiver.entries(), item.at, selection)) entries.push_back(item.at);
  }
  for (const shm::EntryState state : {shm::EntryState::kLeased, shm::EntryState::kDead}) {
    for (shm::EntryIndex i(0); i.value() < home.entries_allocated(); ++i) {
      if (home.entry(i).word().state == state &&
          receive::matches(with_.receiver.entries(), i, selection)) {
        entries.push_back(i);
      }
    }
  }
  std::vector<InboxItem> items;
  for (std::size_t i = 0; i < std::min(limit, entries.size()); ++i)
    items.push_back(describe(entries[i]));
  return items;
}

InboxItem InboxView::describe(shm::EntryIndex at) const {
  const shm::Entry& entry = with_.receiver.entry(at);
  InboxItem item;
  item.id = entry.header.id;
  item.from = shm::pid_of_message(entry.header.id);
  item.from_name = with_.receiver.entries().sender_name(at);
  item.reply_to = entry.header.reply_to;
  item.rank = entry.header.rank;
  item.length = entry.header.length;
  item.attempts = entry.word().attempts;
  item.sent_ns = entry.header.sent_ns;
  item.ttl_ms = entry.header.ttl_ms;
  item.hops = entry.header.hops;
  item.cause = entry.cause();
  item.requires_ack = (entry.header.flags & shm::kFlagRequiresAck) != 0;
  item.type = with_.receiver.entries().type(at).view();
  item.channel = with_.receiver.entries().channel(at).view();
  const auto payload = with_.receiver.payload(at);
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
void InboxView::bury_expired() {
  if (with_.life.has_ended()) return;
  with_.receiver.bury_expired();
  with_.sleeper.offer_room();
}

InboxCounters InboxView::counters(const Debts& debts, const Notices& notices) {
  bury_expired();
  const receive::HomeMemory& memory = with_.receiver.home();
  const shm::InboxCounters& counts = memory.home().control().counters;
  InboxCounters result;
  result.drained = shm::drained_total(memory.home());
  result.tasks = with_.receiver.kept().tasks().size();
  result.queued = memory.inbox().queued() - result.tasks;
  result.leased = memory.inbox().leased();
  result.dead = memory.inbox().dead();
  result.done = counts.done.relaxed_load();
  result.purged = counts.purged.relaxed_load();
  result.requeued = counts.requeued.relaxed_load();
  result.quarantined_links = counts.bad_slots.relaxed_load();
  result.late_replies = counts.late_replies.relaxed_load();
  result.acks_dropped = debts.acks_dropped();
  result.acks_unread = with_.receiver.kept().acks_unread();
  result.notices_dropped = notices.dropped();
  result.copies_dropped = counts.copies_dropped.relaxed_load();
  return result;
}

}  // namespace beeline
