#include "src/receive/in_links.h"

#include <utility>

#include "shm/check.h"

namespace beeline::receive {

InLink& InLinks::add(std::unique_ptr<InLink> added) {
  InLink& link = *added;
  BEELINE_CHECK(link.row() != shm::kNoRow && of_row(link.row()) == nullptr, link.row(),
                link.owner_pid());
  index_.add(link);
  const std::size_t row = link.row().value();
  if (rows_.size() <= row) rows_.resize(row + 1, nullptr);
  rows_[row] = &link;
  link.set_place(links_.size());
  links_.push_back(std::move(added));
  urgent_.emplace_back();
  watch_urgent(link);
  swap(link.place(), looked_at_++);
  // A link whose owner has ended already keeps its turn behind those of earlier lives.
  if (!link.owner_gone() || link.has_message(shm::Lane::kUrgent)) {
    swap(link.place(), watched_++);
    move_to_front(link.place());
  }
  most_slots_ = std::max(most_slots_, link.view().capacity(shm::Lane::kNormal));
  owners_.add(link);
  return link;
}

void InLinks::swap(std::size_t a, std::size_t b) {
  std::swap(links_[a], links_[b]);
  std::swap(urgent_[a], urgent_[b]);
  links_[a]->set_place(a);
  links_[b]->set_place(b);
}

void InLinks::arrange(InLink& link) {
  owners_.sort(link);
  const bool is_watched = !link.owner_gone() || link.has_message(shm::Lane::kUrgent);
  const bool is_looked_at = is_watched || link.holds_messages() || link.is_queued();
  if (!is_watched && link.place() < watched_) swap(link.place(), --watched_);
  if (!is_looked_at && link.place() < looked_at_) {
    index_.pass_over(link);
    swap(link.place(), --looked_at_);
  }
  if (is_looked_at && link.place() >= looked_at_) swap(link.place(), looked_at_++);
  if (is_watched && link.place() >= watched_) swap(link.place(), watched_++);
}

void InLinks::remove(InLink& link) {
  BEELINE_CHECK(link.place() < links_.size() && links_[link.place()].get() == &link, link.place(),
                links_.size(), link.row());
  BEELINE_CHECK(link.live() == 0, link.live(), link.row());
  rows_[link.row().value()] = nullptr;
  index_.remove(link);
  owners_.remove(link);
  if (link.quarantined()) --quarantined_;
  if (link.place() < watched_) swap(link.place(), --watched_);
  if (link.place() < looked_at_) swap(link.place(), --looked_at_);
  swap(link.place(), links_.size() - 1);
  urgent_.pop_back();
  links_.pop_back();
}

bool InLinks::quarantine(InLink& link, const char* fault) {
  if (link.quarantined()) return false;
  link.note_fault(fault);
  ++quarantined_;
  owners_.call(link);
  return true;
}

// A link that was not active takes the place of the last active one, and that goes to its old
// place: links behind the active ones are in no order.
void InLinks::move_to_front(std::size_t at) {
  if (at >= watched_) return;  // nothing comes from the ended any more
  if (at >= kActiveLinks) {
    swap(at, kActiveLinks - 1);
    at = kActiveLinks - 1;
  }
  for (; at > 0; --at) swap(at, at - 1);
}

void InLinks::watch_urgent(const InLink& link) {
  const std::uint64_t at = link.position(shm::Lane::kUrgent);
  urgent_[link.place()] = {&link.view().slot(shm::Lane::kUrgent, at), at};
}

bool InLinks::all_empty() const {
  return std::none_of(links_.begin(), end_of(looked_at_),
                      [](const auto& link) { return link->holds_messages(); });
}

bool InLinks::has_urgent_lane() const {
  return std::any_of(links_.begin(), end_of(watched_), [](const auto& link) {
    return link->has_message(shm::Lane::kUrgent) && link->open();
  });
}

}  // namespace beeline::receive
