#include "src/control/lives.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shm/check.h"
#include "src/control/admission.h"
#include "src/control/death.h"
#include "src/control/foreign_check.h"
#include "src/control/identity.h"
#include "src/control/king.h"
#include "src/control/links.h"
#include "src/control/name_search.h"
#include "src/control/names.h"
#include "src/control/new_agent.h"
#include "src/control/records.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"

namespace beeline::control {
namespace {

Result<void> check_attach(const Hive& hive, const Caller& caller, const AttachRequest& request) {
  if (caller.pid != kNoPid) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("this connection belongs to PID {} already; make another one", caller.pid));
  }
  if (request.layout != kLayoutVersion) {
    return fail(ErrorCode::kWrongVersion,
                fmt::format("the agent speaks layout {}, the coordinator {}: run both with the "
                            "same version of Beeline",
                            in_quotes(request.layout.substr(0, 16)), kLayoutVersion));
  }
  if (!request.secret.empty()) return check_secret(hive, request.secret);
  if (request.role == Role::kKernel) {
    return fail(ErrorCode::kDenied, "the role kernel belongs to the coordinator");
  }
  if (request.name == kKingName) {
    return fail(ErrorCode::kAlreadyRunning, "the name \"king\" belongs to the coordinator");
  }
  return request.name.empty() ? Result<void>() : check_agent_name(request.name);
}

Result<Pid> find_parent(const Hive& hive, const Caller& caller, const std::string& name) {
  if (name.empty()) return kKingPid;
  if (auto text = check_utf8("parent", name); !text) return tl::unexpected(text.error());
  const AgentNode* parent = hive.tree.resolve(name, caller.uid);
  if (parent == nullptr) {
    const HivePaths& paths = hive.facts.paths;
    return fail(
        ErrorCode::kNoAgent,
        fmt::format("parent {} not found in hive \"{}\" ({}); `beeline tree` shows who is there",
                    in_quotes(name), paths.hive, paths.directory));
  }
  if (parent->state == shm::AgentState::kDead) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("parent {} (PID {}) is dead", in_quotes(name), parent->pid));
  }
  return parent->pid;
}

// The agent with the requested name, null if the name is free. An error if the agent has a
// process, or belongs to another user.
Result<Agent*> find_away(Hive& hive, const Caller& caller, const std::string& name, int pidfd) {
  const AgentNode* node = name.empty() ? nullptr : hive.tree.find_name(name);
  if (node == nullptr || node->state == shm::AgentState::kDead) return nullptr;
  Agent* agent = hive.registry.agent(node->pid);
  // The end of the life may be on its way to us.
  for (Life* life = agent->living(); life != nullptr; life = agent->living()) {
    if (!os::has_exited(life->pidfd->get())) {
      // A process that attaches again has given up its earlier life if that has no connection: an
      // attach was cut short, or the process has called exec.
      if (life->session == 0 && same_process(pidfd, life->pidfd->get())) {
        end_life(hive, *agent, *life, LifeEnd::kFenced);
        continue;
      }
      return fail(ErrorCode::kAlreadyRunning,
                  fmt::format("agent {} (PID {}) is already run by process {}", in_quotes(name),
                              agent->pid, life->os_pid));
    }
    bury(hive, agent->pid, life->incarnation);
  }
  if (hive.tree.find(agent->pid)->state == shm::AgentState::kDead) return nullptr;
  // Only these users may take over, because a successor reads the predecessor's messages.
  if (caller.uid == agent->uid || is_trusted(caller)) return agent;
  return fail(ErrorCode::kDenied, fmt::format("agent {} (PID {}) belongs to uid {}, not to {}",
                                              in_quotes(name), agent->pid, agent->uid, caller.uid));
}

std::unique_ptr<Life> make_life(Hive& hive, const Caller& caller, bool temporary, SharedFd pidfd) {
  auto life = std::make_unique<Life>();
  life->incarnation = hive.next_incarnation();
  life->temporary = temporary;
  life->sees_us = true;
  life->os_pid = caller.os_pid;
  life->uid = caller.uid;
  life->pidfd = std::move(pidfd);
  life->session = caller.session;
  return life;
}

