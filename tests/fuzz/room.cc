#include "tests/fuzz/room.h"

#include "shm/verify_home.h"
#include "src/os/clock.h"
#include "tests/support/in_links.h"

namespace beeline::fuzz {

namespace {

send::OutLink make_link(std::uint32_t owner, std::uint32_t peer, const shm::LinkKey& key) {
  return need(send::OutLink::create("fuzz", owner, peer, key, kContract));
}

std::unique_ptr<receive::HomeMemory> make_home(unsigned kind) {
  shm::HomeOptions options;
  options.capacity = kCapacity;
  if ((kind & kFifo) != 0) options.policy = shm::OrderPolicy::kFifo;
  if ((kind & kByRelation) != 0) options.rank_rule = shm::RankRule::kByRelation;
  return need(receive::HomeMemory::create("fuzz", kVictimPid, kVictimLife, options));
}

}  // namespace

Room::Room(unsigned kind)
    : kind_(kind),
      victim_(std::make_unique<receive::Receiver>(make_home(kind))),
      hostile_(make_link(kHostilePid, kVictimPid, kHostileKey)),
      honest_(make_link(kHonestPid, kVictimPid, kHonestKey)),
      to_hostile_(make_link(kVictimPid, kHostilePid, {kVictimLife, 1})),
      to_honest_(make_link(kVictimPid, kHonestPid, {kVictimLife, 2})) {
  from_honest_ = accept(honest_, kHonestPid, to_honest_);
  FUZZ_DEMAND(from_honest_ != nullptr);
}

std::span<std::byte> Room::hostile_bytes() const {
  return {hostile_.memory().data(), hostile_.memory().size()};
}

receive::InLink* Room::accept(send::OutLink& theirs, std::uint32_t owner, send::OutLink& ours) {
  auto link = test::add_in_link(*victim_, theirs, owner);
  if (!link) return nullptr;
  receive::InLink* const accepted = *link;
  accepted->set_relation(Relation::kChild, false);
  accepted->begin_at(accepted->seen_empty_ns(), os::coarse_ns());
  test::show_receipts(*accepted, ours);
  return accepted;
}

receive::InLink* Room::accept_hostile() {
  receive::InLink* link = accept(hostile_, kHostilePid, to_hostile_);
  if (link == nullptr) return nullptr;
  link->set_relation(Relation::kChild, (kind_ & kSuperior) != 0);
  if ((kind_ & kRated) != 0) link->limit_rate(std::make_shared<limit::TokenBucket>(1000.0, 2));
  return link;
}

void Room::honest_sends() {
  // Its receipts lie in the victim's link to it.
  const std::size_t bank = to_honest_.view().find_bank(kHonestKey);
  FUZZ_DEMAND(bank != shm::kBanks);
  shm::LaneWriter& lane = honest_.lanes[0];
  if (!lane.has_space(kContract.normal_slots, &to_honest_.view().bank(bank).cursors[0])) return;
  shm::MessageHeader header{};
  header.id = shm::make_message_id(kHonestPid, ++sent_);
  header.sent_ns = os::coarse_ns();
  header.rank = shm::kRankNormal;
  header.length = sizeof(sent_);
  header.slab = shm::kNoSlab.value();
  shm::publish_slot(honest_.view().slot(shm::Lane::kNormal, lane.tail()), lane.tail(), header, 0,
                    &sent_);
  lane.advance();
}

// Reads all parts of a message that a user reads.
void Room::look_at(shm::EntryIndex at) {
  const shm::Entry& entry = victim_->entry(at);
  const std::span<const std::byte> payload = victim_->payload(at);
  FUZZ_DEMAND(payload.size() == entry.header.length);
  const receive::InLink* link = victim_->link_of(at);
  if (entry.in_slab()) {
    FUZZ_DEMAND(link != nullptr);
    const shm::LinkLayout& layout = link->view().layout();
    const shm::SlabIndex slab = shm::slab_of(entry.header);
    FUZZ_DEMAND(slab.value() < layout.total_slabs());
    FUZZ_DEMAND(payload.data() == link->view().slab(slab));
    FUZZ_DEMAND(payload.size() <= layout.classes[layout.class_of(slab)].slab_bytes);
  }
  unsigned sum = 0;
  for (const std::byte each : payload) sum += std::to_integer<unsigned>(each);
  (void)sum;
  FUZZ_DEMAND(victim_->entries().type(at).view().size() <= sizeof(receive::TypeText::text));
  FUZZ_DEMAND(victim_->entries().channel(at).view().size() <= shm::kMaxStringLength);
  (void)receive::end_of_life(entry);
  // The sender is the owner of the link.
  FUZZ_DEMAND(link != nullptr && shm::pid_of_message(entry.header.id) == link->owner_pid());
  if (link->owner_pid() != kHonestPid) return;
  std::uint64_t number = 0;
  FUZZ_DEMAND(payload.size() == sizeof(number));
  std::memcpy(&number, payload.data(), sizeof(number));
  FUZZ_DEMAND(number == finished_ + 1);
}

bool Room::finish_one(std::uint8_t how) {
  // As an agent does.
  const bool may_be_alone = victim_->home().inbox().queued() == 0;
  shm::EntryIndex at = may_be_alone ? victim_->take_alone() : shm::kNoEntry;
  if (at == shm::kNoEntry) at = victim_->take();
  if (at == shm::kNoEntry) return false;
  look_at(at);
  if (shm::pid_of_message(victim_->entry(at).header.id) == kHonestPid) {
    ++finished_;
    victim_->done(at);
  } else if (how % 4 == 0) {
    victim_->requeue(at);
  } else if (how % 4 == 1) {
    victim_->bury(at, shm::DeadReason::kRejected);
  } else {
    victim_->done(at);
  }
  return true;
}

void Room::drain_and_finish() {
  // No more messages than this can exist: both links full, and the table.
  constexpr int kMost = 4 * (8 + 4) + 2 * kCapacity;
  int taken = 0;
  bool more = true;
  for (int turn = 0; more; ++turn) {
    FUZZ_DEMAND(turn <= kMost);
    more = victim_->drain_all();
    for (; finish_one(2); ++taken) FUZZ_DEMAND(taken <= kMost);
  }
  // Answers to no question lie aside; they are fetched, not received.
  for (shm::EntryIndex at = victim_->take_stashed_answer(); at != shm::kNoEntry;
       at = victim_->take_stashed_answer()) {
    FUZZ_DEMAND(++taken <= 2 * kMost);
    look_at(at);
    victim_->done(at);
  }
  victim_->audit().look_at_living();
}

void Room::demand_sound_home() {
  const segment::Owned& memory = victim_->home().memory();
  const std::span<const std::byte> bytes(memory.data(), memory.size());
  const auto finding = shm::verify_home(shm::ByteView(bytes), shm::Taken::kAtRest);
  if (finding) std::fprintf(stderr, "the home breaks %s\n", finding->invariant);
  FUZZ_DEMAND(!finding);
}

void Room::demand_all_honest() {
  FUZZ_DEMAND(!from_honest_->quarantined());
  FUZZ_DEMAND(!from_honest_->has_message());
  FUZZ_DEMAND(finished_ == sent_);
}

}  // namespace beeline::fuzz
