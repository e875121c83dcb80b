// Registering again, after the coordinator was restarted or the connection was lost.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/control/death.h"
#include "src/control/identity.h"
#include "src/control/letters.h"
#include "src/control/links.h"
#include "src/control/lives.h"
#include "src/control/names.h"
#include "src/os/clock.h"

namespace beeline::control {
namespace {

tl::unexpected<Error> was_ended(const ResumeRequest& request) {
  return fail(ErrorCode::kPeerDead, fmt::format("incarnation {} of PID {} was ended: attach again",
                                                request.incarnation.value(), request.pid));
}

// Restores an agent that is older than this keeper: keeper and coordinator were lost together, and
// the tree is rebuilt from the agents that come back.
Result<Agent*> revive(Hive& hive, const Caller& caller, const ResumeRequest& request) {
  const bool older = request.pid > kKingPid && request.pid < hive.state.first_pid() &&
                     request.incarnation.value() < hive.facts.since_boot_us;
  // No process knows any more which user owned the number, so another user could claim it.
  if (!older || !is_trusted(caller)) return was_ended(request);
  if (auto good = check_agent_name(request.as.name); !good) {
    return tl::unexpected(std::move(good.error()));
  }
  const AgentNode* holder = hive.tree.find_name(request.as.name);
  if (holder != nullptr && holder->state != shm::AgentState::kDead) {
    return fail(ErrorCode::kPeerDead, fmt::format("the name {} belongs to PID {} now",
                                                  in_quotes(request.as.name), holder->pid));
  }
  const auto index = hive.directory.take_index(request.incarnation);
  if (!index) return tl::unexpected(index.error());
  AgentNode node;
  node.pid = request.pid;
  node.name = request.as.name;
  node.uid = caller.uid;
  node.role = request.as.role == Role::kKernel ? Role::kAgent : request.as.role;
  const bool parent_known =
      request.parent_pid < request.pid && hive.tree.find(request.parent_pid) != nullptr;
  node.parent = parent_known ? request.parent_pid : kKingPid;
  hive.tree.add(std::move(node));
  hive.last_incarnation = std::max(hive.last_incarnation, request.incarnation);
  Agent agent;
  agent.pid = request.pid;
  agent.index = *index;
  agent.uid = caller.uid;
  agent.temporary = request.as.temporary;
  agent.attached_ns = static_cast<std::uint64_t>(os::realtime_ns());
  return &hive.registry.add_agent(std::move(agent));
}

Result<void> start_revived(Hive& hive, Agent& agent, const Caller& caller,
                           shm::Incarnation incarnation, SharedFd pidfd) {
  auto life = std::make_unique<Life>();
  life->incarnation = incarnation;
  life->os_pid = caller.os_pid;
  life->uid = caller.uid;
  life->pidfd = std::move(pidfd);
  life->temporary = agent.temporary;
  if (auto kept = hive.keep_life(agent, *life); !kept) return kept;
  publish_life(hive, agent, std::move(life));
  return {};
}

}  // namespace

Result<void> resume(Hive& hive, Caller& caller, std::uint64_t seq, const ResumeRequest& request,
                    std::vector<os::UniqueFd> fds) {
  if (caller.pid != kNoPid) {
    return fail(ErrorCode::kInvalid,
                fmt::format("this connection belongs to PID {} already", caller.pid));
  }
  auto pidfd = identify(caller, request.as.pidfd, fds);
  if (!pidfd) return tl::unexpected(std::move(pidfd.error()));
  Agent* agent = hive.registry.agent(request.pid);
  if (agent == nullptr) {
    auto revived = revive(hive, caller, request);
    if (!revived) return tl::unexpected(std::move(revived.error()));
    agent = *revived;
    if (auto started = start_revived(hive, *agent, caller, request.incarnation, *pidfd); !started) {
      hive.tree.remove(request.pid);
      hive.give_up_place(*agent);
      hive.registry.remove_agent(request.pid);
      return started;
    }
  }
  Life* life = agent->life(request.incarnation);
  if (life == nullptr || life->ended) return was_ended(request);
  if (!same_process((*pidfd)->get(), life->pidfd->get())) {
    return fail(ErrorCode::kDenied,
                fmt::format("incarnation {} of PID {} belongs to process {}, not to {}",
                            request.incarnation.value(), request.pid, life->os_pid, caller.os_pid));
  }
  if (caller.pidfd != nullptr) caller.pidfd = life->pidfd;  // of the same process: one is enough
  if (!life->provided() && !fds.empty()) {
    if (auto taken = take_segments(hive, *agent, *life, std::move(fds)); !taken) return taken;
  }
  if (life->session != 0) {
    // Another process may hold that connection open, and no agent will read it.
    forget_session(hive, life->session);
    hive.outbox.release(life->session);
  }
  life->session = caller.session;
  life->uid = caller.uid;
  life->fence_at_ns = 0;
  if (std::exchange(life->told_lost, false)) hive.note_life(*agent, *life);
  caller.pid = request.pid;
  caller.incarnation = request.incarnation;
  if (request.ready && !life->ready && life->provided()) {
    if (auto committed = commit(hive, *agent); !committed) return committed;
  }

  const ResumedAnswer resumed{agent->index, hive.directory.epoch(),
                              count_in_links(hive, *agent, *life),
                              shm::Incarnation(hive.facts.since_boot_us)};
  hive.answer(caller, seq, resumed, {hive.directory_fd});
  announce_in_links(hive, *agent, *life);
  tell_deaths(hive, *agent);
  if (hive.may_log(caller, "resumed", LogGate::kLives)) {
    hive.log.info("resumed", "agent={} name={} incarnation={} process={}", agent->pid,
                  in_quotes(hive.tree.find(agent->pid)->name), caller.incarnation.value(),
                  caller.os_pid);
  }
  return {};
}

}  // namespace beeline::control
