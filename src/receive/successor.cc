#include "src/receive/successor.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "src/os/clock.h"
#include "src/os/memfd.h"

namespace beeline::receive {

namespace {

// The inherited links by the rows that stand for them in the old home; null where a row is vacant,
// or its link is gone.
using LinksByRow = std::vector<shm::InheritedLink*>;

constexpr const char* kNoRoomForReceipts = "attach: no memory for the receipts of a predecessor";

// A time that a predecessor wrote down.
std::int64_t time_in(const shm::Atomic<std::int64_t>& word) {
  return std::clamp<std::int64_t>(word.relaxed_load(), 0, os::coarse_ns());
}

// The row that a place in LinksByRow stands for.
shm::RowIndex row_at(std::size_t place) { return shm::RowIndex(static_cast<std::uint16_t>(place)); }

LinksByRow links_by_row(const shm::HomeView& old, std::vector<Inherited>& links) {
  std::map<std::pair<shm::Incarnation, std::uint32_t>, shm::InheritedLink*> by_name;
  for (Inherited& from : links) {
    by_name[{from.link.key.incarnation, from.link.key.serial}] = &from.link;
  }
  LinksByRow rows(old.rows_allocated(), nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const shm::InRow& row = old.row(row_at(i));
    const auto found =
        by_name.find({shm::Incarnation(row.incarnation.relaxed_load()), row.serial.relaxed_load()});
    if (found != by_name.end()) rows[i] = found->second;
  }
  return rows;
}

// The number of messages that the predecessor and those before it have taken. The new row of a link
// that goes on says it, since the old row may lie. Otherwise as shm::drained_total().
std::uint64_t drained_before(const shm::HomeView& old, const shm::Home& home,
                             const LinksByRow& rows, const std::vector<Inherited>& links) {
  const std::uint64_t retired = old.control().retired.relaxed_load();
  std::uint64_t total = retired;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const shm::InRow& row = old.row(row_at(i));
    if (row.incarnation.relaxed_load() == 0) continue;
    const bool is_counted = retired != 0 && row.retired.relaxed_load() == retired;
    const bool goes_on = rows[i] != nullptr;
    if (is_counted && goes_on) total -= shm::taken_from(row);
    if (!is_counted && !goes_on) total += shm::taken_from(row);
  }
  for (const Inherited& from : links) total += shm::taken_from(home.row(from.link.new_row));
  return total;
}

// Whether the bank has stamps, and memory for them. REQUIRES: that was not found before. Errors:
// kNoMemory, kSystem; kBadSegment: it announced stamps without having them.
Result<bool> verify_stamps(OldBank& old) {
  const shm::LinkView view = old.view();
  // SYNC(slab.stamps_ready): acquire; the bank may have had another name before, with other stamps.
  if (view.bank(old.bank).stamps_ready.observe() == 0) return false;
  const auto done =
      old.memory.verify(view.layout().stamp_offset(old.bank), shm::LinkLayout::kStampRowBytes);
  if (!done) return tl::unexpected(done.error());
  return true;
}

Result<void> inherit_late_stamps(Inherited& from) {
  if (from.own == nullptr || !from.own->sink().valid() || from.old.bank == shm::kBanks) return {};
  if (!from.link.has_stamps) {
    const auto found = verify_stamps(from.old);
    if (!found && !segment::is_lie(found.error())) return tl::unexpected(found.error());
    if (!found || !*found) return {};
  }
  const ReceiptSink& sink = from.own->sink();
  const shm::LinkView view = from.old.view();
  for (shm::SlabIndex slab(0); slab.value() < shm::kMaxSlabs; ++slab) {
    const std::uint64_t late = shm::late_stamp(view, from.old.bank, slab, from.link);
    if (late == 0) continue;
    if (!ensure_stamps(sink)) return fail(ErrorCode::kNoMemory, kNoRoomForReceipts);
    shm::stamp(sink.own->stamp(sink.bank, slab), late);
    from.own->note_old_stamps();
  }
  return {};
}

}  // namespace

