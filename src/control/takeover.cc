#include "src/control/takeover.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <beeline/types.h>

#include "shm/home.h"
#include "shm/lane.h"
#include "shm/strings.h"
#include "src/control/death.h"
#include "src/control/foreign_check.h"
#include "src/control/forget.h"
#include "src/control/records.h"
#include "src/os/event_fd.h"
#include "src/os/memfd.h"

namespace beeline::control {
namespace {

constexpr std::uint32_t kEntriesPerStep = 256;
constexpr std::uint32_t kSlotsPerRead = 256;  // a power of two, like the number of slots of a lane

std::uint32_t slots_of(const shm::LinkContract& contract, shm::Lane lane) {
  return lane == shm::Lane::kUrgent ? contract.urgent_slots : contract.normal_slots;
}

std::uint64_t lane_offset(const shm::LinkContract& contract, shm::Lane lane) {
  const shm::LinkLayout layout(contract);
  return lane == shm::Lane::kUrgent ? layout.urgent : layout.normal;
}

// How many messages were ever published in a lane; nothing if it cannot be read.
std::optional<std::uint64_t> published_ever(LastReader& reader, int fd,
                                            const shm::LinkContract& contract, shm::Lane lane) {
  const std::uint32_t capacity = slots_of(contract, lane);
  const std::uint32_t most = std::min(capacity, kSlotsPerRead);
  const auto slots = std::make_unique<shm::Slot[]>(most);
  std::uint64_t published = 0;
  for (std::uint32_t first = 0; first < capacity; first += most) {
    const std::uint64_t offset = lane_offset(contract, lane) + first * sizeof(shm::Slot);
    if (!reader.read(fd, offset, std::as_writable_bytes(std::span(slots.get(), most)))) return {};
    for (std::uint32_t i = 0; i < most; ++i) {
      const std::uint64_t commit = slots[i].commit.relaxed_load();
      published = std::max(published, shm::published_by(commit, first + i, capacity));
    }
  }
  return published;
}

// With pread a hole is a run of zeros, so everything that the contract allows may be read.
shm::VerifiedExtents everything(const shm::LinkLayout& layout) {
  shm::VerifiedExtents verified;
  verified.strings = shm::kMaxStrings;
  for (std::size_t i = 0; i < shm::kSlabClasses; ++i) verified.slabs[i] = layout.classes[i].count;
  return verified;
}

// A type or a channel; `place` is its offset among the texts that the message carries. REQUIRES:
// is_good().
std::string read_text(LastReader& reader, int fd, const shm::LinkContract& contract,
                      const shm::MessageHeader& header, std::uint16_t number, std::size_t place) {
  const shm::LinkLayout layout(contract);
  const std::uint64_t offset = number == shm::kCarriedText
                                   ? layout.carried_offset(shm::slab_of(header)) + place
                                   : layout.strings + number * shm::kStringBytes;
  shm::StringCopy copy;
  if (number == 0 || !reader.read_value(fd, offset, copy)) return {};
  return {copy.text, std::min<std::size_t>(copy.length, shm::kMaxStringLength)};
}

bool is_good(const shm::SlotCopy& slot, Pid owner, const shm::LinkContract& contract) {
  const shm::LinkLayout layout(contract);
  shm::SlotCopy wire = slot;  // as it was in the lane: without the receiver's own flags
  wire.header.flags &= shm::kWireFlags;
  return shm::check_slot(wire, owner, layout, everything(layout)) == shm::SlotFault::kNone;
}

// True if no more messages come in this link: its owner has ended, or reads a directory that says
// that the reader is dead.
bool is_settled(Hive& hive, const LinkEntry& link) {
  if (link.faded || !link.may_send) return true;
  const Agent* owner = hive.registry.agent(link.owner);
  const Life* life = owner == nullptr ? nullptr : owner->life(link.key.incarnation);
  return life == nullptr || life->ended || life->sees_us;
}

bool can_be_taken_over(Hive& hive, Pid pid) {
  const std::vector<LinkEntry*> links = hive.registry.links_to(pid);
  return std::all_of(links.begin(), links.end(),
                     [&](const LinkEntry* link) { return is_settled(hive, *link); });
}

}  // namespace

bool LastReader::read(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  constexpr int kTries = 5;
  constexpr std::chrono::milliseconds kPause{2};
  auto read = os::read_at(fd, offset, bytes);
  // Only until the first failure, so that thousands of reads do not each wait.
  for (int i = 1; i < kTries && !read && failure_.empty(); ++i) {
    (void)os::wait_readable(-1, kPause);  // no descriptor tells when there is memory
    read = os::read_at(fd, offset, bytes);
  }
  if (!read && failure_.empty()) failure_ = read.error().text;
  return read && *read == bytes.size();
}

bool TakeoverWorker::step(Hive& hive) {
  if (pid_ == kNoPid) {
    const auto next = std::find_if(hive.takeovers.begin(), hive.takeovers.end(),
                                   [&](Pid pid) { return can_be_taken_over(hive, pid); });
    if (next != hive.takeovers.end()) {
      const Agent* agent = hive.registry.agent(*next);
      begin(hive, *next, agent != nullptr && agent->purged ? Aim::kPurge : Aim::kKeep);
      return true;
    }
    if (hive.looks.due.empty()) return false;
    const Pid away = hive.looks.due.front();
    hive.looks.due.pop_front();
    begin(hive, away, Aim::kLook);
    return true;
  }
  if (step_cursors() || step_entries(hive) || step_lanes(hive)) return true;
  aim_ == Aim::kLook ? finish_look(hive) : finish(hive);
  return true;
}

void TakeoverWorker::begin(Hive& hive, Pid pid, Aim aim) {
  *this = TakeoverWorker();
  pid_ = pid;
  aim_ = aim;
  const Agent* agent = hive.registry.agent(pid);
  if (agent == nullptr) return;
  incarnation_ = agent->committed();
  // SYNC(fence.full): the directory word says dead. A sender that publishes and then loads the word
  // either sees it, or we see the message; pairs with the fence of the send path.
  shm::full_fence();
  for (const LinkEntry* link : hive.registry.links_to(pid)) {
    if (link->faded || !link->may_send) continue;
    links_.push_back(
        {link->key, link->owner, link->contract, link->fd, {}, {}, {}, link->released});
  }
  const Life* life = agent->current.get();
  if (life == nullptr) return;
  // Read receipts before the rows: an agent that was fenced may still run, and an honest one's
  // receipts are never beyond its rows.
  for (InLink& link : links_) read_receipts(hive, pid, *life, link);
  if (life->home == nullptr) return;
  home_ = life->home;
  capacity_ = home_capacity(home_->get(), [this](int fd, std::uint64_t offset, auto bytes) {
    return reader_.read(fd, offset, bytes);
  });
  if (capacity_ != 0) read_rows(*life);
}

void TakeoverWorker::read_rows(const Life& life) {
  const shm::HomeLayout layout(capacity_);
  const std::uint64_t control = layout.control;
  std::uint32_t rows = 0;
  if (!reader_.read_value(life.home->get(), control + offsetof(shm::HomeControl, rows_allocated),
                          rows) ||
      !reader_.read_value(life.home->get(), control + offsetof(shm::HomeControl, next_arrival),
                          next_arrival_) ||
      !reader_.read_value(life.home->get(), control + offsetof(shm::HomeControl, entries_allocated),
                          entries_)) {
    entries_ = 0;
    return;
  }
  rows = std::min(rows, shm::kMaxRows);
  entries_ = std::min(entries_, capacity_);
  const auto table = std::make_unique<shm::InRow[]>(rows);
  if (!reader_.read(life.home->get(), layout.rows,
                    std::as_writable_bytes(std::span(table.get(), rows)))) {
    return;
  }
  has_rows_ = true;
  link_of_row_.assign(rows, -1);
  std::map<shm::LinkKey, std::size_t, LinkKeyOrder> by_key;
  for (std::size_t l = 0; l < links_.size(); ++l) by_key.emplace(links_[l].key, l);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const shm::LinkKey key{shm::Incarnation(table[i].incarnation.relaxed_load()),
                           table[i].serial.relaxed_load()};
    const auto found = by_key.find(key);
    if (found == by_key.end()) continue;
    link_of_row_[i] = static_cast<std::int32_t>(found->second);
    InLink& link = links_[found->second];
    link.forgotten = false;
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      link.cursors[lane] = table[i].cursors[lane].relaxed_load();
    }
  }
}

