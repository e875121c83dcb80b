#pragma once

// The tree of agents as plain values: parents and names. It knows no socket, no process and no
// segment, so that its rules can be tested alone.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shm/identity.h"
#include "src/control/roles.h"

namespace beeline::control {

// Number of an agent in the hive; never used again. 0 means none.
using Pid = std::uint32_t;

inline constexpr Pid kNoPid = 0;
inline constexpr Pid kKingPid = 1;  // the coordinator
inline constexpr std::string_view kKingName = "king";

struct AgentNode {
  Pid pid = kNoPid;
  Pid parent = kNoPid;  // kNoPid for the root
  std::string name;
  Role role = Role::kAgent;
  shm::AgentState state = shm::AgentState::kStarting;
  uid_t uid = 0;  // the owner of its name
};

// Agents by pid. A parent may be missing (its children wait to be adopted). A circle of parents is
// impossible, because a parent must be older than its child. Not thread safe; owned by the
// coordinator. Pointers to nodes stay valid until that node is removed.
class Tree {
 public:
  // Adds a node. False, and nothing changed, if the pid is 0 or present, or the parent is not
  // smaller than it.
  bool add(AgentNode node);

  // Removes a node; its children go to its parent. False if there is none.
  bool remove(Pid pid);

  // Says if pid 1 takes messages. At first it takes none.
  void let_king_listen(bool listens) noexcept { king_listens_ = listens; }
  [[nodiscard]] bool king_listens() const noexcept { return king_listens_; }

  // False if there is no such node.
  bool set_state(Pid pid, shm::AgentState state);

  [[nodiscard]] const AgentNode* find(Pid pid) const;

  // The newest holder of a name that is not dead, else the newest dead one, null if no agent holds
  // it. Removing one holder keeps the others.
  [[nodiscard]] const AgentNode* find_name(std::string_view name) const;

  // The agent that a name or a pid in decimal means to an agent of `user` (name_search.h); null if
  // there is none.
  [[nodiscard]] const AgentNode* resolve(std::string_view asked, uid_t user) const;

  // Rising by pid, as all lists here.
  [[nodiscard]] std::vector<Pid> children(Pid pid) const;
  // The other children of its parent; empty for a root.
  [[nodiscard]] std::vector<Pid> siblings(Pid pid) const;
  // Parent, grandparent and so on, as far as they are known; nearest first.
  [[nodiscard]] std::vector<Pid> ancestors(Pid pid) const;
  // The first node of b's chain, b included, that is on a's chain, a included; nullopt if the two
  // have different roots or one is unknown.
  [[nodiscard]] std::optional<Pid> nearest_common_ancestor(Pid a, Pid b) const;

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const std::map<Pid, AgentNode>& nodes() const noexcept { return nodes_; }

 private:
  // The chain of a pid, itself first; empty if it is unknown.
  [[nodiscard]] std::vector<Pid> chain(Pid pid) const;

  bool king_listens_ = false;
  std::map<Pid, AgentNode> nodes_;
  std::set<std::pair<Pid, Pid>> children_;              // parent, child
  std::multimap<std::string, Pid, std::less<>> names_;  // name -> holders
};

}  // namespace beeline::control