// SYNC(fence.full): the directory says that we are starting. A sender that hears the predecessor
// say more than we see sees that word and does not believe it; pairs with OutLink::still_counts().
Result<OldHome> OldHome::accept(os::UniqueFd fd, std::uint32_t pid, shm::Incarnation incarnation) {
  shm::full_fence();
  std::uint32_t capacity = 0;
  for (std::uint32_t c = shm::kMinInboxCapacity; c <= shm::kMaxEntries && capacity == 0; c *= 2) {
    if (os::check_foreign(fd.get(), shm::HomeLayout(c).bytes, shm::kPage)) capacity = c;
  }
  if (capacity == 0) {
    Error error{ErrorCode::kBadSegment, 0,
                "home of agent " + std::to_string(pid) + ": its size fits no inbox capacity"};
    const auto promised = shm::home_identity(shm::kDefaultInboxCapacity, pid, incarnation);
    return tl::unexpected(segment::refusal(fd.get(), promised, std::move(error)));
  }
  auto memory = segment::Foreign::accept(
      std::move(fd), shm::home_identity(capacity, pid, incarnation), shm::kPage);
  if (!memory) return tl::unexpected(memory.error());
  return OldHome(std::move(*memory), capacity, incarnation);
}

OldHome::OldHome(segment::Foreign memory, std::uint32_t capacity, shm::Incarnation incarnation)
    : memory_(std::move(memory)), view_(memory_.data(), capacity), incarnation_(incarnation) {
  for (shm::RowIndex i(0); i.value() < view_.rows_allocated(); ++i) {
    const shm::InRow& row = view_.row(i);
    const shm::Incarnation life(row.incarnation.relaxed_load());  // looked at again in read_row()
    if (life != shm::kNoIncarnation) row_of_.emplace(std::pair(life, row.serial.relaxed_load()), i);
  }
}

// A fenced predecessor may still run and open a row later. Such a row counts as none: the successor
// takes those messages, too.
bool OldHome::read_row(shm::InheritedLink& link) const {
  const auto found = row_of_.find({link.key.incarnation, link.key.serial});
  if (found == row_of_.end()) return false;
  const shm::InRow& row = view_.row(found->second);
  // SYNC(home.row): acquire, as for the cursors: a predecessor that was fenced may still run.
  const shm::Incarnation incarnation(row.incarnation.observe());
  if (shm::LinkKey{incarnation, row.serial.relaxed_load()} != link.key) return false;
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    // SYNC(home.cursor): acquire; the entries that it counts are seen.
    link.cursors[lane] = row.cursors[lane].observe();
  }
  link.seen_empty_ns = time_in(row.seen_empty_ns);
  link.known_since_ns = time_in(row.known_since_ns);
  return true;
}

Result<OldBank> read_receipts(OldReceipts old, std::uint32_t pid, shm::InheritedLink& inherited) {
  if (!old.fd.valid()) return OldBank();
  auto memory = segment::Foreign::accept_link(std::move(old.fd), old.contract, pid,
                                              inherited.owner_pid, old.key);
  if (!memory && !segment::is_lie(memory.error())) return tl::unexpected(memory.error());
  if (!memory) return OldBank();
  OldBank found{std::move(*memory), old.contract};
  const shm::LinkView view = found.view();
  found.bank = view.find_bank(inherited.key);
  if (found.bank == shm::kBanks) return found;
  const auto stamps = verify_stamps(found);
  if (!stamps && !segment::is_lie(stamps.error())) return tl::unexpected(stamps.error());
  if (!stamps) return OldBank();
  if (*stamps) shm::copy_stamps(view, found.bank, inherited);
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    inherited.receipts[lane] = view.bank(found.bank).cursors[lane].observe();
  }
  return found;
}

Result<void> continue_link(Receiver& receiver, InLink& link, shm::InheritedLink& inherited) {
  switch (link.verify_extents()) {
    case Extents::kVerified:
      break;
    case Extents::kNotNow:
      return fail(ErrorCode::kNoMemory,
                  "attach: the payloads for the predecessor cannot be mapped");
    case Extents::kLie:
      receiver.quarantine(link, kLieAboutMemory);
  }
  for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
    link.move_to(static_cast<shm::Lane>(lane), inherited.cursors[lane]);
  }
  link.allow_for_others();
  receiver.links().watch_urgent(link);
  receiver.links().arrange(link);  // it was placed by what lies at the beginning of its lanes
  if (inherited.has_stamps) link.note_old_stamps();
  // Its messages may have waited for as long as nobody was here.
  link.begin_at(inherited.seen_empty_ns, inherited.known_since_ns);
  inherited.verified = link.verified();
  inherited.new_row = link.row();
  return {};
}

