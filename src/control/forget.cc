#include "src/control/forget.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shm/check.h"
#include "src/control/death.h"
#include "src/control/identity.h"
#include "src/control/name_search.h"
#include "src/os/pid_fd.h"

namespace beeline::control {
namespace {

constexpr std::int64_t kSoonestPlan = 100'000'000;
constexpr std::int64_t kLatestPlan = 60'000'000'000;

// The agent of this pid for a number, or the newest agent of this exact name that is not dead.
const AgentNode* find_exactly(const Tree& tree, const std::string& name) {
  const Pid pid = pid_from(name);
  return pid != kNoPid ? tree.find(pid) : tree.find_name(name);
}

Result<Agent*> find_forgettable(Hive& hive, const Caller& caller, const std::string& name) {
  const AgentNode* node = find_exactly(hive.tree, name);
  if (node == nullptr) {
    return fail(ErrorCode::kNoAgent,
                fmt::format("no agent {}: `beeline tree` shows who is there", in_quotes(name)));
  }
  const Pid pid = node->pid;
  Agent* agent = hive.registry.agent(pid);
  if (agent == nullptr || pid == kKingPid) {
    return fail(ErrorCode::kDenied, "the coordinator is not forgotten: `beeline down` ends it");
  }
  const std::string who = fmt::format("{} (PID {})", in_quotes(node->name), pid);
  if (caller.uid != agent->uid && !is_trusted(caller)) {
    return fail(ErrorCode::kDenied,
                fmt::format("agent {} belongs to uid {}, not to {}: ask as that user, as the user "
                            "of the hive or as root",
                            who, agent->uid, caller.uid));
  }
  // The end of the life may be on its way to us.
  for (const Life* life = agent->living(); life != nullptr; life = agent->living()) {
    if (!os::has_exited(life->pidfd->get())) {
      return fail(ErrorCode::kAlreadyRunning,
                  fmt::format("agent {} is run by process {}: end that first", who, life->os_pid));
    }
    bury(hive, pid, life->incarnation);
  }
  if (hive.tree.find(pid)->state == shm::AgentState::kDead) {
    return fail(ErrorCode::kPeerDead, fmt::format("agent {} has ended for good already", who));
  }
  return agent;
}

}  // namespace

void end_for_good(Hive& hive, Agent& agent, bool purge) {
  BEELINE_CHECK(!agent.current || !agent.current->has_process(), agent.pid, agent.committed());
  agent.temporary = true;
  agent.ticket.clear();
  agent.purged = purge;
  hive.tree.set_state(agent.pid, shm::AgentState::kDead);
  hive.note_agent(agent);
  hive.takeovers.push_back(agent.pid);
  hive.refresh(agent);
  hive.ring_peers(agent.pid);
}

Result<void> forget_agent(Hive& hive, const Caller& caller, std::uint64_t seq,
                          const ForgetRequest& request) {
  const auto found = find_forgettable(hive, caller, request.name);
  if (!found) return tl::unexpected(found.error());
  Agent& agent = **found;
  // Pid 1 does not wait: the take-over may wait for its own agent, which looks at the directory of
  // the last coordinator as long as its steward waits here.
  const bool is_king = caller.session == hive.watcher;
  if (!is_king) hive.forgets.push_back({agent.pid, caller.session, seq});
  end_for_good(hive, agent, request.purge);
  if (is_king) hive.answer(caller, seq, LettersAnswer{0});
  if (hive.may_log(caller, "forgotten", LogGate::kLives)) {
    hive.log.info("forgotten", "agent={} name={} uid={} purge={}", agent.pid,
                  in_quotes(hive.tree.find(agent.pid)->name), caller.uid, request.purge);
  }
  return {};
}

void answer_forgets(Hive& hive, Pid pid, std::uint64_t letters) {
  std::erase_if(hive.forgets, [&](const AwaitedEnd& awaited) {
    if (awaited.pid != pid) return false;
    hive.outbox.send(awaited.session, build(Answer(LettersAnswer{letters}), awaited.seq), {});
    return true;
  });
}

bool may_be_let_go(const Hive& hive, const Agent& agent) {
  const AgentNode* node = hive.tree.find(agent.pid);
  if (node == nullptr || node->state != shm::AgentState::kAway) return false;
  // Pid 1 stays with the hive, and a process is about to come for a reserved agent.
  if (agent.pid == kKingPid || !agent.ticket.empty()) return false;
  const std::vector<Pid> children = hive.tree.children(agent.pid);
  return std::all_of(children.begin(), children.end(), [&](Pid child) {
    return hive.tree.find(child)->state == shm::AgentState::kDead;
  });
}

std::int64_t plan_looks(Hive& hive, std::int64_t now_ns) {
  const std::int64_t after_ns = hive.looks.after_ns;
  if (after_ns == 0) return 0;
  if (now_ns < hive.looks.next_plan_ns) return hive.looks.next_plan_ns;
  hive.looks.next_plan_ns = now_ns + std::clamp(after_ns / 4, kSoonestPlan, kLatestPlan);
  for (auto& [pid, agent] : hive.registry.agents()) {
    if (!may_be_let_go(hive, agent)) {
      agent.look_at_ns = 0;
    } else if (agent.look_at_ns == 0) {
      agent.look_at_ns = now_ns + after_ns;
    } else if (agent.look_at_ns <= now_ns) {
      agent.look_at_ns = now_ns + after_ns;
      hive.looks.due.push_back(pid);
    }
  }
  return hive.looks.next_plan_ns;
}

}  // namespace beeline::control
