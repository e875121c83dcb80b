#include "src/control/hive.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/control/king.h"
#include "src/control/records.h"
#include "src/os/clock.h"
#include "src/wake/bell.h"

namespace beeline::control {
namespace {

shm::AgentState state_of(const Agent& agent) {
  if (agent.successor && !agent.successor->ended) return shm::AgentState::kStarting;
  if (agent.current && !agent.current->ended) return shm::AgentState::kRunning;
  return shm::AgentState::kAway;
}

LifeRecord record_of(const Tree& tree, const Agent& agent, const Life& life) {
  const AgentNode* node = tree.find(agent.pid);
  LifeRecord record;
  record.pid = agent.pid;
  record.incarnation = life.incarnation;
  record.parent = node->parent;
  record.name = node->name;
  record.role = node->role;
  record.uid = agent.uid;
  record.life_uid = life.uid;
  record.temporary = agent.temporary;
  record.life_temporary = life.temporary;
  record.index = agent.index;
  record.attached_ns = agent.attached_ns;
  record.restarts = agent.restarts;
  record.os_pid = life.os_pid;
  record.ready = life.ready;
  record.ended = life.ended;
  record.lost = life.told_lost;
  record.dead = node->state == shm::AgentState::kDead;
  record.taken_over = agent.taken_over;
  record.purged = agent.purged;
  record.letters_then = agent.letters_then;
  record.untold_ends = agent.untold_ends;
  record.ticket = agent.ticket;
  return record;
}

LinkRecord record_of(const LinkEntry& link) {
  return {.key = link.key,
          .owner = link.owner,
          .reader = link.reader,
          .contract = link.contract,
          .may_send = link.may_send,
          .faded = link.faded,
          .left_empty = link.left_empty,
          .released = link.released,
          .opened_ns = link.opened_ns,
          .ended = link.ended};
}

}  // namespace

bool Hive::may_log(const Caller& caller, std::string_view event, const LogGate::Limit& limit) {
  return gate.admits(log, {caller.pid, caller.uid}, event, os::monotonic_ns(), limit);
}

bool Hive::may_log_life(Pid pid, uid_t uid, std::string_view event) {
  return gate.admits(log, {pid, uid}, event, os::monotonic_ns(), LogGate::kLives);
}

shm::Incarnation Hive::next_incarnation() {
  last_incarnation =
      std::max(last_incarnation + 1, shm::Incarnation(static_cast<std::uint64_t>(os::boot_us())));
  return last_incarnation;
}

Result<void> Hive::keep_life(const Agent& agent, const Life& life) {
  std::vector<int> fds;
  if (life.pidfd != nullptr) fds.push_back(life.pidfd->get());
  if (life.provided()) {
    fds.insert(fds.end(), {life.home->get(), life.status->get(), life.event->get()});
  }
  return keeper.keep(agent_key(agent.pid, life.incarnation), build(record_of(tree, agent, life)),
                     fds);
}

Result<void> Hive::keep_ready(const Agent& agent, const Life& life) {
  return keeper.note_now(agent_key(agent.pid, life.incarnation),
                         build(record_of(tree, agent, life)));
}

void Hive::note_life(const Agent& agent, const Life& life) {
  const std::string key = agent_key(agent.pid, life.incarnation);
  const std::string value = build(record_of(tree, agent, life));
  if (life.pidfd == nullptr) {
    keeper.strip(key, value);
  } else {
    keeper.note(key, value);
  }
}

void Hive::note_agent(const Agent& agent) {
  for (const Life* life : {agent.current.get(), agent.successor.get()}) {
    if (life != nullptr) note_life(agent, *life);
  }
  if (agent.placeholder == shm::kNoIncarnation) return;
  Life ended;
  ended.incarnation = agent.placeholder;
  ended.ended = true;
  note_life(agent, ended);
}

Result<void> Hive::keep_link(const LinkEntry& link) {
  const int fd = link.fd->get();
  return keeper.keep(link_key(link.key), build(record_of(link)), {&fd, 1});
}

void Hive::note_link(const LinkEntry& link) {
  keeper.note(link_key(link.key), build(record_of(link)));
}

void Hive::drop_life(Pid pid, shm::Incarnation incarnation) {
  keeper.drop(agent_key(pid, incarnation));
}

void Hive::drop_link(shm::LinkKey key) {
  keeper.drop(link_key(key));
  registry.remove_link(key);
}

void Hive::refresh_word(const Agent& agent) {
  const AgentNode* node = tree.find(agent.pid);
  const bool dead = node->state == shm::AgentState::kDead;
  shm::AgentState now = dead ? shm::AgentState::kDead : state_of(agent);
  shm::Incarnation life = agent.committed();
  if (is_alone(*this, agent)) {
    now = shm::AgentState::kRunning;
    life = shm::Incarnation(directory.epoch());
  }
  tree.set_state(agent.pid, now);
  if (!agent.placed) return;
  directory.set_word(agent.index, {life, now});
}

void Hive::refresh_record(const Agent& agent) {
  if (!agent.placed) return;
  const AgentNode* node = tree.find(agent.pid);
  const Life* life = agent.living();
  shm::AgentRecord record{};
  record.pid = agent.pid;
  record.parent_pid = node->parent;
  record.role = static_cast<std::uint32_t>(node->role);
  record.flags = agent.temporary ? shm::kRecordTemporary : 0;
  record.os_pid = life != nullptr ? static_cast<std::uint32_t>(life->os_pid) : 0;
  if (agent.pid == kKingPid) record.os_pid = static_cast<std::uint32_t>(::getpid());
  record.uid = agent.uid;
  record.attached_ns = agent.attached_ns;
  record.restarts = agent.restarts;
  std::memcpy(record.name, node->name.data(), std::min(node->name.size(), shm::kNameBytes));
  directory.set_record(agent.index, record);
}

void Hive::refresh(const Agent& agent) {
  refresh_word(agent);
  refresh_record(agent);
}

void Hive::publish_records() {
  if (auto published = directory.publish(); !published) {
    log.warn("directory_failed", "text={}", in_quotes(published.error().text));
  }
}

void Hive::give_up_place(Agent& agent) {
  if (!agent.placed) return;
  registry.set_placed(agent, false);
  directory.set_record(agent.index, {});
  directory.give_back(agent.index);
}

void Hive::answer(const Caller& caller, std::uint64_t seq, const Answer& value,
                  std::vector<SharedFd> fds) {
  outbox.send(caller.session, build(value, seq), std::move(fds));
  // An agent that does not wait for it may sleep.
  const Agent* agent = registry.agent(caller.pid);
  const Life* life = agent == nullptr ? nullptr : agent->life(caller.incarnation);
  if (life != nullptr) ring(*life);
}

void Hive::announce(const Life& life, const AnnouncedValue& value, std::vector<SharedFd> fds) {
  if (life.session == 0) return;
  outbox.send(life.session, build(value), std::move(fds));
  ring(life);
}

void Hive::ring(const Life& life) {
  if (life.has_process()) (void)wake::fence_and_ring(life.page(), life.event->get());
}

void Hive::ring_peers(Pid pid) {
  for (const Pid peer : registry.peers(pid)) {
    const Agent* agent = registry.agent(peer);
    if (agent == nullptr) continue;
    if (agent->current) ring(*agent->current);
    if (agent->successor) ring(*agent->successor);
  }
}

}  // namespace beeline::control
