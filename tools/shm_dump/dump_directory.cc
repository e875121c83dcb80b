#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "src/control/agent_info.h"
#include "src/control/roles.h"
#include "src/look/escape.h"
#include "tools/shm_dump/dump.h"

namespace beeline::dump {
namespace {

struct Agent {
  std::uint32_t index = 0;
  shm::AgentRecord record{};
  shm::AgentWord word;
  std::uint64_t due = 0;    // packets that the coordinator has for it
  std::uint64_t taken = 0;  // of these packets
  std::string name;
  std::string state;  // as `beeline tree` shows it, and starting
};

// The state on the status page of a running agent, if that page is among the segments.
std::string state_of(const Segments& all, shm::AgentWord word) {
  if (word.state == shm::AgentState::kStarting) return "starting";
  control::ListedAgent agent;
  agent.state = word.state;
  if (const Segment* status = all.find_status(word.incarnation)) {
    agent.activity = shm::activity_from(status->view().u32(offsetof(shm::StatusPage, activity)));
  }
  return std::string(to_string(control::state_of(agent)));
}

std::vector<Agent> read_agents(shm::ByteView view, const Segments& all) {
  std::vector<Agent> agents;
  for (std::uint32_t i = 0; i < shm::agent_count_of(view); ++i) {
    Agent agent;
    agent.index = i;
    agent.record = view.load<shm::AgentRecord>(shm::record_at(view, i));
    agent.word = shm::AgentWord::unpack(view.u64(shm::agent_word_at(i)));
    agent.due = view.u64(shm::packets_at(i) + offsetof(shm::PacketCounts, due));
    agent.taken = view.u64(shm::packets_at(i) + offsetof(shm::PacketCounts, taken));
    // A free place: its word may still name the agent that had it last.
    if (agent.record.pid == 0) continue;
    const std::string_view whole(agent.record.name, shm::kNameBytes);
    agent.name = escape(whole.substr(0, whole.find('\0')));
    agent.state = state_of(all, agent.word);
    agents.push_back(std::move(agent));
  }
  std::stable_sort(agents.begin(), agents.end(),
                   [](const Agent& a, const Agent& b) { return a.record.pid < b.record.pid; });
  return agents;
}

std::string role_name(std::uint32_t role) {
  if (role >= control::kRoleWords.size()) return fmt::format("role {}", role);
  return std::string(control::kRoleWords[role]);
}

Json dump_agent(const Agent& agent) {
  return {{"pid", agent.record.pid},
          {"name", agent.name},
          {"parent_pid", agent.record.parent_pid},
          {"role", role_name(agent.record.role)},
          {"state", agent.state},
          {"incarnation", agent.word.incarnation.value()},
          {"index", agent.index},
          {"os_pid", agent.record.os_pid},
          {"uid", agent.record.uid},
          {"temporary", (agent.record.flags & shm::kRecordTemporary) != 0},
          {"restarts", agent.record.restarts},
          {"packets_due", agent.due},
          {"packets_taken", agent.taken},
          {"started_unix_ms", unix_ms(agent.record.attached_ns)}};
}

// The agents as lines of a tree, children below their parent. An agent with a missing or younger
// parent is a root. A parent is therefore always older than its child, and no bytes can make a
// circle.
class TreeLines {
 public:
  explicit TreeLines(const std::vector<Agent>& agents) {
    std::map<std::uint32_t, const Agent*> by_pid;
    for (const Agent& agent : agents) by_pid.emplace(agent.record.pid, &agent);
    for (const Agent& agent : agents) {
      const std::uint32_t parent = agent.record.parent_pid;
      const bool has_parent = parent < agent.record.pid && by_pid.contains(parent);
      children_[has_parent ? by_pid.at(parent) : nullptr].push_back(&agent);
    }
  }

  // SUBTLE: this uses a stack instead of recursion, because a hostile chain is 4,096 deep.
  [[nodiscard]] Json lines() const {
    struct Pending {
      const Agent* agent;
      std::string prefix;
      bool last;
      bool root;
    };
    Json out = Json::array();
    std::vector<Pending> pending;
    const auto push_children = [&](const Agent* of, const std::string& prefix) {
      const auto found = children_.find(of);
      if (found == children_.end()) return;
      for (std::size_t i = found->second.size(); i > 0; --i) {
        const bool last = i == found->second.size();
        pending.push_back({found->second[i - 1], prefix, last, of == nullptr});
      }
    };
    push_children(nullptr, {});
    while (!pending.empty()) {
      const Pending now = std::move(pending.back());
      pending.pop_back();
      const std::string branch = now.root ? "" : now.last ? "`-- " : "|-- ";
      const std::string below = now.root ? "" : now.last ? "    " : "|   ";
      out.push_back(fmt::format("{}{}{} ({}) {}, {}", shorten(now.prefix), branch, now.agent->name,
                                now.agent->record.pid, role_name(now.agent->record.role),
                                now.agent->state));
      push_children(now.agent, now.prefix + below);
    }
    return out;
  }

 private:
  static std::string shorten(const std::string& prefix) {
    constexpr std::size_t kMaxPrefix = 128;
    return prefix.size() <= kMaxPrefix ? prefix : prefix.substr(0, kMaxPrefix) + "... ";
  }

  std::map<const Agent*, std::vector<const Agent*>> children_;
};

}  // namespace

void dump_directory(const Segment& segment, const Segments& all, Listing listing, Json& out) {
  const shm::ByteView view = segment.view();
  const auto field = [&](std::size_t offset) {
    return view.u64(shm::DirectoryLayout::kControl + offset);
  };
  const std::uint64_t current = field(offsetof(shm::DirectoryControl, current));
  const std::uint64_t history = field(offsetof(shm::DirectoryControl, history));
  const std::uint32_t places = shm::agent_count_of(view);
  std::vector<Agent> agents = read_agents(view, all);
  const std::size_t used = agents.size();
  const auto last = std::stable_partition(agents.begin(), agents.end(), [](const Agent& agent) {
    return agent.word.state != shm::AgentState::kDead;
  });
  const auto dead = static_cast<std::size_t>(agents.end() - last);
  if (listing == Listing::kPresent) agents.erase(last, agents.end());
  out["directory"] = {
      {"created_epoch", segment.incarnation().value()},
      {"epoch", current >> 1},
      {"current_buffer", current & 1},
      {"places", places},
      {"free_places", places - used},
      {"dead_agents", dead},
      {"max_payload_bytes", field(offsetof(shm::DirectoryControl, max_payload_bytes))},
      {"history", shm::to_string(shm::history_level(history))},
      {"created_unix_ms", unix_ms(field(offsetof(shm::DirectoryControl, created_ns)))}};
  out["tree"] = TreeLines(agents).lines();
  Json table = Json::array();
  for (const Agent& agent : agents) table.push_back(dump_agent(agent));
  out["agents"] = std::move(table);
}

}  // namespace beeline::dump