void TakeoverWorker::read_receipts(Hive& hive, Pid pid, const Life& life, InLink& link) {
  const LinkEntry* own = hive.registry.link_between(pid, life.incarnation, link.owner);
  if (own == nullptr) return;
  const shm::LinkLayout layout(own->contract);
  for (std::size_t bank = 0; bank < shm::kBanks; ++bank) {
    shm::ReceiptBank receipts;
    const std::uint64_t offset = layout.banks + bank * sizeof(receipts);
    if (!reader_.read_value(own->fd->get(), offset, receipts)) continue;
    if (receipts.incarnation.relaxed_load() != link.key.incarnation.value() ||
        receipts.serial.relaxed_load() != link.key.serial) {
      continue;
    }
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      link.receipts[lane] = receipts.cursors[lane].relaxed_load();
    }
    if (receipts.stamps_ready.relaxed_load() == 0) continue;
    link.stamps.resize(shm::kMaxSlabs);
    if (!reader_.read(own->fd->get(), layout.stamp_offset(bank),
                      std::as_writable_bytes(std::span(link.stamps)))) {
      link.stamps.clear();
    }
  }
}

// Makes the cursors of one link sound, by the slots of its lanes.
bool TakeoverWorker::step_cursors() {
  if (next_cursors_ >= links_.size()) return false;
  InLink& link = links_[next_cursors_++];
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    const auto published = published_ever(reader_, link.fd->get(), link.contract, lane);
    if (!published) continue;
    const auto index = static_cast<std::size_t>(lane);
    // If the rows cannot be read, the entries cannot either: messages that were taken can only be
    // read in the lane.
    const std::uint64_t receipt = link_of_row_.empty() ? 0 : link.receipts[index];
    link.cursors[index] = shm::sound_cursor(
        link.cursors[index], receipt, slots_of(link.contract, lane), [&] { return *published; });
  }
  return true;
}

