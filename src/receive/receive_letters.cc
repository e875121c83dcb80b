// How many dead letters are kept, and whose go when there are too many.

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "src/receive/receiver.h"

namespace beeline::receive {

void Receiver::keep_dead_letters_bounded() {
  while (home_->inbox().dead() > shm::kMaxDeadLetters) {
    const std::uint32_t at = dispensable_letter();
    if (at == shm::kNoEntry) return;
    purge_dead(at);
  }
}

// What nobody may ever take, dead letters and what is kept aside, holds half of the slabs of a
// class of a link at most: the rest is for its sender to go on with. Letters go first.
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
  const auto letters = [&] { return home_->inbox().letters(); };
  for (;;) {
    const auto held = std::count_if(letters().begin(), letters().end(), holds_one) +
                      std::count_if(stash_.begin(), stash_.end(), holds_one);
    if (static_cast<std::size_t>(held) <= most) return;
    const auto letter = std::find_if(letters().begin(), letters().end(), holds_one);
    if (letter != letters().end()) {
      purge_dead(*letter);
    } else {
      drop_stashed(first_to_drop(holds_one));
    }
  }
}

// After a take-over there may be more: what was being handled when it was cancelled.
void Receiver::drop_surplus_letters() {
  std::vector<std::uint32_t> letters;
  for (std::uint32_t at = 0; at < home_->home().entries_allocated(); ++at) {
    if (entry(at).word().state == shm::EntryState::kDead) letters.push_back(at);
  }
  if (letters.size() <= shm::kMaxDeadLetters) return;
  std::sort(letters.begin(), letters.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entry(a).arrival < entry(b).arrival;
  });
  letters.resize(letters.size() - shm::kMaxDeadLetters);
  for (const std::uint32_t at : letters) purge_dead(at);
  home_->inbox().list_letters();
}

// Answers that nobody has claimed go before letters that meant something, and of them whoever has
// left the most loses the oldest: nobody pushes out what others have left by sending more.
std::uint32_t Receiver::dispensable_letter() const {
  const auto letters = home_->inbox().letters();
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
