#include "src/control/routing.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shm/directory.h"

namespace beeline::control {
namespace {

Verdict deny(Rule rule, std::string text) { return {false, rule, std::move(text), kNoPid}; }

Rule allowed_rule(const AgentNode& from, const AgentNode& to) {
  if (from.pid == to.pid) return Rule::kSelf;
  if (from.parent == to.pid) return Rule::kParent;
  if (to.parent == from.pid) return Rule::kChild;
  if (shm::are_siblings(from.parent, to.parent)) return Rule::kSibling;
  return Rule::kAncestor;
}

std::string allowed_text(Rule rule, const AgentNode& from, const AgentNode& to, Pid via) {
  switch (rule) {
    case Rule::kSelf:
      return fmt::format("PID {} may send to itself", from.pid);
    case Rule::kParent:
      return fmt::format("PID {} is the parent of PID {}", to.pid, from.pid);
    case Rule::kChild:
      return fmt::format("PID {} is a child of PID {}", to.pid, from.pid);
    case Rule::kSibling:
      return fmt::format("PID {} and PID {} are children of PID {}{}", from.pid, to.pid,
                         from.parent, from.parent != kKingPid ? ", which is shown a copy" : "");
    default:
      break;
  }
  return fmt::format("PID {} and PID {} meet at PID {}", from.pid, to.pid, via);
}

}  // namespace

std::string_view to_string(Rule rule) noexcept {
  switch (rule) {
    case Rule::kNoTarget:
      return "no_target";
    case Rule::kNoSender:
      return "no_sender";
    case Rule::kNoAgent:
      return "no_agent";
    case Rule::kDeadSender:
      return "dead_sender";
    case Rule::kDead:
      return "dead";
    case Rule::kKing:
      return "king";
    case Rule::kTaskToParentOnly:
      return "task_to_parent_only";
    case Rule::kNoCommonAncestor:
      return "no_common_ancestor";
    case Rule::kSelf:
      return "self";
    case Rule::kParent:
      return "parent";
    case Rule::kChild:
      return "child";
    case Rule::kSibling:
      return "sibling";
    case Rule::kAncestor:
      return "ancestor";
  }
  return "unknown";
}

Verdict route(const Tree& tree, Pid from, Pid to) {
  if (to == kNoPid) return deny(Rule::kNoTarget, "no target specified");
  const AgentNode* sender = tree.find(from);
  if (sender == nullptr) {
    return deny(Rule::kNoSender, fmt::format("sender PID {} not found", from));
  }
  const AgentNode* receiver = tree.find(to);
  if (receiver == nullptr) {
    return deny(Rule::kNoAgent, fmt::format("receiver PID {} not found", to));
  }
  if (sender->state == shm::AgentState::kDead) {
    return deny(Rule::kDeadSender, fmt::format("sender PID {} is dead", from));
  }
  if (receiver->state == shm::AgentState::kDead) {
    return deny(Rule::kDead, fmt::format("receiver PID {} is dead", to));
  }
  if (to == kKingPid && tree.king_listens()) {
    return {true, Rule::kKing, fmt::format("PID {} takes requests of every agent", to), to};
  }
  if (sender->role == Role::kTask && sender->parent != to) {
    return deny(Rule::kTaskToParentOnly,
                fmt::format("task (PID {}) can only send to its parent (PID {}), not PID {}", from,
                            sender->parent, to));
  }
  if (to == kKingPid) {
    return deny(Rule::kKing,
                fmt::format("PID {} is the coordinator and takes no messages: no beeline-steward "
                            "lay beside beelined when the hive was started; install it there, then "
                            "start the hive again",
                            to));
  }
  const std::optional<Pid> via = tree.nearest_common_ancestor(from, to);
  if (!via) {
    return deny(Rule::kNoCommonAncestor, fmt::format("no route from PID {} to PID {}", from, to));
  }
  const Rule rule = allowed_rule(*sender, *receiver);
  return {true, rule, allowed_text(rule, *sender, *receiver, *via), *via};
}

}  // namespace beeline::control
