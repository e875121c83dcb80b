#include "src/agent/family.h"

#include <algorithm>

#include "src/agent/directory_tree.h"
#include "src/agent/link_opener.h"
#include "src/control/routing.h"
#include "src/receive/rank.h"

namespace beeline {

void Family::set_relation(PeerRecord& owner) {
  owner.note_tree(tree_epoch_);
  receive::InLink& link = owner.link();
  shm::AgentRecord its;
  shm::AgentRecord own;
  if (!owner.has_place() || !directory_.view().read_record(owner.index(), its)) return;
  if (its.pid != link.owner_pid() || !directory_.view().read_record(directory_.index(), own))
    return;
  const Relation relation = receive::relation_of(its, own);
  bool is_superior = relation == Relation::kSystem || relation == Relation::kParent;
  if (relation == Relation::kOther) {
    const auto& all = superiors();
    is_superior = std::find(all.begin(), all.end(), its.pid) != all.end();
  }
  link.set_relation(relation, is_superior);
}

// Read only where it is asked for: most agents talk to their family alone.
const std::vector<Pid>& Family::superiors() {
  const std::uint64_t now = directory_.view().epoch();
  if (superiors_epoch_ != now) superiors_ = read_tree(directory_.view()).ancestors(life_.pid());
  superiors_epoch_ = now;
  return superiors_;
}

// The tree has changed: all relations are computed again.
void Family::watch_tree() {
  const std::uint64_t now = directory_.view().epoch();
  if (now == tree_epoch_) return;
  tree_epoch_ = now;
  shm::AgentRecord own;
  if (directory_.view().read_record(directory_.index(), own) && own.pid == life_.pid()) {
    const auto lock = life_.lock_send();
    parent_ = own.parent_pid;
  }
  for (const receive::InLink* link : receiver_.links().owners().living()) {
    set_relation(links_.records().of(*link));
  }
  for (const auto& link : links_.all()) {
    if (link != nullptr) mark_sibling(*link);
  }
  if (shows_parent_) opener_.open_parent_link();
  opener_.free_links();
}

Pid Family::via_of(shm::EntryIndex entry) const {
  const Relation relation = relation_of(entry);
  if (relation == Relation::kParent || relation == Relation::kChild) return 0;
  const Pid from = shm::pid_of_message(receiver_.entry(entry).header.id);
  return read_tree(directory_.view()).nearest_common_ancestor(from, life_.pid()).value_or(0);
}

Relation Family::relation_of(shm::EntryIndex entry) const {
  const receive::InLink* link = receiver_.link_of(entry);
  return link == nullptr ? Relation::kOther : link->relation();
}

// The parent sees what its children send to each other, unless it is the coordinator.
void Family::mark_sibling(send::OutLink& link) {
  shm::AgentRecord peer;
  const bool known = link.place != nullptr &&
                     directory_.view().read_record(link.directory_index, peer) &&
                     peer.pid == link.peer();
  const auto lock = life_.lock_send();
  link.copied =
      known && parent_ != control::kKingPid && shm::are_siblings(peer.parent_pid, parent_);
  const bool is_task = known && static_cast<control::Role>(peer.role) == control::Role::kTask;
  link.is_mute = is_task && peer.parent_pid != life_.pid();
}

}  // namespace beeline
