// What the tree means for this agent: who stands how to it, who is above it, and what its parent
// sees.

#include <algorithm>

#include "src/agent/core.h"
#include "src/agent/directory_tree.h"
#include "src/control/routing.h"
#include "src/receive/rank.h"

namespace beeline {

void AgentCore::set_relation(receive::InLink& link) {
  link.tree_epoch = tree_epoch_;
  shm::AgentRecord owner;
  shm::AgentRecord own;
  if (link.owner_place == nullptr || !directory_view_.read_record(link.owner_index, owner)) return;
  if (owner.pid != link.owner_pid || !directory_view_.read_record(index_, own)) return;
  link.relation = receive::relation_of(owner, own);
  link.is_superior = link.relation == Relation::kSystem || link.relation == Relation::kParent;
  if (link.relation == Relation::kOther) {
    const auto& all = superiors();
    link.is_superior = std::find(all.begin(), all.end(), owner.pid) != all.end();
  }
}

// Read only where it is asked for: most agents talk to their family alone.
const std::vector<Pid>& AgentCore::superiors() {
  const std::uint64_t now = directory_view_.epoch();
  if (superiors_epoch_ != now) superiors_ = read_tree(directory_view_).ancestors(pid_);
  superiors_epoch_ = now;
  return superiors_;
}

// The tree has changed: who stands how to whom is computed again.
void AgentCore::watch_tree() {
  const std::uint64_t now = directory_view_.epoch();
  if (now == tree_epoch_) return;
  tree_epoch_ = now;
  shm::AgentRecord own;
  if (directory_view_.read_record(index_, own) && own.pid == pid_) {
    const auto lock = lock_send();
    parent_ = own.parent_pid;
  }
  for (receive::InLink* link : receiver_->links().owners().living()) set_relation(*link);
  for (const auto& link : out_) {
    if (link != nullptr) mark_sibling(*link);
  }
  if (shows_parent_) open_parent_link();
  free_links();
}

// Our links that were opened for receipts alone, since a rule forbade more, are asked for again
// once the tree allows it: a task may write to whoever has adopted it.
void AgentCore::free_links() {
  const auto is_bound = [](const auto& link) {
    return link != nullptr && !link->may_send && !link->ended && !link->dead;
  };
  if (client_.closed() || std::none_of(out_.begin(), out_.end(), is_bound)) return;
  const control::Tree tree = read_tree(directory_view_);
  for (std::size_t i = 0; i < out_.size(); ++i) {
    if (!is_bound(out_[i]) || !control::route(tree, pid_, out_[i]->peer()).allowed) continue;
    static_cast<void>(open_link_unasked(out_[i]->peer()));
  }
}

Pid AgentCore::via_of(std::uint32_t entry) {
  const Relation relation = relation_of(entry);
  if (relation == Relation::kParent || relation == Relation::kChild) return 0;
  const Pid from = shm::pid_of_message(receiver_->entry(entry).header.id);
  return read_tree(directory_view_).nearest_common_ancestor(from, pid_).value_or(0);
}

// ---- What the parent sees -----------------------------------------------------------------------

// The parent sees what its children send to each other, unless it is the coordinator.
void AgentCore::mark_sibling(send::OutLink& link) {
  shm::AgentRecord peer;
  const bool known = link.place != nullptr &&
                     directory_view_.read_record(link.directory_index, peer) &&
                     peer.pid == link.peer();
  const auto lock = lock_send();
  link.copied =
      known && parent_ != control::kKingPid && shm::are_siblings(peer.parent_pid, parent_);
  const bool is_task = known && static_cast<control::Role>(peer.role) == control::Role::kTask;
  link.is_mute = is_task && peer.parent_pid != pid_;
}

bool AgentCore::lacks_parent_link(Pid peer) {
  const send::OutLink* link = out_link(peer);
  return link != nullptr && link->copied && out_link(parent_) == nullptr;
}

// Tried again at most once a second: what is sent meanwhile is counted as not shown.
void AgentCore::open_parent_link() {
  constexpr std::int64_t kPause = 1'000'000'000;
  shows_parent_ = true;
  if (parent_ <= control::kKingPid || client_.closed() || out_link(parent_) != nullptr) return;
  const std::int64_t now = os::monotonic_ns();
  if (now < next_parent_try_ns_) return;
  next_parent_try_ns_ = now + kPause;
  static_cast<void>(open_link_unasked(parent_));
}

void AgentCore::show_to_parent(std::span<const std::byte> payload, const send::Envelope& envelope,
                               MessageId id, send::OutLink& to) {
  if (send::OutLink* parent = out_link(parent_); parent != nullptr) {
    send_path_.send_copy(*parent, {id, to.peer(), payload}, envelope);
  } else {
    ++to.copies_dropped;
  }
}

}  // namespace beeline