bool TakeoverWorker::step_entries(Hive& hive) {
  if (next_entry_ >= entries_) return false;
  const std::uint32_t count = std::min(kEntriesPerStep, entries_ - next_entry_);
  const auto table = std::make_unique<shm::WordArray<16>[]>(count);
  const std::uint64_t offset =
      shm::HomeLayout(capacity_).entries + next_entry_ * sizeof(shm::Entry);
  next_entry_ += count;
  if (!reader_.read(home_->get(), offset, std::as_writable_bytes(std::span(table.get(), count)))) {
    return true;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto copy = shm::copy_entry(reinterpret_cast<const shm::Entry&>(table[i]));
    const std::size_t row = copy.word.row.value();
    if (row >= link_of_row_.size() || link_of_row_[row] < 0) continue;
    const InLink& link = links_[static_cast<std::size_t>(link_of_row_[row])];
    const auto lane = static_cast<std::size_t>(shm::lane_of(copy.slot.header));
    // As a successor judges it: an entry that is uncommitted or impossible may lie in its lane as
    // well.
    if (shm::judge_words(copy, link.cursors[lane], next_arrival_) != shm::Inherit::kTake) continue;
    if (!is_good(copy.slot, link.owner, link.contract)) continue;
    const bool finished = (copy.slot.header.flags & shm::kFlagSlab) != 0 && !link.stamps.empty() &&
                          link.stamps[copy.slot.header.slab] >= copy.slot.generation;
    if (finished) continue;
    const auto reason = static_cast<shm::DeadReason>(copy.slot.header.flags >> shm::kReasonShift);
    keep(hive, link, copy.slot,
         copy.word.state == shm::EntryState::kDead ? reason : shm::DeadReason::kReceiverDead,
         copy.word.attempts);
  }
  return true;
}

bool TakeoverWorker::step_lanes(Hive& hive) {
  if (next_link_ >= links_.size()) return false;
  const InLink& link = links_[next_link_];
  const auto lane = static_cast<shm::Lane>(next_lane_);
  const std::uint32_t capacity = slots_of(link.contract, lane);
  const std::uint64_t first = link.cursors[next_lane_];
  for (std::uint32_t i = 0; i < capacity && !link.forgotten; ++i) {
    if (!take_slot(hive, link, lane, first + i)) break;
  }
  if (++next_lane_ == shm::kLanes) {
    next_lane_ = 0;
    ++next_link_;
  }
  return true;
}

bool TakeoverWorker::take_slot(Hive& hive, const InLink& link, shm::Lane lane,
                               std::uint64_t position) {
  const std::uint64_t mask = slots_of(link.contract, lane) - 1U;
  const std::uint64_t offset =
      lane_offset(link.contract, lane) + (position & mask) * sizeof(shm::Slot);
  // Read the commit word first, in a call of its own: then the second call reads the complete
  // message.
  std::uint64_t commit = 0;
  if (!reader_.read_value(link.fd->get(), offset, commit) || commit != position + 1) return false;
  shm::Slot slot;
  if (!reader_.read_value(link.fd->get(), offset, slot)) return false;
  shm::SlotCopy copy{};
  shm::copy_slot(slot, copy);
  if (!is_good(copy, link.owner, link.contract)) return false;
  keep(hive, link, copy, shm::DeadReason::kReceiverDead, 0);
  return true;
}

