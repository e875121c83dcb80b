#include "src/receive/stash.h"

namespace beeline::receive {

void Stash::add(const Item& item) {
  items_.emplace(item.arrival, item);
  arrivals_.emplace(item.at, item.arrival);
  Share& share = shares_[item.from];
  share.by_kind[static_cast<std::size_t>(item.kind)].insert(item.arrival);
  recount(item.from, share, share.count + 1);
}

void Stash::remove(std::uint32_t at) {
  const auto arrival = arrivals_.find(at);
  if (arrival == arrivals_.end()) return;
  const auto found = items_.find(arrival->second);
  const Item item = found->second;
  items_.erase(found);
  arrivals_.erase(arrival);
  Share& share = shares_[item.from];
  share.by_kind[static_cast<std::size_t>(item.kind)].erase(item.arrival);
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

std::uint32_t Stash::first_to_go() const {
  const Share& worst = shares_.at(by_count_.rbegin()->second);
  for (const auto& arrivals : worst.by_kind) {
    if (!arrivals.empty()) return items_.at(*arrivals.begin()).at;
  }
  return shm::kNoEntry;
}

}  // namespace beeline::receive
