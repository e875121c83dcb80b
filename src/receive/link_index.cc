#include "src/receive/link_index.h"

#include <iterator>

namespace beeline::receive {

void LinkIndex::add(InLink& link) {
  by_key_[{link.key.incarnation, link.key.serial}] = &link;
  const auto at = by_owner_.insert_or_assign(place_of(link), &link).first;
  link.older = nullptr;
  if (at != by_owner_.begin()) {
    InLink* before = std::prev(at)->second;
    if (before->owner_pid == link.owner_pid) {
      link.older = before->key.incarnation < link.key.incarnation ? before : before->older;
    }
  }
  // The link of an earlier life may come later than that of the next life.
  auto next = by_owner_.upper_bound({link.owner_pid, link.key.incarnation, ~0U});
  if (next == by_owner_.end() || next->second->owner_pid != link.owner_pid) return;
  const std::uint64_t life = next->second->key.incarnation;
  for (; next != by_owner_.end() && next->second->key.incarnation == life; ++next) {
    next->second->older = &link;
  }
}

void LinkIndex::remove(InLink& link) {
  pass_over(link);
  by_key_.erase({link.key.incarnation, link.key.serial});
  by_owner_.erase(place_of(link));
}

InLink* LinkIndex::find(const shm::LinkKey& key) const {
  const auto found = by_key_.find({key.incarnation, key.serial});
  return found == by_key_.end() ? nullptr : found->second;
}

void LinkIndex::pass_over(const InLink& link) {
  auto next = by_owner_.upper_bound(place_of(link));
  for (; next != by_owner_.end() && next->second->owner_pid == link.owner_pid; ++next) {
    InLink& later = *next->second;
    if (later.key.incarnation == link.key.incarnation) continue;
    if (later.older != &link) break;
    later.older = link.older;
  }
}

bool LinkIndex::has_life(std::uint32_t owner, std::uint64_t incarnation) const {
  const auto found = by_owner_.lower_bound({owner, incarnation, 0});
  return found != by_owner_.end() && std::get<0>(found->first) == owner &&
         std::get<1>(found->first) == incarnation;
}

}  // namespace beeline::receive