void TakeoverWorker::keep(Hive& hive, const InLink& link, const shm::SlotCopy& slot,
                          shm::DeadReason reason, std::uint32_t attempts) {
  // Copies and acknowledgements were meant for the dead agent alone. The parent of a task knows,
  // and nobody does the task again.
  if (is_copy(slot.header) || is_ack(slot.header)) return;
  if (kind_of(slot) != shm::MessageKind::kOrdinary) return;
  DeadLetter letter;
  letter.type = read_text(reader_, link.fd->get(), link.contract, slot.header, slot.header.type,
                          offsetof(shm::CarriedTexts, type));
  if (is_order(slot.header) && letter.type == kCancelOrder) return;
  ++letters_;
  if (aim_ != Aim::kKeep) return;
  letter.from = link.owner;
  letter.to = pid_;
  if (const AgentNode* node = hive.tree.find(pid_)) letter.to_name = node->name;
  letter.header = slot.header;
  letter.channel = read_text(reader_, link.fd->get(), link.contract, slot.header,
                             slot.header.channel, offsetof(shm::CarriedTexts, channel));
  letter.attempts = attempts;
  letter.reason = reason;
  const std::size_t length = std::min<std::size_t>(slot.header.length, kMaxLetterPayload);
  letter.payload.resize(length);
  if ((slot.header.flags & shm::kFlagSlab) == 0) {
    std::memcpy(letter.payload.data(), slot.inline_payload(),
                std::min(length, shm::inline_room(slot.header)));
  } else {
    const std::uint64_t offset =
        shm::LinkLayout(link.contract).slab_offset(shm::slab_of(slot.header));
    if (!reader_.read(link.fd->get(), offset, std::as_writable_bytes(std::span(letter.payload)))) {
      letter.payload.clear();
    }
  }
  if (shm::extension_bytes(slot.header) != 0) {
    std::memcpy(&letter.extension, slot.payload, sizeof(letter.extension));
  }
  if ((slot.header.flags & shm::kFlagCut) != 0) {
    letter.header.length = std::max(letter.header.length, letter.extension.full_length);
  }
  hive.dead_letters.add(std::move(letter));
}

void TakeoverWorker::finish(Hive& hive) {
  if (!reader_.failure().empty()) {
    const AgentNode* node = hive.tree.find(pid_);
    hive.log.warn("letters_unread", "agent={} name={} dead_letters={} text={}", pid_,
                  in_quotes(node == nullptr ? "" : node->name), letters_,
                  in_quotes(fmt::format("{}: `beeline dlq ls` lacks some of its messages; give the "
                                        "machine memory, and have the rest sent again",
                                        reader_.failure())));
  }
  std::erase(hive.takeovers, pid_);
  finish_death(hive, pid_);
  answer_forgets(hive, pid_, letters_);
  if (letters_ != 0 && aim_ == Aim::kKeep) {
    // The agent's record has this count as well, but is dropped sooner or later.
    hive.keeper.note(kDeadLettersKey, build_number(hive.dead_letters.total()));
    const Agent* agent = hive.registry.agent(pid_);
    if (hive.may_log_life(pid_, agent == nullptr ? 0 : agent->uid, "taken_over")) {
      hive.log.info("taken_over", "agent={} dead_letters={}", pid_, letters_);
    }
  }
  *this = TakeoverWorker();
}

void TakeoverWorker::finish_look(Hive& hive) {
  Agent* agent = hive.registry.agent(pid_);
  // A home that cannot be read is not empty.
  const bool read_all = reader_.failure().empty() && (home_ == nullptr || has_rows_);
  if (agent != nullptr && read_all && letters_ == 0 && agent->committed() == incarnation_ &&
      may_be_let_go(hive, *agent)) {
    const LogGate::Who who{pid_, agent->uid};
    if (hive.may_log_life(who.pid, who.uid, "let_go")) {
      hive.log.info("let_go", "agent={} name={} text=\"away for long, and nothing waits for it\"",
                    pid_, in_quotes(hive.tree.find(pid_)->name));
    }
    end_for_good(hive, *agent, false);
  }
  *this = TakeoverWorker();
}

}  // namespace beeline::control
