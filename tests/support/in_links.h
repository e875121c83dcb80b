#pragma once
// Lets a receiver in a test read another agent's link, as after an announcement: maps the memory
// read-only, gives it a row of its home, and shows its receipts.

#include <memory>
#include <utility>

#include "src/receive/receiver.h"
#include "src/send/out_link.h"

namespace beeline::test {

// The reader's mapping. Errors: those of Foreign::accept().
[[nodiscard]] inline Result<segment::Foreign> map_link(const send::OutLink& link,
                                                       std::uint32_t owner) {
  auto fd = os::duplicate(link.memory().fd());
  if (!fd) return tl::unexpected(fd.error());
  const shm::LinkContract& contract = link.view().contract();
  return segment::Foreign::accept_link(std::move(*fd), contract, owner, link.peer(), link.key());
}

// Maps a link and adds it; its row starts at the cursors. Its receipts are not shown to the owner
// yet. Errors: those of map_link(); then no link is added.
[[nodiscard]] inline Result<receive::InLink*> add_in_link(
    receive::Receiver& receiver, const send::OutLink& theirs, std::uint32_t owner,
    const std::uint64_t (&cursors)[shm::kLanes] = {0, 0}) {
  auto memory = map_link(theirs, owner);
  if (!memory) return tl::unexpected(memory.error());
  const auto row = receiver.home().vacant_row();
  if (!row) return tl::unexpected(row.error());
  auto link = std::make_unique<receive::InLink>(std::move(*memory), theirs.view().contract(),
                                                receive::LinkOwner{theirs.key(), owner, {}});
  link->place_in_row(*row);
  shm::open_row(receiver.home().home().row(*row), link->key(), owner, cursors[0], cursors[1]);
  return &receiver.add(std::move(link));
}

// Shows the receipts for it in a link that the reader owns.
inline void show_receipts(receive::InLink& link, const send::OutLink& ours) {
  const std::size_t bank = shm::vacant_bank(ours.view());
  link.show_receipts_in({&ours.view(), &ours.memory(), bank});
  shm::open_bank(ours.view().bank(bank), link.key(), 0, 0);
}

}  // namespace beeline::test