Result<void> continue_receipts(const ReceiptSink& sink, const shm::InheritedLink& inherited) {
  if (!sink.valid()) return {};
  if (inherited.has_stamps && !ensure_stamps(sink)) {
    return fail(ErrorCode::kNoMemory, kNoRoomForReceipts);
  }
  shm::inherit_stamps(*sink.own, sink.bank, inherited);
  shm::open_bank(sink.own->bank(sink.bank), inherited.key, inherited.cursors[0],
                 inherited.cursors[1]);
  return {};
}

Result<InLink*> inherit_link(Receiver& receiver, Predecessor& predecessor,
                             std::unique_ptr<InLink> link, OldReceipts old, bool released) {
  HomeMemory& memory = receiver.home();
  shm::InheritedLink inherited;
  inherited.key = link->key();
  inherited.owner_pid = link->owner_pid();
  inherited.layout = link->view().layout();
  inherited.seen_empty_ns = link->seen_empty_ns();
  inherited.known_since_ns = link->known_since_ns();
  const std::uint32_t pid = memory.home().header().owner_pid;
  auto bank = read_receipts(std::move(old), pid, inherited);
  if (!bank) return tl::unexpected(bank.error());
  const bool was_known = predecessor.home.read_row(inherited);
  if (released && !was_known) return nullptr;
  shm::make_cursors_sound(inherited, link->view());
  const auto row = memory.vacant_row();
  if (!row) return tl::unexpected(row.error());
  shm::open_row(memory.home().row(*row), inherited.key, inherited.owner_pid, inherited.cursors[0],
                inherited.cursors[1], inherited.seen_empty_ns, inherited.known_since_ns);
  link->place_in_row(*row);
  InLink& added = receiver.add(std::move(link));
  if (auto done = continue_link(receiver, added, inherited); !done) {
    return tl::unexpected(done.error());
  }
  if (auto done = continue_receipts(added.sink(), inherited); !done) {
    return tl::unexpected(done.error());
  }
  predecessor.links.push_back({inherited, std::move(*bank), &added});
  return &added;
}

Result<void> inherit_home(Receiver& receiver, Predecessor& predecessor) {
  HomeMemory& memory = receiver.home();
  const shm::Home& home = memory.home();
  const OldHome& old = predecessor.home;
  const LinksByRow rows = links_by_row(old.view(), predecessor.links);
  std::uint32_t live = 0;
  for (shm::EntryIndex i(0); i.value() < old.view().entries_allocated(); ++i) {
    const shm::EntryCopy copy = shm::copy_entry(old.view().entry(i));
    if (copy.word.state == shm::EntryState::kFree) continue;
    shm::InheritedLink* link =
        copy.word.row.value() < rows.size() ? rows[copy.word.row.value()] : nullptr;
    if (link == nullptr ||
        shm::judge_entry(copy, *link, old.view().control().next_arrival) != shm::Inherit::kTake)
      continue;
    if (auto room = memory.reserve_entries(live + 1); !room) return room;
    const shm::EntryIndex at(live++);
    shm::inherit_entry(home, at, copy, link->new_row);
    if ((copy.slot.header.flags & shm::kFlagSlab) != 0) link->held.set(copy.slot.header.slab);
    const bool was_alive = copy.word.state != shm::EntryState::kDead;
    if (was_alive && home.entry(at).word().state == shm::EntryState::kDead) {
      // Its sender took it back, and the predecessor could not say so any more; or it is a task.
      receiver.kept().refuse(at, shm::DeadReason::kCancelled);
    }
    receiver.link_of(at)->refer();
  }
  for (Inherited& from : predecessor.links) {
    if (auto done = inherit_late_stamps(from); !done) return done;
  }
  shm::inherit_counters(home, old.view(), live,
                        drained_before(old.view(), home, rows, predecessor.links));
  receiver.note_all_empty(time_in(old.view().control().all_empty_ns));
  home.control().predecessor = old.view().header().owner_incarnation;
  memory.inbox().rebuild();
  receiver.adopt_entries();
  return {};
}

}  // namespace beeline::receive