// True if the agent is the one that this life waits for.
bool is_awaited(const Life& waiting, const AgentNode& node) {
  if (waiting.awaited.name.empty() || node.state == shm::AgentState::kDead) return false;
  if (waiting.awaited.process && node.state == shm::AgentState::kAway) return false;
  NameSearch search(waiting.awaited.name, waiting.uid);
  search.offer(node.pid, node.name, node.uid);
  return search.found() != kNoPid;
}

void tell_of(Hive& hive, Life& waiting, const AgentNode& node) {
  const AwaitRequest awaited = std::exchange(waiting.awaited, {});
  hive.announce(waiting, CameAnnouncement{node.pid, awaited.name});
}

// Tells every life that waits for this agent.
void tell_who_waits(Hive& hive, const AgentNode& node) {
  std::vector<Pid> waiting;  // by pid: a packet that finds no room may end the life
  for (const auto& [pid, agent] : hive.registry.agents()) {
    const Life* life = agent.living();
    if (life != nullptr && is_awaited(*life, node)) waiting.push_back(pid);
  }
  for (const Pid pid : waiting) {
    const Agent* agent = hive.registry.agent(pid);
    Life* life = agent == nullptr ? nullptr : agent->living();
    if (life != nullptr) tell_of(hive, *life, node);
  }
}

// Makes the agent's new life known: keeper, directory, pidfd.
Result<void> start_life(Hive& hive, Agent& agent, Caller& caller, std::unique_ptr<Life> life) {
  if (auto kept = hive.keep_life(agent, *life); !kept) return kept;
  if (agent.placeholder != shm::kNoIncarnation) hive.drop_life(agent.pid, agent.placeholder);
  agent.placeholder = shm::kNoIncarnation;
  caller.pid = agent.pid;
  caller.incarnation = life->incarnation;
  publish_life(hive, agent, std::move(life));
  tell_who_waits(hive, *hive.tree.find(agent.pid));
  return {};
}

Result<Life*> life_of(Hive& hive, const Caller& caller, Agent*& agent) {
  agent = hive.registry.agent(caller.pid);
  Life* life = agent == nullptr ? nullptr : agent->life(caller.incarnation);
  if (life == nullptr || life->ended) {
    return fail(ErrorCode::kPeerDead, fmt::format("incarnation {} of PID {} was ended",
                                                  caller.incarnation.value(), caller.pid));
  }
  return life;
}

// True if a reader lives without a connection: it has not been told of a link that its owner gives
// up, and first looks for receipts in it.
bool is_coming_back(Hive& hive, Pid reader) {
  const Agent* agent = hive.registry.agent(reader);
  const Life* life = agent == nullptr ? nullptr : agent->living();
  return life != nullptr && life->has_process() && life->session == 0;
}

// Keeps a link of a life that has ended for its receipts. They cover all receipts in the links of
// earlier lives, so links that those left in the same way are dropped.
void leave_empty(Hive& hive, shm::LinkKey key) {
  LinkEntry* link = hive.registry.link(key);
  if (link == nullptr) return;
  for (const LinkEntry* other : hive.registry.links_between(link->owner, link->reader)) {
    const bool older = other->key.incarnation < key.incarnation;
    if (older && other->left_empty) hive.drop_link(other->key);
  }
  link->left_empty = true;
  hive.note_link(*link);
}

}  // namespace

