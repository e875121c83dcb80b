#pragma once
// A successor's home, built from its predecessor's as from a hostile writer. See shm/handover.h for
// the rules.

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
                                              std::uint64_t incarnation);
  [[nodiscard]] const shm::HomeView& view() const { return view_; }
  [[nodiscard]] std::uint32_t capacity() const { return view_.capacity(); }
  // How far the old home has taken the in-link `link.key`: cursors and when it was seen empty.
  // False, and nothing changed, when it had no row for it. To be called after add_receipts().
  bool read_row(shm::InheritedLink& link) const;

 private:
  OldHome(segment::Foreign memory, std::uint32_t capacity)
      : memory_(std::move(memory)), view_(memory_.data(), capacity) {}
  segment::Foreign memory_;
  shm::HomeView view_;
};

// Everything that a successor reads while it builds its home.
struct Predecessor {
  // `most_links` bounds add_receipts().
  Predecessor(OldHome old, std::uint64_t life, std::size_t most_links)
      : home(std::move(old)), incarnation(life) {
    receipts.reserve(most_links);
    views.reserve(most_links);
  }

  // Maps the predecessor's own link to a peer and finds its bank for `inherited.key`. A link that
  // is not what it was said to be counts as none. Errors: kNoMemory, kSystem.
  [[nodiscard]] Result<void> add_receipts(os::UniqueFd fd, std::uint32_t owner, std::uint32_t peer,
                                          const shm::LinkKey& mine,
                                          const shm::LinkContract& contract,
                                          shm::InheritedLink& inherited);

  OldHome home;
  std::uint64_t incarnation;
  std::vector<shm::InheritedLink> links;
  std::vector<segment::Foreign> receipts;
  std::vector<shm::LinkView> views;  // of `receipts`; never reallocated, links point here
};

// Begins an in-link where the predecessor's home says that it was, and completes `inherited`. One
// whose owner lied about its memory is quarantined. REQUIRES: its row is open with the inherited
// cursors. Errors: kNoMemory.
[[nodiscard]] Result<void> continue_link(Receiver& receiver, InLink& link,
                                         shm::InheritedLink& inherited, bool was_known);

// Starts a bank of receipts from the predecessor's stamps and cursors; without a bank there is
// nothing to start. Errors: kNoMemory.
[[nodiscard]] Result<void> continue_receipts(const ReceiptSink& sink,
                                             const shm::InheritedLink& inherited);

// Copies entries and counters. REQUIRES: for each inherited link a row of the new home is open with
// the inherited cursors, its InLink is in the receiver, and `link.new_row` names the row. Errors:
// kFull (more live entries than the new inbox holds), kNoMemory.
[[nodiscard]] Result<void> inherit_home(Receiver& receiver, const OldHome& old,
                                        std::vector<shm::InheritedLink>& links);

}  // namespace beeline::receive
