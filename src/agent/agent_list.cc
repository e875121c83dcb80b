#include "src/agent/agent_list.h"

#include <unistd.h>
#include <algorithm>
#include <unordered_set>

#include "src/agent/family.h"
#include "src/agent/registration.h"
#include "src/control/agent_info.h"
#include "src/control/names.h"

namespace beeline {

Result<std::vector<AgentInfo>> AgentList::everybody() {
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  auto listed = client_.list_all();
  // One that hangs was waited for already.
  const bool gone = !listed && listed.error().code != ErrorCode::kTimeout && client_.closed();
  if (gone && registration_.resume_in_call()) listed = client_.list_all();
  if (!listed) return tl::unexpected(listed.error());
  return control::infos_of(*listed);
}

Result<std::vector<AgentInfo>> AgentList::siblings() {
  auto all = everybody();
  if (!all) return all;
  const AgentInfo* self = nullptr;
  for (const AgentInfo& agent : *all) {
    if (agent.pid == life_.pid()) self = &agent;
  }
  const Pid parent = self != nullptr ? self->parent : family_.parent();
  std::erase_if(*all, [&](const AgentInfo& agent) {
    return agent.parent != parent || agent.pid == life_.pid();
  });
  return all;
}

Result<std::vector<AgentInfo>> AgentList::children(bool recursive) {
  auto all = everybody();
  if (!all) return all;
  // The list rises by pid, and a parent is older than its child.
  std::unordered_set<Pid> above{life_.pid()};
  std::erase_if(*all, [&](const AgentInfo& agent) {
    const bool below = above.contains(agent.parent);
    if (below && recursive) above.insert(agent.pid);
    return !below;
  });
  return all;
}

Result<AgentInfo> AgentList::info(Pid pid) {
  const Pid wanted = pid == 0 ? life_.pid() : pid;
  const auto all = everybody();
  if (!all) return tl::unexpected(all.error());
  for (const AgentInfo& agent : *all) {
    if (agent.pid == wanted) return agent;
  }
  return fail(ErrorCode::kNoAgent, "no agent with pid " + std::to_string(wanted) + " in hive \"" +
                                       life_.hive() + "\" (" + client_.directory() +
                                       "); `beeline tree` shows who is there");
}

Result<AgentInfo> AgentList::find(std::string_view name) {
  if (auto text = control::check_utf8("name", name); !text) return tl::unexpected(text.error());
  const auto all = everybody();
  if (!all) return tl::unexpected(all.error());
  const auto self = std::find_if(all->begin(), all->end(), [this](const AgentInfo& agent) {
    return agent.pid == life_.pid();
  });
  const uid_t user = self != all->end() ? self->uid : ::geteuid();
  if (const AgentInfo* found = control::find_agent(*all, name, user)) return *found;
  return tl::unexpected(control::nobody_named(name, life_.hive(), client_.directory()));
}

}  // namespace beeline
