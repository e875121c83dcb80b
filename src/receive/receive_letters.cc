// How many dead letters are kept, and whose go when there are too many.

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "src/receive/receiver.h"

namespace beeline::receive {

// They must not fill a small table.
std::uint32_t Receiver::most_letters() const {
  return std::min(shm::kMaxDeadLetters, home_->home().capacity() / 4);
}

void Receiver::keep_dead_letters_bounded() {
  while (home_->inbox().dead() > most_letters()) {
    const std::uint32_t at = dispensable_letter(home_->inbox().letters());
    if (at == shm::kNoEntry) return;
    purge_dead(at);
  }
}

// Dead letters, acknowledgements that nobody has fetched and answers to no open question hold half
// of the slabs of a class of a link at most: the rest is for its sender to go on with. What was
// just put there stays.
void Receiver::keep_slabs_bounded(std::uint32_t at) {
  const InLink* link = entry(at).in_slab() ? link_of(at) : nullptr;
  if (link == nullptr) return;
  const shm::LinkLayout& layout = link->view.layout();
  const std::size_t slab_class = layout.class_of(entry(at).header.slab);
  const std::size_t most = std::max(1U, layout.classes[slab_class].count / 2);
  const auto holds_one = [&](std::uint32_t kept) {
    const shm::Entry& other = entry(kept);
    return other.in_slab() && other.word().row == link->row &&
           layout.class_of(other.header.slab) == slab_class;
  };
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t letter : home_->inbox().letters()) {
    if (holds_one(letter)) kept.push_back(letter);
  }
  for (const auto& [place, item] : stash_.items()) {
    const bool dispensable = item.in_slab && item.kind != Stash::Kind::kAsked;
    if (dispensable && holds_one(item.at)) kept.push_back(item.at);
  }
  if (kept.size() <= most) return;
  const std::size_t surplus = kept.size() - most;
  std::erase(kept, at);
  const auto worth = [this](std::uint32_t each) {
    if (entry(each).reason() == shm::DeadReason::kUnclaimed) return 0;
    if ((entry(each).header.flags & shm::kFlagUnasked) != 0) return 1;
    return entry(each).word().state == shm::EntryState::kDead ? 3 : 2;
  };
  std::stable_sort(kept.begin(), kept.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return worth(a) < worth(b); });
  kept.resize(std::min(surplus, kept.size()));
  for (const std::uint32_t each : kept) discard(each);
}

// Lets go of a letter, or of what is kept aside.
void Receiver::discard(std::uint32_t at) {
  if (entry(at).word().state == shm::EntryState::kDead) return purge_dead(at);
  if (!unstash(at)) return;
  refuse(at, shm::DeadReason::kUnclaimed);
  home_->inbox().bury(at, shm::DeadReason::kUnclaimed);
  purge_dead(at);
}

// After a take-over there may be more: what was being handled when it was cancelled, and what a
// smaller inbox keeps no more. The same go as of too many at any other time.
void Receiver::drop_surplus_letters() {
  std::vector<std::uint32_t> letters;
  for (std::uint32_t at = 0; at < home_->home().entries_allocated(); ++at) {
    if (entry(at).word().state == shm::EntryState::kDead) letters.push_back(at);
  }
  if (letters.size() <= most_letters()) return;
  std::sort(letters.begin(), letters.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entry(a).arrival < entry(b).arrival;
  });
  while (letters.size() > most_letters()) {
    const std::uint32_t at = dispensable_letter(letters);
    purge_dead(at);
    std::erase(letters, at);
  }
  home_->inbox().list_letters();
}

// Answers that nobody has claimed go before letters that meant something, and of them whoever has
// left the most loses the oldest: nobody pushes out what others have left by sending more.
std::uint32_t Receiver::dispensable_letter(std::span<const std::uint32_t> letters) const {
  const auto is_unclaimed = [&](std::uint32_t at) {
    return entry(at).reason() == shm::DeadReason::kUnclaimed;
  };
  std::vector<std::uint32_t> open;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(open), is_unclaimed);
  if (open.empty()) open.assign(letters.begin(), letters.end());
  return oldest_of_worst(open);
}

std::uint32_t Receiver::oldest_of_worst(std::span<const std::uint32_t> entries) const {
  std::map<std::uint32_t, std::size_t> counts;
  std::size_t most = 0;
  for (const std::uint32_t at : entries) most = std::max(most, ++counts[sender_of(at)]);
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](std::uint32_t at) { return counts[sender_of(at)] == most; });
  return found == entries.end() ? shm::kNoEntry : *found;
}

}  // namespace beeline::receive
