#include "src/control/registry.h"

#include <iterator>

#include "shm/check.h"

namespace beeline::control {

Agent& Registry::add_agent(Agent agent) {
  const Pid pid = agent.pid;
  const bool placed = std::exchange(agent.placed, false);
  Agent& added = agents_.insert_or_assign(pid, std::move(agent)).first->second;
  set_placed(added, placed);
  return added;
}

void Registry::remove_agent(Pid pid) {
  const auto found = agents_.find(pid);
  if (found == agents_.end()) return;
  BEELINE_CHECK(count_of(pid) == 0, pid, count_of(pid));
  BEELINE_DCHECK(count_to(pid) == 0, pid, count_to(pid));
  set_placed(found->second, false);
  agents_.erase(found);
}

void Registry::set_placed(Agent& agent, bool placed) {
  if (std::exchange(agent.placed, placed) == placed) return;
  if (agent.pid == kKingPid) return;  // it counts in no user's share
  const auto count = [&](Resource resource, std::size_t fds) {
    return placed ? shares_.take(agent.uid, resource, fds)
                  : shares_.give_back(agent.uid, resource, fds);
  };
  count(Resource::kPlaces, 1);
  count(Resource::kDescriptors, kFdsOfAgent);
}

Agent* Registry::agent(Pid pid) {
  const auto found = agents_.find(pid);
  return found == agents_.end() ? nullptr : &found->second;
}

LinkEntry& Registry::add_link(LinkEntry link) {
  const shm::LinkKey key = link.key;
  const auto [place, added] = links_.try_emplace(key, std::move(link));
  if (added) {
    by_owner_.emplace(place->second.owner, key);
    by_reader_.emplace(place->second.reader, key);
    between_[{place->second.owner, place->second.reader}].insert(key);
    ++count_of_[place->second.owner];
    ++count_to_[place->second.reader];
    ++count_of_user_[{place->second.reader, place->second.uid}];
    shares_.take(place->second.uid, Resource::kDescriptors, 1);
  }
  return place->second;
}

void Registry::remove_link(const shm::LinkKey& key) {
  const auto found = links_.find(key);
  if (found == links_.end()) return;
  const LinkEntry& link = found->second;
  by_owner_.erase({link.owner, key});
  by_reader_.erase({link.reader, key});
  const auto between = between_.find({link.owner, link.reader});
  between->second.erase(key);
  if (between->second.empty()) between_.erase(between);
  count_down(count_of_, link.owner);
  count_down(count_to_, link.reader);
  const auto of_user = count_of_user_.find({link.reader, link.uid});
  if (--of_user->second == 0) count_of_user_.erase(of_user);
  shares_.give_back(link.uid, Resource::kDescriptors, 1);
  links_.erase(found);
}

LinkEntry* Registry::link(const shm::LinkKey& key) {
  const auto found = links_.find(key);
  return found == links_.end() ? nullptr : &found->second;
}

std::vector<LinkEntry*> Registry::collect(const Edges& edges, Pid pid) {
  std::vector<LinkEntry*> result;
  for (auto it = edges.lower_bound({pid, {}}); it != edges.end() && it->first == pid; ++it) {
    result.push_back(&links_.at(it->second));
  }
  return result;
}

std::vector<LinkEntry*> Registry::links_of(Pid owner) { return collect(by_owner_, owner); }

std::vector<LinkEntry*> Registry::links_to(Pid reader) { return collect(by_reader_, reader); }

std::size_t Registry::count_in(const Counts& counts, Pid pid) {
  const auto found = counts.find(pid);
  return found == counts.end() ? 0 : found->second;
}

void Registry::count_down(Counts& counts, Pid pid) {
  const auto found = counts.find(pid);
  if (--found->second == 0) counts.erase(found);
}

std::size_t Registry::count_of(Pid owner) const { return count_in(count_of_, owner); }

std::size_t Registry::count_to(Pid reader) const { return count_in(count_to_, reader); }

std::vector<LinkEntry*> Registry::links_between(Pid owner, Pid reader) {
  std::vector<LinkEntry*> result;
  const auto found = between_.find({owner, reader});
  if (found == between_.end()) return result;
  for (const shm::LinkKey& key : found->second) result.push_back(&links_.at(key));
  return result;
}

std::size_t Registry::count_between(Pid owner, Pid reader) const {
  const auto found = between_.find({owner, reader});
  return found == between_.end() ? 0 : found->second.size();
}

bool Registry::has_link_between(Pid owner, Pid reader) const {
  return between_.contains({owner, reader});
}

std::size_t Registry::count_to(Pid reader, uid_t user) const {
  const auto found = count_of_user_.find({reader, user});
  return found == count_of_user_.end() ? 0 : found->second;
}

LinkEntry* Registry::link_between(Pid owner, shm::Incarnation incarnation, Pid reader) {
  const auto found = between_.find({owner, reader});
  if (found == between_.end()) return nullptr;
  const auto behind = found->second.lower_bound({incarnation + 1, 0});
  if (behind == found->second.begin()) return nullptr;
  const shm::LinkKey& newest = *std::prev(behind);
  return newest.incarnation == incarnation ? &links_.at(newest) : nullptr;
}

SharedFd Registry::bell(const BellKey& key) const {
  const auto found = bells_.find(key);
  return found == bells_.end() ? nullptr : found->second;
}

void Registry::add_bell(const BellKey& key, SharedFd event) {
  bells_.insert_or_assign(key, std::move(event));
  by_rung_.emplace(key.rung, key.ringer);
}

void Registry::remove_bell(const BellKey& key) {
  bells_.erase(key);
  by_rung_.erase({key.rung, key.ringer});
}

std::vector<BellKey> Registry::bells_of(shm::Incarnation incarnation) const {
  std::vector<BellKey> result;
  for (auto it = bells_.lower_bound({incarnation, shm::kNoIncarnation});
       it != bells_.end() && it->first.ringer == incarnation; ++it) {
    result.push_back(it->first);
  }
  for (auto it = by_rung_.lower_bound({incarnation, shm::kNoIncarnation});
       it != by_rung_.end() && it->first == incarnation; ++it) {
    result.push_back({it->second, it->first});
  }
  return result;
}

std::set<Pid> Registry::peers(Pid pid) const {
  std::set<Pid> result;
  for (auto it = by_owner_.lower_bound({pid, {}}); it != by_owner_.end() && it->first == pid;
       ++it) {
    result.insert(links_.at(it->second).reader);
  }
  for (auto it = by_reader_.lower_bound({pid, {}}); it != by_reader_.end() && it->first == pid;
       ++it) {
    result.insert(links_.at(it->second).owner);
  }
  return result;
}

}  // namespace beeline::control