Result<void> take_segments(Hive& hive, const Agent& agent, Life& life,
                           std::vector<os::UniqueFd> fds) {
  if (fds.size() != 3) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("home, status page and eventfd are needed, found {} descriptors", fds.size()));
  }
  if (auto good = check_home(fds[0].get(), agent.pid, life.incarnation); !good) return good;
  auto page = map_status(fds[1].get(), agent.pid, life.incarnation);
  if (!page) return tl::unexpected(std::move(page.error()));
  if (auto good = os::check_event_fd(fds[2].get()); !good) return good;
  SharedFd home = share(std::move(fds[0]));
  SharedFd status = share(std::move(fds[1]));
  SharedFd event = share(std::move(fds[2]));
  const auto change_places = [&] {
    std::swap(life.home, home);
    std::swap(life.status, status);
    std::swap(life.event, event);
    std::swap(life.status_page, *page);
  };
  change_places();
  auto kept = hive.keep_life(agent, life);
  if (!kept) change_places();  // a new coordinator would not have descriptors that the keeper lacks
  return kept;
}

void publish_life(Hive& hive, Agent& agent, std::unique_ptr<Life> life) {
  agent.successor = std::move(life);
  hive.outbox.watch(*agent.successor, agent.pid);
  hive.refresh_record(agent);
  hive.publish_records();
  hive.refresh_word(agent);
}

Result<void> commit(Hive& hive, Agent& agent) {
  BEELINE_CHECK(agent.successor && agent.successor->provided(), agent.pid, agent.committed());
  const shm::Incarnation before = agent.committed();
  Life& life = *agent.successor;
  life.ready = true;
  const bool temporary_before = std::exchange(agent.temporary, life.temporary);
  const std::uint64_t restarts_before = agent.restarts;
  // Only now: if this coordinator ends over an attach, the process repeats it with its ticket.
  std::string ticket = std::exchange(agent.ticket, {});
  if (before != shm::kNoIncarnation) ++agent.restarts;
  if (auto kept = hive.keep_ready(agent, life); !kept) {
    life.ready = false;
    agent.temporary = temporary_before;
    agent.restarts = restarts_before;
    agent.ticket = std::move(ticket);
    return kept;
  }
  agent.current = std::exchange(agent.successor, nullptr);
  hive.refresh_word(agent);
  if (before != shm::kNoIncarnation) {
    hive.drop_life(agent.pid, before);
    drop_faded_links(hive, agent.pid, before);
  }
  if (before != shm::kNoIncarnation || agent.temporary != temporary_before) {
    hive.refresh_record(agent);
    hive.publish_records();
  }
  hive.ring_peers(agent.pid);
  tell_watcher(hive, kLifeReady, agent.pid);
  if (hive.may_log_life(agent.pid, life.uid, "ready")) {
    hive.log.info("ready", "agent={} name={} incarnation={} predecessor={}", agent.pid,
                  in_quotes(hive.tree.find(agent.pid)->name), agent.committed().value(),
                  before.value());
  }
  return {};
}

Result<void> attach(Hive& hive, Caller& caller, std::uint64_t seq, const AttachRequest& wanted,
                    std::vector<os::UniqueFd> fds) {
  AttachRequest request = wanted;
  // No agent could ever take over an agent without a name.
  request.temporary |= request.name.empty();
  if (auto good = check_attach(hive, caller, request); !good) return good;
  if (!request.secret.empty()) request.name = kKingName;
  auto pidfd = identify(caller, request.pidfd, fds);
  if (!pidfd) return tl::unexpected(std::move(pidfd.error()));
  const auto reserved = agent_of_ticket(hive, caller, request, (*pidfd)->get());
  if (!reserved) return tl::unexpected(reserved.error());
  if (*reserved != nullptr) {
    request.name = hive.tree.find((*reserved)->pid)->name;
    request.temporary = false;
  }
  const auto away = find_away(hive, caller, request.name, (*pidfd)->get());
  if (!away) return tl::unexpected(away.error());
  Agent* agent = *away;
  const bool fresh = agent == nullptr;
  if (fresh) {
    const auto parent = find_parent(hive, caller, request.parent);
    if (!parent) return tl::unexpected(parent.error());
    auto made = make_agent(hive, caller.uid, request, *parent);
    if (!made) return tl::unexpected(std::move(made.error()));
    agent = *made;
  }
  auto life = make_life(hive, caller, request.temporary, std::move(*pidfd));
  if (auto started = start_life(hive, *agent, caller, std::move(life)); !started) {
    if (fresh) forget_new_agent(hive, *agent);
    return started;
  }

  const AgentNode* node = hive.tree.find(agent->pid);
  AttachedAnswer attached;
  attached.pid = agent->pid;
  attached.incarnation = caller.incarnation;
  attached.index = agent->index;
  attached.name = node->name;
  attached.parent_pid = node->parent;
  attached.epoch = hive.directory.epoch();
  attached.predecessor = agent->committed();
  attached.in_links = count_in_links(hive, *agent, *agent->successor);
  std::vector<SharedFd> answer_fds{hive.directory_fd};
  if (agent->current) answer_fds.push_back(agent->current->home);
  hive.answer(caller, seq, attached, std::move(answer_fds));
  announce_in_links(hive, *agent, *agent->successor);
  if (hive.may_log(caller, "attached", LogGate::kLives)) {
    hive.log.info("attached", "agent={} name={} incarnation={} predecessor={} process={} role={}",
                  agent->pid, in_quotes(node->name), caller.incarnation.value(),
                  attached.predecessor.value(), caller.os_pid, to_string(node->role));
  }
  return {};
}

