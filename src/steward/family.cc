#include "src/steward/family.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace beeline::steward {

void Family::replace(const std::vector<AgentInfo>& agents) {
  members_.clear();
  for (const AgentInfo& agent : agents) {
    const bool is_king = agent.pid == 1;
    Member& member = members_[agent.pid];
    member.pid = agent.pid;
    member.parent = agent.parent;
    member.name = agent.name;
    member.role = is_king ? "kernel" : agent.role;
    member.uid = agent.uid;
    member.is_temporary = agent.temporary;
    member.is_complete = true;
    member.state = agent.state;
    member.has_lived = member.has_process() || agent.started_unix_ns != 0;
    member.was_ready = agent.was_ready;
  }
  expects_list_ = false;
  for (const Change& change : std::exchange(changes_, {})) make(change);
}

void Family::add(const Member& member) { note({member, {}}); }

void Family::follow(const LifeEvent& event) { note({std::nullopt, event}); }

void Family::remove(Pid pid) {
  LifeEvent event;
  event.kind = LifeEvent::Kind::kRemoved;
  event.pid = pid;
  note({std::nullopt, std::move(event)});
}

void Family::note(Change change) {
  make(change);
  const auto kind = change.event.kind;
  const bool is_change = kind == LifeEvent::Kind::kReady || kind == LifeEvent::Kind::kDied ||
                         kind == LifeEvent::Kind::kRemoved;
  if (expects_list_ && is_change) changes_.push_back(std::move(change));
}

void Family::make(const Change& change) {
  if (change.reserved) {
    members_.emplace(change.reserved->pid, *change.reserved);
    return;
  }
  const LifeEvent& event = change.event;
  switch (event.kind) {
    case LifeEvent::Kind::kReady: {
      Member& member = members_[event.pid];
      member.pid = event.pid;
      member.parent = event.parent;
      if (!event.name.empty()) member.name = event.name;
      member.state = State::kIdle;
      member.has_lived = true;
      member.was_ready = true;
      break;
    }
    case LifeEvent::Kind::kDied: {
      const auto found = members_.find(event.pid);
      if (found == members_.end()) break;
      found->second.state = event.is_dead ? State::kDead : State::kZombie;
      break;
    }
    case LifeEvent::Kind::kRemoved:
      drop(event.pid, event.parent);
      break;
    case LifeEvent::Kind::kEscalated:
    case LifeEvent::Kind::kEnding:
    case LifeEvent::Kind::kMissed:
      break;
  }
}

void Family::drop(Pid pid, Pid heir) {
  const auto found = members_.find(pid);
  if (found != members_.end()) {
    heir = found->second.parent;
    members_.erase(found);
  }
  if (heir == 0) return;
  // The coordinator gives orphans to the parent of their parent.
  for (auto& [other, member] : members_) {
    if (member.parent == pid) member.parent = heir;
  }
}

const Member* Family::find(Pid pid) const {
  const auto found = members_.find(pid);
  return found == members_.end() ? nullptr : &found->second;
}

const Member* Family::find(std::string_view text) const {
  Pid pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error == std::errc() && end == text.data() + text.size()) return find(pid);
  const Member* best = nullptr;
  for (const auto& [each, member] : members_) {
    if (member.name != text) continue;
    if (best == nullptr || member.has_process() || !best->has_process()) best = &member;
  }
  return best;
}

bool Family::is_below(Pid pid, Pid ancestor) const {
  // The tree has no circle; the bound holds even if a list and an event disagree.
  for (std::size_t steps = 0; steps <= members_.size(); ++steps) {
    const Member* const member = find(pid);
    if (member == nullptr || member->parent == 0) return false;
    if (member->parent == ancestor) return true;
    pid = member->parent;
  }
  return false;
}

std::vector<Pid> Family::children_of(Pid pid) const {
  std::vector<Pid> children;
  for (const auto& [each, member] : members_) {
    if (member.parent == pid) children.push_back(each);
  }
  return children;
}

std::vector<std::vector<Pid>> Family::levels_below(Pid pid) const {
  std::multimap<Pid, Pid> by_parent;
  for (const auto& [each, member] : members_) by_parent.emplace(member.parent, each);
  std::vector<std::vector<Pid>> levels;
  std::vector<Pid> level{pid};
  while (levels.size() <= members_.size()) {
    std::vector<Pid> next;
    for (const Pid parent : level) {
      const auto [first, last] = by_parent.equal_range(parent);
      for (auto at = first; at != last; ++at) next.push_back(at->second);
    }
    if (next.empty()) break;
    levels.push_back(next);
    level = std::move(next);
  }
  return levels;
}

}  // namespace beeline::steward
