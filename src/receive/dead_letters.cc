#include "src/receive/dead_letters.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace beeline::receive {

namespace {

std::uint32_t sender_of(const shm::Home& home, shm::EntryIndex at) {
  return shm::pid_of_message(home.entry(at).header.id);
}

// The first entry of the sender that has sent the most of these; kNoEntry if there is none.
shm::EntryIndex oldest_of_worst(const shm::Home& home, std::span<const shm::EntryIndex> entries) {
  std::map<std::uint32_t, std::size_t> counts;
  std::size_t most = 0;
  for (const shm::EntryIndex at : entries) most = std::max(most, ++counts[sender_of(home, at)]);
  const auto found = std::find_if(entries.begin(), entries.end(), [&](shm::EntryIndex at) {
    return counts[sender_of(home, at)] == most;
  });
  return found == entries.end() ? shm::kNoEntry : *found;
}

// An entry of less worth goes before one of more.
int worth_of(const shm::Entry& entry) {
  if (entry.reason() == shm::DeadReason::kUnclaimed) return 0;
  if ((entry.header.flags & shm::kFlagUnasked) != 0) return 1;
  return entry.word().state == shm::EntryState::kDead ? 3 : 2;
}

}  // namespace

std::uint32_t most_letters(const shm::Home& home) {
  return std::min(shm::kMaxDeadLetters, home.capacity() / 4);
}

shm::EntryIndex first_letter_to_go(const shm::Home& home,
                                   std::span<const shm::EntryIndex> letters) {
  const auto is_unclaimed = [&](shm::EntryIndex at) {
    return home.entry(at).reason() == shm::DeadReason::kUnclaimed;
  };
  std::vector<shm::EntryIndex> open;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(open), is_unclaimed);
  if (open.empty()) open.assign(letters.begin(), letters.end());
  return oldest_of_worst(home, open);
}

std::size_t most_slabs_kept(std::size_t slabs_of_class) {
  return std::max<std::size_t>(1, slabs_of_class / 2);
}

std::vector<shm::EntryIndex> surplus_of(const shm::Home& home, std::vector<shm::EntryIndex> kept,
                                        std::size_t most, shm::EntryIndex newest) {
  if (kept.size() <= most) return {};
  const std::size_t surplus = kept.size() - most;
  std::erase(kept, newest);
  std::stable_sort(kept.begin(), kept.end(), [&](shm::EntryIndex a, shm::EntryIndex b) {
    return worth_of(home.entry(a)) < worth_of(home.entry(b));
  });
  kept.resize(std::min(surplus, kept.size()));
  return kept;
}

}  // namespace beeline::receive