Result<void> provide(Hive& hive, const Caller& caller, std::uint64_t seq,
                     const ProvideRequest& request, std::vector<os::UniqueFd> fds) {
  Agent* agent = nullptr;
  const auto life = life_of(hive, caller, agent);
  if (!life) return tl::unexpected(life.error());
  if ((*life)->ready) return fail(ErrorCode::kInvalid, "provide after ready: nothing may change");
  if (auto taken = take_segments(hive, *agent, **life, std::move(fds)); !taken) return taken;
  if (request.ready) {
    if (auto committed = commit(hive, *agent); !committed) return committed;
  }
  hive.answer(caller, seq, OkAnswer{});
  tell_deaths(hive, *agent);
  return {};
}

Result<void> ready(Hive& hive, const Caller& caller, std::uint64_t seq) {
  Agent* agent = nullptr;
  const auto life = life_of(hive, caller, agent);
  if (!life) return tl::unexpected(life.error());
  if (!(*life)->provided()) return fail(ErrorCode::kInvalid, "ready comes after provide");
  if (!(*life)->ready) {
    if (auto committed = commit(hive, *agent); !committed) return committed;
  }
  hive.answer(caller, seq, OkAnswer{});
  tell_deaths(hive, *agent);
  return {};
}

Result<void> await_name(Hive& hive, const Caller& caller, const AwaitRequest& request) {
  if (auto target = check_target(request.name); !target) return target;
  Agent* agent = nullptr;
  const auto life = life_of(hive, caller, agent);
  if (!life) return tl::unexpected(life.error());
  (*life)->awaited = request;
  const AgentNode* node = hive.tree.resolve(request.name, caller.uid);
  if (node != nullptr && is_awaited(**life, *node)) tell_of(hive, **life, *node);
  return {};
}

Result<void> detach(Hive& hive, const Caller& caller, std::uint64_t seq,
                    const DetachRequest& request) {
  Agent* agent = nullptr;
  const auto life = life_of(hive, caller, agent);
  if (!life) return tl::unexpected(life.error());
  std::vector<shm::LinkKey> left;
  for (const std::uint32_t serial : request.empty) {
    LinkEntry* link = hive.registry.link({caller.incarnation, serial});
    if (link == nullptr || link->faded) continue;
    if (is_coming_back(hive, link->reader)) {
      left.push_back(link->key);
      continue;
    }
    link->faded = true;
    hive.note_link(*link);
  }
  const Caller leaving = caller;  // the end of its life makes the connection anonymous
  end_life(hive, *agent, **life, LifeEnd::kDetached);
  for (const shm::LinkKey& key : left) leave_empty(hive, key);
  // Wait, so that a coordinator that comes after us knows of it. If the keeper hears nothing just
  // now it is told later, as of every end.
  (void)hive.keeper.settle_patiently();
  hive.answer(leaving, seq, OkAnswer{});
  return {};
}

}  // namespace beeline::control
