#include "tools/beeline/tree_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shm/identity.h"
#include "src/control/agent_info.h"
#include "src/control/roles.h"

namespace beeline::cli {
namespace {

using control::ListedAgent;

struct Branches {
  std::string_view middle;
  std::string_view last;
  std::string_view line;
  std::string_view blank;
};
constexpr Branches kUtf8 = {"├─ ", "└─ ", "│  ", "   "};
constexpr Branches kAscii = {"|- ", "`- ", "|  ", "   "};

bool is_shown(const ListedAgent& agent) {
  return agent.state != shm::AgentState::kDead && agent.state != shm::AgentState::kVacant;
}

/// The agents to show below `parent`, 0 for the roots, rising by pid.
class Forest {
 public:
  explicit Forest(const std::vector<ListedAgent>& agents) {
    std::set<control::Pid> known;
    for (const ListedAgent& agent : agents) {
      if (is_shown(agent)) known.insert(agent.pid);
    }
    for (const ListedAgent& agent : agents) {
      if (!is_shown(agent)) continue;
      // A parent is older than its child, so following parents ends.
      const bool has_parent = agent.parent < agent.pid && known.contains(agent.parent);
      nodes_.emplace_back(has_parent ? agent.parent : control::kNoPid, &agent);
    }
    std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
      return std::pair(a.first, a.second->pid) < std::pair(b.first, b.second->pid);
    });
  }

  [[nodiscard]] std::vector<const ListedAgent*> below(control::Pid parent) const {
    std::vector<const ListedAgent*> found;
    for (const Node& node : nodes_) {
      if (node.first == parent) found.push_back(node.second);
    }
    return found;
  }

 private:
  using Node = std::pair<control::Pid, const ListedAgent*>;
  std::vector<Node> nodes_;
};

void add_lines(const Forest& forest, const ListedAgent& agent, const std::string& branch,
               const std::string& below, const Branches& marks, Table& table) {
  table.add({branch + agent.name, fmt::format("{}", agent.pid),
             std::string(control::to_string(agent.role)),
             fmt::format("{}{}", to_string(control::state_of(agent)),
                         agent.temporary ? ", temporary" : ""),
             agent.os_pid != 0 ? fmt::format("{}", agent.os_pid) : "-"});
  const auto children = forest.below(agent.pid);
  for (const ListedAgent* child : children) {
    const bool last = child == children.back();
    add_lines(forest, *child, below + std::string(last ? marks.last : marks.middle),
              below + std::string(last ? marks.blank : marks.line), marks, table);
  }
}

Json node_json(const Forest& forest, const ListedAgent& agent) {
  Json node;
  node["name"] = agent.name;
  node["pid"] = agent.pid;
  node["role"] = control::to_string(agent.role);
  node["state"] = to_string(control::state_of(agent));
  node["attached"] = agent.state == shm::AgentState::kRunning;
  node["os_pid"] = agent.os_pid != 0 ? Json(agent.os_pid) : Json(nullptr);
  node["temporary"] = agent.temporary;
  node["children"] = Json::array();
  for (const ListedAgent* child : forest.below(agent.pid)) {
    node["children"].push_back(node_json(forest, *child));
  }
  return node;
}

}  // namespace

std::string draw_tree(const std::vector<ListedAgent>& agents, std::string_view indent) {
  const Forest forest(agents);
  Table table({"agent", ">pid", "role", "state", ">os pid"});
  for (const ListedAgent* root : forest.below(control::kNoPid)) {
    add_lines(forest, *root, "", "", is_utf8_locale() ? kUtf8 : kAscii, table);
  }
  return table.text(indent);
}

Json tree_json(const std::vector<ListedAgent>& agents) {
  const Forest forest(agents);
  Json roots = Json::array();
  for (const ListedAgent* root : forest.below(control::kNoPid)) {
    roots.push_back(node_json(forest, *root));
  }
  return roots;
}

}  // namespace beeline::cli
