// A whole link of a hostile peer, with its header: a sound one that the input writes into, or the
// bytes of the input. It is refused, or everything that is taken from it is sound.

#include "tests/fuzz/room.h"
#include "tests/unit/verify_samples.h"

namespace beeline::fuzz {
namespace {

BEELINE_FUZZ_TARGET(link) {
  Room room;
  Feed feed(input);
  const auto bytes = room.hostile_bytes();
  const shm::LinkLayout layout(kContract);
  // Memory for strings, stamps and the first slabs exists; the input decides how much is announced.
  FUZZ_DEMAND(room.hostile().memory().allocate(layout.strings,
                                               layout.slabs[1] - layout.strings + 8 * 8192));
  if (feed.take<std::uint8_t>() % 8 == 0) {
    const Bytes raw = feed.rest();
    std::memcpy(bytes.data(), raw.data(), std::min(raw.size(), bytes.size()));
  } else {
    // Four messages, one of them in a slab.
    const shm::Link& link = room.hostile().view();
    link.control().slabs_allocated[0].publish(4);
    (void)shm::append_string(link, "type");
    for (std::uint64_t i = 0; i < 4; ++i) {
      shm::MessageHeader header{};
      header.id = shm::make_message_id(kHostilePid, i + 1);
      header.type = 1;
      header.length = 40;
      header.flags = i == 3 ? shm::kFlagSlab : 0;
      header.slab = i == 3 ? 2 : shm::kNoSlab.value();
      const char area[shm::kInlineBytes] = "hello";
      shm::publish_slot(link.slot(shm::Lane::kNormal, i), i, header, i, area);
    }
    const auto places = feed.take<std::uint8_t>();
    if (places % 2 == 0) scribble(feed, bytes.first(layout.first_extent), 32);
    scribble(feed, bytes.subspan(sizeof(shm::SegmentHeader)), 32);
    if (places % 4 == 1) scribble(feed, bytes, 32);
  }
  room.honest_sends();
  room.honest_sends();
  if (receive::InLink* link = room.accept_hostile(); link != nullptr) {
    (void)link->verify_extents();
    (void)link->view().find_bank(room.to_hostile().key());
  }
  room.drain_and_finish();
  room.demand_all_honest();
}

}  // namespace
}  // namespace beeline::fuzz
