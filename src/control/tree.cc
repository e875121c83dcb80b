#include "src/control/tree.h"

#include <algorithm>
#include <utility>

#include "src/control/name_search.h"

namespace beeline::control {

bool Tree::add(AgentNode node) {
  // A parent is older than its child and pids rise, so a chain always falls and ends.
  if (node.pid == kNoPid || node.parent >= node.pid || nodes_.contains(node.pid)) return false;
  if (node.parent != kNoPid) children_.emplace(node.parent, node.pid);
  names_.emplace(node.name, node.pid);
  const Pid pid = node.pid;
  nodes_.emplace(pid, std::move(node));
  return true;
}

bool Tree::remove(Pid pid) {
  const auto found = nodes_.find(pid);
  if (found == nodes_.end()) return false;
  const Pid parent = found->second.parent;
  const auto [first, last] = names_.equal_range(found->second.name);
  names_.erase(std::find_if(first, last, [pid](const auto& entry) { return entry.second == pid; }));
  children_.erase({parent, pid});
  for (const Pid child : children(pid)) {
    nodes_.at(child).parent = parent;
    if (parent != kNoPid) children_.emplace(parent, child);
  }
  for (const Pid child : children(pid)) children_.erase({pid, child});
  nodes_.erase(found);
  return true;
}

bool Tree::set_state(Pid pid, shm::AgentState state) {
  const auto found = nodes_.find(pid);
  if (found == nodes_.end()) return false;
  found->second.state = state;
  return true;
}

const AgentNode* Tree::find(Pid pid) const {
  const auto found = nodes_.find(pid);
  return found == nodes_.end() ? nullptr : &found->second;
}

const AgentNode* Tree::find_name(std::string_view name) const {
  const AgentNode* newest = nullptr;
  const auto rank = [](const AgentNode& node) {
    return std::pair(node.state != shm::AgentState::kDead, node.pid);
  };
  const auto [first, last] = names_.equal_range(name);
  for (auto it = first; it != last; ++it) {
    const AgentNode& holder = nodes_.at(it->second);
    if (newest == nullptr || rank(holder) > rank(*newest)) newest = &holder;
  }
  return newest;
}

const AgentNode* Tree::resolve(std::string_view asked, uid_t user) const {
  if (is_number(asked)) return find(pid_from(asked));
  NameSearch search(asked, user);
  const auto offer = [&](Pid pid) {
    const AgentNode& node = nodes_.at(pid);
    search.offer(pid, node.name, node.uid, node.state == shm::AgentState::kDead);
  };
  const auto [first, last] = names_.equal_range(asked);
  for (auto it = first; it != last; ++it) offer(it->second);
  // Sorted by name, so names that start with the short name and its mark stand together.
  const std::string prefix = std::string(asked) + kAfterShortName;
  for (auto it = names_.lower_bound(prefix); it != names_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    offer(it->second);
  }
  return search.found() == kNoPid ? nullptr : &nodes_.at(search.found());
}

std::vector<Pid> Tree::children(Pid pid) const {
  std::vector<Pid> result;
  for (auto it = children_.lower_bound({pid, 0}); it != children_.end() && it->first == pid; ++it) {
    if (nodes_.contains(it->second)) result.push_back(it->second);
  }
  return result;
}

std::vector<Pid> Tree::siblings(Pid pid) const {
  const AgentNode* node = find(pid);
  if (node == nullptr || node->parent == kNoPid) return {};
  std::vector<Pid> result = children(node->parent);
  std::erase(result, pid);
  return result;
}

std::vector<Pid> Tree::chain(Pid pid) const {
  std::vector<Pid> result;
  for (const AgentNode* node = find(pid); node != nullptr; node = find(node->parent)) {
    result.push_back(node->pid);
  }
  return result;
}

std::vector<Pid> Tree::ancestors(Pid pid) const {
  std::vector<Pid> result = chain(pid);
  if (!result.empty()) result.erase(result.begin());
  return result;
}

std::optional<Pid> Tree::nearest_common_ancestor(Pid a, Pid b) const {
  const std::vector<Pid> chain_of_a = chain(a);
  for (const Pid candidate : chain(b)) {
    if (std::find(chain_of_a.begin(), chain_of_a.end(), candidate) != chain_of_a.end()) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace beeline::control
