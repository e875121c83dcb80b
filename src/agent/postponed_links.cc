#include "src/agent/postponed_links.h"

namespace beeline {

bool PostponedLinks::add(Pid owner, const shm::LinkKey& key) {
  const Key place(key.incarnation, key.serial);
  by_owner_.insert({owner, place});
  return links_.try_emplace(place, Waiting{owner}).second;
}

void PostponedLinks::add_shared(Pid owner, const shm::LinkKey& key) {
  add(owner, key);
  links_[{key.incarnation, key.serial}].is_shared = true;
}

bool PostponedLinks::is_shared(const shm::LinkKey& key) const {
  const auto found = links_.find({key.incarnation, key.serial});
  return found != links_.end() && found->second.is_shared;
}

void PostponedLinks::remove(const shm::LinkKey& key) {
  const auto found = links_.find({key.incarnation, key.serial});
  if (found == links_.end()) return;
  by_owner_.erase({found->second.owner, found->first});
  links_.erase(found);
}

void PostponedLinks::ask_anew() {
  for (auto& [key, link] : links_) link.next_ns = 0;
}

bool PostponedLinks::has_life(Pid owner, shm::Incarnation incarnation) const {
  const auto first = by_owner_.lower_bound({owner, {incarnation, 0}});
  return first != by_owner_.end() && first->first == owner && first->second.first == incarnation;
}

bool PostponedLinks::has_older(Pid owner, shm::Incarnation incarnation) const {
  const auto first = by_owner_.lower_bound({owner, {shm::kNoIncarnation, 0}});
  return first != by_owner_.end() && first->first == owner && first->second.first < incarnation;
}

}  // namespace beeline
