#pragma once
// A successor's home, built from its predecessor's as from a hostile writer. See shm/handover.h for
// the rules.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <beeline/result.h>

#include "shm/handover.h"
#include "src/receive/receiver.h"

namespace beeline::receive {

// The predecessor's home, mapped read-only.
class OldHome {
 public:
  // Accepts the fd that the coordinator gave. Errors: kBadSegment, kWrongVersion.
  [[nodiscard]] static Result<OldHome> accept(os::UniqueFd fd, std::uint32_t pid,
                                              shm::Incarnation incarnation);
  [[nodiscard]] const shm::HomeView& view() const { return view_; }
  [[nodiscard]] std::uint32_t capacity() const { return view_.capacity(); }
  // The life whose home it is.
  [[nodiscard]] shm::Incarnation incarnation() const { return incarnation_; }
  // It has, or had when it was accepted, a row for this in-link.
  [[nodiscard]] bool holds(const shm::LinkKey& key) const {
    return row_of_.contains({key.incarnation, key.serial});
  }
  // How far the old home has taken the in-link `link.key`: cursors and when it was seen empty.
  // False, and nothing changed, when it had no row for it. To be called after read_receipts().
  bool read_row(shm::InheritedLink& link) const;

 private:
  OldHome(segment::Foreign memory, std::uint32_t capacity, shm::Incarnation incarnation);
  segment::Foreign memory_;
  shm::HomeView view_;
  shm::Incarnation incarnation_;
  // The row of each link when the home was accepted. A map, since rows are many, and so are links.
  std::map<std::pair<shm::Incarnation, std::uint32_t>, shm::RowIndex> row_of_;
};

// The place of the predecessor's receipts for an in-link: its own link to the owner.
struct OldReceipts {
  os::UniqueFd fd;  // invalid: there is no such link
  shm::LinkKey key;
  shm::LinkContract contract;
};

// The same, mapped: of a life that was fenced and still runs they may change.
struct OldBank {
  segment::Foreign memory;
  shm::LinkContract contract;
  std::size_t bank = shm::kBanks;  // kBanks: there are none
  [[nodiscard]] shm::LinkView view() const { return {memory.data(), contract}; }
};

// An in-link that is taken over.
struct Inherited {
  shm::InheritedLink link;
  OldBank old{};
  InLink* own = nullptr;  // as it goes on
};

// Everything that a successor knows of its predecessor.
struct Predecessor {
  // `most_links` in-links are expected.
  Predecessor(OldHome old, std::size_t most_links) : home(std::move(old)) {
    links.reserve(most_links);
  }
  OldHome home;
  std::vector<Inherited> links;
};

// Copies the receipts for `inherited.key` from the predecessor's own link. The link counts as none
// if it differs from its announcement. `pid` is the predecessor's. Errors: kNoMemory, kSystem.
[[nodiscard]] Result<OldBank> read_receipts(OldReceipts old, std::uint32_t pid,
                                            shm::InheritedLink& inherited);

// Begins an in-link at the place that the predecessor's home gives, and completes `inherited`.
// Quarantines the link if its owner lied about its memory. REQUIRES: its row is open with the
// inherited cursors. Errors: kNoMemory.
[[nodiscard]] Result<void> continue_link(Receiver& receiver, InLink& link,
                                         shm::InheritedLink& inherited);

// Starts a bank of receipts from the predecessor's stamps and cursors; without a bank there is
// nothing to start. Errors: kNoMemory.
[[nodiscard]] Result<void> continue_receipts(const ReceiptSink& sink,
                                             const shm::InheritedLink& inherited);

// Takes over one in-link: reads the receipts, then the row, makes the cursors sound, opens a row,
// and goes on from there. `link` is mapped, has its name and a sink for its new receipts, and no
// row yet; the receiver owns it afterwards. Null: the predecessor, which was allowed to forget it
// (`released`), has no row for it any more, so all of it was taken. Errors: kNoMemory, kFull (no
// row), kSystem.
[[nodiscard]] Result<InLink*> inherit_link(Receiver& receiver, Predecessor& predecessor,
                                           std::unique_ptr<InLink> link, OldReceipts old,
                                           bool released = false);

// Copies entries and counters, then the stamps of messages that were finished meanwhile. REQUIRES:
// for each inherited link a row of the new home is open with the inherited cursors, its InLink is
// in the receiver, and `link.new_row` names the row. Errors: kFull (more live entries than the new
// inbox holds), kNoMemory, kSystem.
[[nodiscard]] Result<void> inherit_home(Receiver& receiver, Predecessor& predecessor);

}  // namespace beeline::receive
