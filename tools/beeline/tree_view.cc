#include "tools/beeline/tree_view.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shm/identity.h"
#include "src/control/agent_info.h"
#include "src/control/roles.h"
#include "tools/beeline/survey_view.h"

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

// The agents to show below `parent`, 0 for the roots, rising by pid.
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

// A tree as lines of a table. `survey` may be null.
class Drawing {
 public:
  Drawing(const Forest& forest, const Survey* survey)
      : forest_(forest), survey_(survey), table_(headings(survey)) {
    for (const ListedAgent* root : forest.below(control::kNoPid)) add(*root, "", "");
  }
  [[nodiscard]] std::string text(std::string_view indent) const { return table_.text(indent); }

 private:
  static std::vector<std::string> headings(const Survey* survey) {
    std::vector<std::string> all = {"agent", ">pid", "role", "state", ">os pid"};
    if (survey != nullptr) append(all, vitals_headings());
    return all;
  }
  static void append(std::vector<std::string>& to, std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
  }

  void add(const ListedAgent& agent, const std::string& branch, const std::string& below) {
    const std::string_view state =
        survey_ != nullptr ? survey_->state_word(agent) : to_string(control::state_of(agent));
    std::vector<std::string> cells = {
        branch + agent.name, fmt::format("{}", agent.pid),
        std::string(control::to_string(agent.role)),
        fmt::format("{}{}", state, agent.temporary ? ", temporary" : ""),
        agent.os_pid != 0 ? fmt::format("{}", agent.os_pid) : "-"};
    if (survey_ != nullptr) append(cells, vitals_cells(*survey_, agent));
    table_.add(std::move(cells));
    const auto children = forest_.below(agent.pid);
    for (const ListedAgent* child : children) {
      const bool last = child == children.back();
      add(*child, below + std::string(last ? marks_.last : marks_.middle),
          below + std::string(last ? marks_.blank : marks_.line));
    }
  }

  const Forest& forest_;
  const Survey* survey_;
  const Branches& marks_ = is_utf8_locale() ? kUtf8 : kAscii;
  Table table_;
};

Json node_json(const Forest& forest, const ListedAgent& agent, const Survey* survey) {
  Json node;
  node["name"] = agent.name;
  node["pid"] = agent.pid;
  node["role"] = control::to_string(agent.role);
  node["state"] = to_string(control::state_of(agent));
  node["attached"] = agent.state == shm::AgentState::kRunning;
  node["os_pid"] = agent.os_pid != 0 ? Json(agent.os_pid) : Json(nullptr);
  node["temporary"] = agent.temporary;
  if (survey != nullptr) add_vitals(*survey, agent, node);
  node["children"] = Json::array();
  for (const ListedAgent* child : forest.below(agent.pid)) {
    node["children"].push_back(node_json(forest, *child, survey));
  }
  return node;
}

Json forest_json(const Forest& forest, const Survey* survey) {
  Json roots = Json::array();
  for (const ListedAgent* root : forest.below(control::kNoPid)) {
    roots.push_back(node_json(forest, *root, survey));
  }
  return roots;
}

}  // namespace

std::string draw_tree(const std::vector<ListedAgent>& agents, std::string_view indent) {
  const Forest forest(agents);
  return Drawing(forest, nullptr).text(indent);
}

std::string draw_tree(const Survey& survey) {
  const Forest forest(survey.agents());
  std::string text = Drawing(forest, &survey).text("");
  for (const std::string& gap : survey.gaps()) text += fmt::format("{}: {}\n", kUnreadable, gap);
  return text;
}

Json tree_json(const std::vector<ListedAgent>& agents) {
  return forest_json(Forest(agents), nullptr);
}

Json tree_json(const Survey& survey) { return forest_json(Forest(survey.agents()), &survey); }

}  // namespace beeline::cli
