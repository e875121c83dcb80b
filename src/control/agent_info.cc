#include "src/control/agent_info.h"

#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "src/control/name_search.h"
#include "src/control/quotes.h"

namespace beeline {

std::string_view to_string(State state) {
  switch (state) {
    case State::kIdle:
      return "idle";
    case State::kRunning:
      return "running";
    case State::kBlocked:
      return "blocked";
    case State::kSleeping:
      return "sleeping";
    case State::kZombie:
      return "zombie";
    case State::kDead:
      return "dead";
  }
  return "unknown";
}

const AgentInfo* find_agent(const std::vector<AgentInfo>& agents, std::string_view name) {
  return control::find_agent(agents, name, ::geteuid());
}

namespace control {
namespace {

State state_of(shm::AgentActivity activity) noexcept {
  switch (activity) {
    case shm::AgentActivity::kIdle:
      return State::kIdle;
    case shm::AgentActivity::kRunning:
      return State::kRunning;
    case shm::AgentActivity::kBlocked:
      return State::kBlocked;
    case shm::AgentActivity::kSleeping:
      return State::kSleeping;
  }
  return State::kIdle;
}

}  // namespace

State state_of(const ListedAgent& agent) noexcept {
  switch (agent.state) {
    case shm::AgentState::kStarting:
      return State::kIdle;
    case shm::AgentState::kRunning:
      return state_of(agent.activity);
    case shm::AgentState::kAway:
      return State::kZombie;
    case shm::AgentState::kVacant:
    case shm::AgentState::kDead:
      break;
  }
  return State::kDead;
}

std::vector<AgentInfo> infos_of(std::span<const ListedAgent> all) {
  std::unordered_map<Pid, std::uint32_t> children;
  for (const ListedAgent& agent : all) ++children[agent.parent];
  std::vector<AgentInfo> infos;
  infos.reserve(all.size());
  for (const ListedAgent& agent : all) {
    AgentInfo info;
    info.pid = agent.pid;
    info.parent = agent.parent;
    info.name = agent.name;
    info.role = to_string(agent.role);
    info.state = state_of(agent);
    info.children = children.contains(agent.pid) ? children[agent.pid] : 0;
    info.started_unix_ns = static_cast<std::int64_t>(agent.attached_ns);
    info.away_unix_ns = static_cast<std::int64_t>(agent.away_ns);
    info.os_pid = agent.os_pid;
    info.uid = agent.uid;
    info.restarts = agent.restarts;
    info.temporary = agent.temporary;
    info.was_ready = agent.incarnation != shm::kNoIncarnation;
    infos.push_back(std::move(info));
  }
  return infos;
}

const AgentInfo* find_agent(std::span<const AgentInfo> all, std::string_view asked, uid_t user) {
  NameSearch search(asked, user);
  for (const AgentInfo& agent : all) {
    search.offer(agent.pid, agent.name, agent.uid, agent.state == State::kDead);
  }
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const AgentInfo& agent) { return agent.pid == search.found(); });
  return found == all.end() ? nullptr : &*found;
}

Error nobody_named(std::string_view asked, std::string_view hive, std::string_view directory) {
  if (is_number(asked))
    return {ErrorCode::kNoAgent, 0, fmt::format("receiver PID {} not found", asked)};
  return {ErrorCode::kNoAgent, 0,
          fmt::format("no agent named {} in hive \"{}\" ({}); `beeline tree` shows who is there",
                      in_quotes(asked), hive, directory)};
}

}  // namespace control
}  // namespace beeline
