#include "src/c/agent_list.h"

#include <string>
#include <utility>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/list.h"

using beeline::AgentInfo;
using beeline::c::checked;
using beeline::c::text_of;

namespace beeline::c {

namespace {

using AgentList = List<beeline_agents, AgentInfo>;

beeline_agent_info info_of(const AgentInfo& agent) {
  beeline_agent_info info{};
  info.pid = agent.pid;
  info.parent = agent.parent;
  info.name = agent.name.c_str();
  info.role = agent.role.c_str();
  info.state = static_cast<int32_t>(agent.state);
  info.children = agent.children;
  info.started_unix_ns = agent.started_unix_ns;
  info.away_unix_ns = agent.away_unix_ns;
  info.os_pid = agent.os_pid;
  info.uid = agent.uid;
  info.restarts = agent.restarts;
  info.temporary = agent.temporary;
  return info;
}

}  // namespace

beeline_code list_agents(Result<std::vector<AgentInfo>> found, beeline_agents** agents) {
  if (!found) return failed(std::move(found.error()));
  *agents = new AgentList(std::move(*found),
                          static_cast<beeline_agent_info (*)(const AgentInfo&)>(info_of));
  return BEELINE_OK;
}

beeline_code list_agent(Result<AgentInfo> found, beeline_agents** agents) {
  if (!found) return failed(std::move(found.error()));
  std::vector<AgentInfo> one;
  one.push_back(std::move(*found));
  return list_agents(std::move(one), agents);
}

}  // namespace beeline::c

void beeline_agents_free(beeline_agents* agents) { beeline::c::AgentList::free(agents); }

beeline_code beeline_siblings(beeline_agent* agent, beeline_agents** agents) {
  return checked(__func__, {{"agent", agent}, {"agents", agents}},
                 [&](const char*) -> beeline_code {
                   *agents = nullptr;
                   return beeline::c::list_agents(agent->agent.siblings(), agents);
                 });
}

beeline_code beeline_children(beeline_agent* agent, bool recursive, beeline_agents** agents) {
  return checked(__func__, {{"agent", agent}, {"agents", agents}},
                 [&](const char*) -> beeline_code {
                   *agents = nullptr;
                   return beeline::c::list_agents(agent->agent.children(recursive), agents);
                 });
}

beeline_code beeline_info(beeline_agent* agent, beeline_pid pid, beeline_agents** agents) {
  return checked(__func__, {{"agent", agent}, {"agents", agents}},
                 [&](const char*) -> beeline_code {
                   *agents = nullptr;
                   return beeline::c::list_agent(agent->agent.info(pid), agents);
                 });
}

beeline_code beeline_find(beeline_agent* agent, const char* name, size_t length,
                          beeline_agents** agents) {
  return checked(__func__, {{"agent", agent}, {"name", name}, {"agents", agents}},
                 [&](const char*) -> beeline_code {
                   *agents = nullptr;
                   return beeline::c::list_agent(agent->agent.find(text_of(name, length)), agents);
                 });
}
