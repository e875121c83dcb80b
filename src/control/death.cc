#include "src/control/death.h"

#include <algorithm>

#include "src/control/bells.h"
#include "src/control/king.h"
#include "src/control/letters.h"
#include "src/control/links.h"
#include "src/control/tombstones.h"
#include "src/os/clock.h"
#include "src/os/pid_fd.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxUntold = 256;  // of one parent; the newest are kept
// Dead agents with parents that were not told hold no place, so the number of living agents does
// not bound them.
constexpr std::size_t kMaxUntoldOfAll = 4096;

// Removes the oldest death from a parent's queue: the parent was told of it, or never will be.
void settle_oldest(Hive& hive, Agent& parent) {
  const DiedAnnouncement died = std::move(parent.untold.front());
  parent.untold.pop_front();
  --hive.untold_deaths;
  Agent* child = hive.registry.agent(died.pid);
  if (child == nullptr || std::erase(child->untold_ends, died.incarnation) == 0) return;
  hive.note_agent(*child);
  forget_if_done(hive, died.pid);
}

void give_up_oldest(Hive& hive, Agent& parent) {
  if (hive.may_log_life(parent.pid, parent.uid, "death_untold")) {
    const DiedAnnouncement& died = parent.untold.front();
    hive.log.warn("death_untold", "agent={} name={} incarnation={} parent={} waiting={}", died.pid,
                  in_quotes(died.name), died.incarnation.value(), parent.pid, parent.untold.size());
  }
  settle_oldest(hive, parent);
}

// The parent with the most untold deaths: a parent that does not read must not take room from
// others.
Agent& fullest_parent(Hive& hive) {
  auto& agents = hive.registry.agents();
  const auto fewer = [](const auto& a, const auto& b) {
    return a.second.untold.size() < b.second.untold.size();
  };
  return std::max_element(agents.begin(), agents.end(), fewer)->second;
}

void tell_parent(Hive& hive, const Agent& agent, shm::Incarnation incarnation) {
  const AgentNode* node = hive.tree.find(agent.pid);
  Agent* parent = parent_to_tell(hive, agent.pid);
  if (parent == nullptr) return;
  queue_death(hive, *parent, {agent.pid, node->name, incarnation, node->state});
  tell_deaths(hive, *parent);
}

// Drops a life that was never ready: it had published nothing, so its links hold nothing.
void discard_successor(Hive& hive, Agent& agent) {
  const shm::Incarnation incarnation = agent.successor->incarnation;
  for (const LinkEntry* link : hive.registry.links_of(agent.pid)) {
    if (link->key.incarnation == incarnation) hive.drop_link(link->key);
  }
  agent.successor.reset();
  if (agent.current) {
    hive.drop_life(agent.pid, incarnation);
  } else {
    // Another agent may have sent to it already. Its record stays, or a restarted coordinator would
    // know the links to it without knowing it.
    agent.placeholder = incarnation;
    hive.note_agent(agent);
  }
}

}  // namespace

Agent* parent_to_tell(Hive& hive, Pid pid) {
  const AgentNode* parent = hive.tree.find(hive.tree.find(pid)->parent);
  const bool lives = parent != nullptr && parent->state != shm::AgentState::kDead;
  Agent* agent = lives ? hive.registry.agent(parent->pid) : nullptr;
  // A hive without a steward has no process that would ever read what pid 1 is told.
  return agent != nullptr && agent->pid == kKingPid && !agent->current ? nullptr : agent;
}

void queue_death(Hive& hive, Agent& parent, DiedAnnouncement died) {
  parent.untold.push_back(std::move(died));
  ++hive.untold_deaths;
  if (parent.untold.size() > kMaxUntold) give_up_oldest(hive, parent);
  if (hive.untold_deaths > kMaxUntoldOfAll) give_up_oldest(hive, fullest_parent(hive));
}

void end_life(Hive& hive, Agent& agent, Life& life, LifeEnd how) {
  if (life.ended) return;
  const shm::Incarnation incarnation = life.incarnation;
  const uid_t uid = life.uid;
  const bool was_current = &life == agent.current.get();
  hive.outbox.unwatch(life);
  if (life.session != 0) {
    forget_session(hive, life.session);
    hive.outbox.release(life.session);
  }
  life.session = 0;
  life.ended = true;
  life.ended_ns = os::realtime_ns();
  life.fence_at_ns = 0;
  life.told_lost = false;
  drop_bells(hive, incarnation);

  const bool final = agent.temporary;
  // Before the record is kept: if this coordinator dies over it, the next one tells the parent.
  const bool to_tell = was_current || final;
  if (to_tell && parent_to_tell(hive, agent.pid) != nullptr) {
    agent.untold_ends.push_back(incarnation);
  }
  if (final) hive.tree.set_state(agent.pid, shm::AgentState::kDead);
  if (!was_current) discard_successor(hive, agent);
  if (agent.current && (was_current || final)) {
    hive.note_life(agent, *agent.current);
  }
  let_go_of_refused(hive, agent.pid, incarnation);
  if (final) hive.takeovers.push_back(agent.pid);
  hive.refresh(agent);
  const LogGate::Who who{agent.pid, uid};
  if (hive.may_log_life(who.pid, who.uid, "life_ended")) {
    hive.log.info("life_ended", "agent={} name={} incarnation={} how={} state={}", agent.pid,
                  in_quotes(hive.tree.find(agent.pid)->name), incarnation.value(), to_string(how),
                  shm::to_string(hive.tree.find(agent.pid)->state));
  }
  hive.gate.settle_agent(hive.log, who, os::monotonic_ns());
  if (to_tell) tell_parent(hive, agent, incarnation);
  tell_watcher(hive, kLifeDied, agent.pid);
  // The agent may have died between publish and wake, and its senders may wait for space.
  hive.ring_peers(agent.pid);
}

