#include "src/receive/receiver.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beeline::receive {

Receiver::Receiver(std::unique_ptr<HomeMemory> home)
    : entries_(std::move(home)),
      kept_(entries_, expiry_),
      orders_(entries_, kept_),
      intake_({entries_, kept_, orders_, answers_, expiry_, turns_}),
      drain_(entries_, intake_, orders_, turns_),
      audit_(entries_) {}

InLink& Receiver::add(std::unique_ptr<InLink> link) {
  link->begin_life(shm::Incarnation(entries_.table().header().owner_incarnation));
  return links().add(std::move(link));
}

bool Receiver::remove(InLink& link) {
  if (link.live() != 0) return false;  // their row would become another link's
  entries_.rings().ring_stamped();
  const shm::Home& home = entries_.table();
  shm::close_row(home.control(), home.row(link.row()));
  entries_.home().note_vacant(link.row());
  close_receipts(link);
  turns_.forget(link);
  orders_.forget(link);
  links().remove(link);
  return true;
}

void Receiver::ring_all_for_space() {
  for (const auto& link : links().all()) entries_.rings().ring_for_space(*link);
}

shm::EntryIndex Receiver::take_selected(const Selection& selection) {
  for (;;) {
    const shm::EntryIndex at = find_selected(entries_, selection);
    if (at == shm::kNoEntry) return at;
    entries_.inbox().take(at);
    if (!kept_.drop_unfit(at)) return at;
  }
}

// ---- Answers ------------------------------------------------------------------------------------

bool Receiver::has_reply(PendingReply& pending) {
  if (pending.entry == shm::kNoEntry) return false;
  if (!has_expired(entry(pending.entry))) return true;
  bury(take_reply(pending), shm::DeadReason::kExpired);
  return false;
}

shm::EntryIndex Receiver::take_reply(PendingReply& pending) {
  const shm::EntryIndex at = std::exchange(pending.entry, shm::kNoEntry);
  entries_.inbox().take_unindexed(at);
  return at;
}

shm::EntryIndex Receiver::take_word(PendingReply& pending) {
  const shm::EntryIndex at = std::exchange(pending.word, shm::kNoEntry);
  entries_.inbox().take_unindexed(at);
  return at;
}

void Receiver::forget(PendingReply& pending) {
  answers_.stop_expecting(pending);
  if (!pending.for_ack) answers_.remember_asked(pending);
  if (pending.word != shm::kNoEntry) done(take_word(pending));
  for (;;) {
    const shm::EntryIndex report = take_report(pending);
    if (report == shm::kNoEntry) break;
    done(report);
  }
  if (pending.entry == shm::kNoEntry) return;
  const shm::EntryIndex at = std::exchange(pending.entry, shm::kNoEntry);
  entries_.inbox().stash(at);
  expiry_.note(entry(at));
  kept_.put_aside(at);
}

shm::EntryIndex Receiver::take_stashed_answer() {
  intake_.settle();
  return kept_.take_stashed([](const Stash::Item& item) {
    return item.kind == Stash::Kind::kUnasked || item.kind == Stash::Kind::kAsked;
  });
}

shm::EntryIndex Receiver::take_report(PendingReply& pending) {
  if (pending.reports == 0) return shm::kNoEntry;
  intake_.settle();
  const shm::EntryIndex at = kept_.take_stashed([&](const Stash::Item& item) {
    return item.kind == Stash::Kind::kReport && item.from == pending.from &&
           entry(item.at).header.reply_to == pending.request_id;
  });
  pending.reports = at == shm::kNoEntry ? 0 : pending.reports - 1;
  return at;
}

shm::EntryIndex Receiver::take_stashed_ack(std::uint64_t id, std::uint32_t from) {
  intake_.settle();
  return kept_.take_stashed([&](const Stash::Item& item) {
    return item.kind == Stash::Kind::kAck && item.from == from &&
           entry(item.at).header.reply_to == id;
  });
}

void Receiver::settle_adopted() {
  kept_.drop_surplus_letters();
  intake_.settle();
}

// ---- Expired messages ---------------------------------------------------------------------------

void Receiver::bury_expired() {
  if (!expiry_.may_be_due()) return;
  expiry_.start_anew();
  std::vector<shm::EntryIndex> expired;
  const auto is_over = [&](shm::EntryIndex at) {
    if (has_expired(entry(at))) return true;
    expiry_.note(entry(at));
    return false;
  };
  entries_.inbox().index().for_each([&](const shm::IndexNode& node) {
    if (is_over(node.entry())) expired.push_back(node.entry());
    return true;
  });
  entries_.inbox().take_all(expired);
  const auto is_kept_over = [&](const Stash::Item& item) { return is_over(item.at); };
  std::vector<shm::EntryIndex> aside = kept_.stash().find_all(is_kept_over);
  const auto& tasks = kept_.tasks().waiting();
  std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(aside), is_over);
  for (const shm::EntryIndex at : aside) {
    kept_.take_aside(at);
    expired.push_back(at);
  }
  for (PendingReply* pending : answers_.pending()) {
    if (pending->entry != shm::kNoEntry && is_over(pending->entry)) {
      expired.push_back(take_reply(*pending));
    }
  }
  std::sort(expired.begin(), expired.end(), [this](shm::EntryIndex a, shm::EntryIndex b) {
    return entry(a).arrival < entry(b).arrival;
  });
  for (const shm::EntryIndex at : expired) bury(at, shm::DeadReason::kExpired);
}

void Receiver::bury_expired_sometimes() {
  if (expiry_.is_worth_a_look(entries_.inbox().queued())) bury_expired();
}

}  // namespace beeline::receive
