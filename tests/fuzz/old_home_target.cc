// An old home in a takeover, and the old link with its receipts, both as a hostile writer left
// them. A successor refuses the home or builds a sound one from it; messages of an honest peer go
// on.

#include "src/receive/successor.h"
#include "tests/fuzz/room.h"
#include "tests/unit/verify_samples.h"

namespace beeline::fuzz {
namespace {

static_assert(test::kReader == kVictimPid && test::kSender == kHostilePid &&
              test::kReaderLife < kVictimLife);

constexpr std::uint64_t kTaken[] = {3, 1};  // according to the sample home: cursors of its row

// A segment with the bytes of a sample.
segment::Owned make_segment(test::Sample& sample) {
  const auto bytes = sample.bytes();
  auto made = need(segment::Owned::create("fuzz-old", bytes.size(), bytes.size()));
  std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

// As many as the sample home has taken: without published messages none could have been taken.
void publish_taken(const shm::Link& link) {
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    for (std::uint64_t at = 0; at < kTaken[static_cast<std::size_t>(lane)]; ++at) {
      link.slot(lane, at).commit.publish(at + 1);
    }
  }
}

os::UniqueFd fd_of(const segment::Owned& memory) { return need(os::duplicate(memory.fd())); }

BEELINE_FUZZ_TARGET(old_home) {
  static const test::Sample sound_home = test::sample_home();
  Feed feed(input);
  test::Sample sample = sound_home;
  const shm::HomeLayout layout(test::kSmallInbox);
  const auto bytes = sample.bytes();
  const auto where = feed.take<std::uint8_t>();
  if (where % 2 == 0) scribble(feed, bytes.subspan(layout.control, sizeof(shm::HomeControl)), 8);
  if (where % 4 < 2) {
    scribble(feed, bytes.subspan(layout.rows, 2 * sizeof(shm::InRow)), 8);
    scribble(feed, bytes.subspan(layout.entries, test::kSmallInbox * sizeof(shm::Entry)), 32);
  }
  if (where % 8 == 7) scribble(feed, bytes, 8);
  const segment::Owned old_memory = make_segment(sample);

  Room room;
  // The predecessor's own link to the hostile peer; the input writes its banks and stamps.
  send::OutLink mine = need(
      send::OutLink::create("fuzz", kVictimPid, kHostilePid, {test::kReaderLife, 4}, kContract));
  const shm::LinkLayout link_layout(kContract);
  const std::span<std::byte> mine_bytes(mine.memory().data(), mine.memory().size());
  FUZZ_DEMAND(mine.memory().allocate(link_layout.stamps, shm::LinkLayout::kStampsBytes));
  shm::open_bank(mine.view().bank(0), kHostileKey, kTaken[0], kTaken[1]);
  if (where % 16 != 15) mine.view().bank(0).stamps_ready.publish(1);
  scribble(feed, mine_bytes.subspan(link_layout.banks, shm::kBanks * sizeof(shm::ReceiptBank)), 4);
  scribble(feed, mine_bytes.subspan(link_layout.stamps, 64), 4);

  auto old = receive::OldHome::accept(fd_of(old_memory), kVictimPid, test::kReaderLife);
  if (!old) return;
  receive::InLink* link = room.accept_hostile();
  FUZZ_DEMAND(link != nullptr);
  publish_taken(room.hostile().view());
  FUZZ_DEMAND(
      room.hostile().memory().allocate(link_layout.strings, shm::LinkLayout::kStringsBytes));
  room.hostile().view().control().string_count.publish(3);
  const std::uint32_t slabs = feed.below(4);
  FUZZ_DEMAND(room.hostile().memory().allocate(link_layout.slabs[0], slabs * 1024 + 1));
  room.hostile().view().control().slabs_allocated[0].publish(slabs);
  FUZZ_DEMAND(link->verify_extents() == receive::Extents::kVerified);

  receive::Predecessor predecessor(std::move(*old), 1);
  shm::InheritedLink inherited;
  inherited.key = kHostileKey;
  inherited.owner_pid = kHostilePid;
  inherited.layout = link_layout;
  auto bank =
      receive::read_receipts({fd_of(mine.memory()), mine.key(), kContract}, kVictimPid, inherited);
  FUZZ_DEMAND(bank);
  (void)predecessor.home.read_row(inherited);
  FUZZ_DEMAND(inherited.seen_empty_ns >= 0);
  shm::make_cursors_sound(inherited, shm::LinkView(link->memory().data(), kContract));
  shm::open_row(room.victim().home().home().row(link->row()), kHostileKey, kHostilePid,
                inherited.cursors[0], inherited.cursors[1]);
  FUZZ_DEMAND(receive::continue_link(room.victim(), *link, inherited));
  FUZZ_DEMAND(!link->quarantined());
  FUZZ_DEMAND(receive::continue_receipts(link->sink(), inherited));
  predecessor.links.push_back({inherited, std::move(*bank), link});
  scribble(feed, mine_bytes.subspan(link_layout.stamps, 64), 4);  // the predecessor still runs
  const auto done = receive::inherit_home(room.victim(), predecessor);
  FUZZ_DEMAND(done || !done.error().text.empty());
  if (!done) return;
  room.victim().settle_adopted();
  room.demand_sound_home();
  room.honest_sends();
  room.drain_and_finish();
  room.demand_all_honest();
  room.demand_sound_home();
}

}  // namespace
}  // namespace beeline::fuzz