void bury(Hive& hive, Pid pid, shm::Incarnation incarnation) {
  const auto find = [&]() -> Life* {
    const Agent* agent = hive.registry.agent(pid);
    Life* life = agent == nullptr ? nullptr : agent->life(incarnation);
    return life == nullptr || life->ended ? nullptr : life;
  };
  const Life* life = find();
  if (life == nullptr) return;
  if (life->session != 0) hive.outbox.drain(life->session);
  if (Life* left = find()) end_life(hive, *hive.registry.agent(pid), *left, LifeEnd::kDied);
}

void tell_deaths(Hive& hive, Agent& agent) {
  if (!agent.current || agent.current->session == 0) return;
  // send_now(), because a packet that waits in a queue of ours would end with us.
  bool told = false;
  while (!agent.untold.empty()) {
    const AnnouncedValue next(agent.untold.front());
    if (!hive.outbox.send_now(agent.current->session, build(next))) break;
    settle_oldest(hive, agent);
    told = true;
  }
  if (told) hive.ring(*agent.current);
}

void lose_connection(Hive& hive, Pid pid, shm::Incarnation incarnation, std::uint64_t session) {
  Agent* agent = hive.registry.agent(pid);
  Life* life = agent == nullptr ? nullptr : agent->life(incarnation);
  if (life == nullptr || life->ended || life->session != session) return;
  life->session = 0;
  await_resume(hive, pid, *life);
  // A keeper that is behind is not told, because connections that break and return at will would
  // fill its queue without end.
  if (hive.keeper.is_settled()) {
    life->told_lost = true;
    hive.note_life(*agent, *life);
  }
  hive.ring(*life);
}

void await_resume(Hive& hive, Pid pid, Life& life) {
  life.fence_at_ns = hive.hearing.listened_ns + kFenceNs;
  // The life may have lost another connection, and come back, in this turn.
  std::erase_if(hive.fences, [&](const Fence& fence) {
    return fence.pid == pid && fence.incarnation == life.incarnation;
  });
  hive.fences.push_back({pid, life.incarnation});
}

std::int64_t end_overdue(Hive& hive, std::int64_t now_ns) {
  std::int64_t next_ns = 0;
  const auto earlier = [&](std::int64_t at_ns) {
    if (next_ns == 0 || at_ns < next_ns) next_ns = at_ns;
  };
  std::vector<Fence> waiting;
  std::swap(waiting, hive.fences);
  for (const Fence& fence : waiting) {
    Agent* agent = hive.registry.agent(fence.pid);
    Life* life = agent == nullptr ? nullptr : agent->life(fence.incarnation);
    if (life == nullptr || life->ended || life->fence_at_ns == 0) continue;
    // Its packets may still wait to be heard; a second kFenceNs is the limit of that wait.
    const std::int64_t due_ns = life->fence_at_ns + (hive.hearing.all_heard ? 0 : kFenceNs);
    if (due_ns > hive.hearing.listened_ns) {
      // Wake after half of a turn's limit, so that the whole sleep counts.
      earlier(now_ns + std::min(due_ns - hive.hearing.listened_ns, kMostPerTurnNs / 2));
      hive.fences.push_back(fence);
      continue;
    }
    const bool exited = os::has_exited(life->pidfd->get());
    end_life(hive, *agent, *life, exited ? LifeEnd::kDied : LifeEnd::kFenced);
  }
  if (const std::int64_t at_ns = forget_rested(hive, now_ns); at_ns != 0) earlier(at_ns);
  return next_ns;
}

void finish_death(Hive& hive, Pid pid) {
  Agent* agent = hive.registry.agent(pid);
  if (agent == nullptr) return;
  agent->taken_over = true;
  std::vector<Pid> senders;
  for (const LinkEntry* link : hive.registry.links_to(pid)) senders.push_back(link->owner);
  if (agent->current) {
    // Only its number is needed now.
    auto ended = std::make_unique<Life>();
    ended->incarnation = agent->current->incarnation;
    ended->ready = true;
    ended->ended = true;
    agent->current = std::move(ended);
  }
  // First and at once, so that a coordinator that comes after us either reads the whole agent again
  // or not at all, and counts its letters once. The record stays as long as a reader of its links,
  // a child or a tool may ask for the agent.
  agent->letters_then = hive.dead_letters.total();
  hive.note_agent(*agent);
  drop_needless_links(hive, pid);
  while (!agent->untold.empty()) settle_oldest(hive, *agent);
  give_up_place_of_the_dead(hive, *agent);
  forget_if_done(hive, pid);
  for (const Pid sender : senders) forget_if_done(hive, sender);
}

}  // namespace beeline::control
