#include "src/receive/stash.h"

#include "shm/check.h"

namespace beeline::receive {

void Stash::add(const Item& item) {
  BEELINE_CHECK(!contains(item.at), item.at, item.from, item.arrival);
  const Place place(item.arrival, item.at);
  items_.emplace(place, item);
  places_.emplace(item.at, place);
  Share& share = shares_[item.from];
  share.by_kind[static_cast<std::size_t>(item.kind)].insert(place);
  recount(item.from, share, share.count + 1);
}

void Stash::remove(shm::EntryIndex at) {
  const auto found = places_.find(at);
  if (found == places_.end()) return;
  const Place place = found->second;
  const Item item = items_.at(place);
  items_.erase(place);
  places_.erase(found);
  Share& share = shares_[item.from];
  share.by_kind[static_cast<std::size_t>(item.kind)].erase(place);
  recount(item.from, share, share.count - 1);
}

void Stash::recount(std::uint32_t from, Share& share, std::size_t count) {
  by_count_.erase({share.count, from});
  share.count = count;
  if (count != 0) {
    by_count_.emplace(count, from);
  } else {
    shares_.erase(from);
  }
}

shm::EntryIndex Stash::first_to_go() const {
  BEELINE_CHECK(size() != 0);
  const Share& worst = shares_.at(by_count_.rbegin()->second);
  for (const auto& places : worst.by_kind) {
    if (!places.empty()) return places.begin()->second;
  }
  return shm::kNoEntry;
}

}  // namespace beeline::receive
