#include "src/receive/link_index.h"

#include <iterator>

namespace beeline::receive {

// Links of one life all wait for the same one, and those that wait for one link lie side by side:
// pass_over() relies on both.
void LinkIndex::add(InLink& link) {
  const std::uint32_t owner = link.owner_pid();
  const shm::Incarnation life = link.key().incarnation;
  const auto at = by_owner_.lower_bound({owner, life, 0});
  link.wait_for(nullptr);
  if (has_life(owner, life)) {
    link.wait_for(at->second->older());
  } else if (at != by_owner_.begin() && owner_of(std::prev(at)) == owner) {
    link.wait_for(std::prev(at)->second);
  }
  by_key_[{life, link.key().serial}] = &link;
  by_owner_.insert_or_assign(place_of(link), &link);
  // The link may come later than those of later lives. They wait for it too, but where they wait
  // for a life in between.
  for (auto next = by_owner_.upper_bound({owner, life, ~0U});
       next != by_owner_.end() && owner_of(next) == owner; ++next) {
    InLink& later = *next->second;
    if (later.older() != nullptr && later.older()->key().incarnation >= life) break;
    later.wait_for(&link);
  }
}

void LinkIndex::remove(InLink& link) {
  pass_over(link);
  by_key_.erase({link.key().incarnation, link.key().serial});
  by_owner_.erase(place_of(link));
}

InLink* LinkIndex::find(const shm::LinkKey& key) const {
  const auto found = by_key_.find({key.incarnation, key.serial});
  return found == by_key_.end() ? nullptr : found->second;
}

void LinkIndex::pass_over(const InLink& link) {
  auto next = by_owner_.upper_bound(place_of(link));
  for (; next != by_owner_.end() && next->second->owner_pid() == link.owner_pid(); ++next) {
    InLink& later = *next->second;
    if (later.key().incarnation == link.key().incarnation) continue;
    if (later.older() != &link) break;
    later.wait_for(link.older());
  }
}

bool LinkIndex::has_life(std::uint32_t owner, shm::Incarnation incarnation) const {
  const auto found = by_owner_.lower_bound({owner, incarnation, 0});
  return found != by_owner_.end() && std::get<0>(found->first) == owner &&
         std::get<1>(found->first) == incarnation;
}

}  // namespace beeline::receive
