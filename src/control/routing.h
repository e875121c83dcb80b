#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/control/tree.h"

namespace beeline::control {

// The rule that decided about a route.
enum class Rule : std::uint8_t {
  kNoTarget,          // denied: no target was named
  kNoSender,          // denied: the sender is not in the tree
  kNoAgent,           // denied: the receiver is not in the tree
  kDeadSender,        // denied: the sender has ended
  kDead,              // denied: the receiver has ended
  kKing,              // the receiver is pid 1: allowed if the hive has a steward
  kTaskToParentOnly,  // denied: a task sends to its parent alone
  kNoCommonAncestor,  // denied: the two are in different trees
  kSelf,              // allowed
  kParent,            // allowed: the receiver is the sender's parent
  kChild,             // allowed: the receiver is the sender's child
  kSibling,           // allowed; the parent gets a low-priority copy
  kAncestor,          // allowed: another branch, sent directly; `via` is for the record
};

[[nodiscard]] std::string_view to_string(Rule rule) noexcept;

// True if `from` may send to `to`, and the reason.
struct Verdict {
  bool allowed = false;
  Rule rule = Rule::kNoTarget;
  std::string text;  // for people; a fixed text when denied
  Pid via = kNoPid;  // nearest common ancestor where there is one
};

// Decides about a route. Pure: the same tree gives the same answer.
[[nodiscard]] Verdict route(const Tree& tree, Pid from, Pid to);

}  // namespace beeline::control
