#include "src/control/restore.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "shm/directory.h"
#include "src/control/bells.h"
#include "src/control/death.h"
#include "src/control/foreign_check.h"
#include "src/control/history.h"
#include "src/control/links.h"
#include "src/control/records.h"
#include "src/control/tombstones.h"

namespace beeline::control {
namespace {

constexpr std::size_t kFdsOfProvided = 4;  // pidfd, home, status page, eventfd

struct KeptLife {
  LifeRecord record;
  std::vector<os::UniqueFd> fds;

  // True if the life was ready, and its record reached the keeper whole: a successor needs its
  // home. A dead agent has no successor.
  [[nodiscard]] bool counts() const {
    return record.ready && (fds.size() == kFdsOfProvided || record.dead);
  }
};

std::unique_ptr<Life> make_life(Hive& hive, KeptLife& kept) {
  auto life = std::make_unique<Life>();
  life->incarnation = kept.record.incarnation;
  life->os_pid = kept.record.os_pid;
  life->uid = kept.record.life_uid;
  life->temporary = kept.record.life_temporary;
  life->ready = kept.counts();
  life->ended = kept.record.ended;
  life->told_lost = kept.record.lost;
  if (life->told_lost) await_resume(hive, kept.record.pid, *life);
  if (kept.fds.empty()) return life;
  life->pidfd = share(std::move(kept.fds[0]));
  if (kept.fds.size() < kFdsOfProvided) return life;
  life->home = share(std::move(kept.fds[1]));
  life->status = share(std::move(kept.fds[2]));
  life->event = share(std::move(kept.fds[3]));
  if (auto page = map_status(life->status->get(), kept.record.pid, life->incarnation)) {
    life->status_page = std::move(*page);
  } else {
    // The page passed this check before; without it the agent cannot be rung.
    hive.log.warn("status_lost", "agent={} text={}", kept.record.pid, in_quotes(page.error().text));
    life->status.reset();
  }
  return life;
}

// Sorts the lives of one agent: the newest ready one is current, a newer one may be its successor.
void restore_lives(Hive& hive, Agent& agent, std::vector<KeptLife>& lives) {
  std::sort(lives.begin(), lives.end(), [](const KeptLife& a, const KeptLife& b) {
    return a.record.incarnation > b.record.incarnation;
  });
  for (KeptLife& kept : lives) {
    const bool settled = agent.current != nullptr;
    if (!settled && kept.counts()) {
      agent.current = make_life(hive, kept);
    } else if (!settled && !agent.successor && !kept.record.ended) {
      agent.successor = make_life(hive, kept);
    } else if (!settled && !agent.successor && agent.placeholder == shm::kNoIncarnation) {
      agent.placeholder = kept.record.incarnation;
    } else {
      hive.drop_life(agent.pid, kept.record.incarnation);
    }
  }
  if (agent.placeholder != shm::kNoIncarnation && (agent.current || agent.successor)) {
    hive.drop_life(agent.pid, std::exchange(agent.placeholder, shm::kNoIncarnation));
  }
}

// Drops a record that did not reach the keeper whole, because no later event would drop it.
void forget_half(Hive& hive, const std::string& key) {
  hive.log.warn("restore_failed", "key={}", key);
  hive.keeper.drop(key);
}

// True if the agent has a place in the directory.
bool restore_place(Hive& hive, Agent& agent) {
  if (hive.directory.claim_index(agent.index)) return true;
  const auto other = hive.directory.take_index();
  if (other) {
    agent.index = *other;
    return true;
  }
  hive.log.warn("restore_failed", "agent={} text={}", agent.pid, in_quotes(other.error().text));
  return false;
}

void watch_processes(Hive& hive, const Agent& agent) {
  for (const Life* life : {agent.current.get(), agent.successor.get()}) {
    if (life != nullptr && !life->ended) hive.outbox.watch(*life, agent.pid);
  }
}

// Pid 1 is there already: only its lives are restored.
void restore_king(Hive& hive, std::vector<KeptLife>& lives) {
  Agent& king = *hive.registry.agent(kKingPid);
  restore_lives(hive, king, lives);
  hive.refresh(king);
  watch_processes(hive, king);
}

void restore_agent(Hive& hive, Pid pid, std::vector<KeptLife>& lives) {
  if (pid == kKingPid) return restore_king(hive, lives);
  const LifeRecord newest =
      std::max_element(lives.begin(), lives.end(), [](const KeptLife& a, const KeptLife& b) {
        return a.record.incarnation < b.record.incarnation;
      })->record;
  AgentNode node;
  node.pid = pid;
  node.parent = hive.tree.find(newest.parent) != nullptr ? newest.parent : kKingPid;
  node.name = newest.name;
  node.role = newest.role;
  node.uid = newest.uid;
  hive.tree.add(std::move(node));
  hive.state.avoid(pid);

  Agent made;
  made.pid = pid;
  made.index = newest.index;
  made.taken_over = newest.taken_over;
  made.purged = newest.purged;
  made.letters_then = newest.letters_then;
  made.placed = !made.taken_over && restore_place(hive, made);
  if (!made.placed && !made.taken_over) {
    hive.tree.remove(pid);
    return;
  }
  made.uid = newest.uid;
  made.temporary = newest.temporary;
  made.attached_ns = newest.attached_ns;
  made.restarts = newest.restarts;
  made.untold_ends = newest.untold_ends;
  made.ticket = newest.ticket;
  hive.dead_letters.restore_total(made.letters_then);
  Agent& agent = hive.registry.add_agent(std::move(made));
  restore_lives(hive, agent, lives);

  if (newest.dead) {
    hive.tree.set_state(pid, shm::AgentState::kDead);
    if (!agent.taken_over) hive.takeovers.push_back(pid);
  }
  hive.refresh(agent);
  watch_processes(hive, agent);
}

// Restores dead agents that were taken over: they hold a place only if they have children.
void restore_dead(Hive& hive) {
  for (auto& [pid, agent] : hive.registry.agents()) {
    if (!agent.taken_over) continue;
    if (!hive.tree.children(pid).empty()) {
      hive.registry.set_placed(agent, restore_place(hive, agent));
      hive.refresh(agent);
    } else {
      hive.directory.set_gone(agent.index, agent.committed());
    }
    drop_needless_links(hive, pid);
    forget_if_done(hive, pid);
  }
}

void restore_link(Hive& hive, const LinkRecord& record, os::UniqueFd fd) {
  hive.last_incarnation = std::max(hive.last_incarnation, record.key.incarnation);
  if (hive.registry.agent(record.owner) == nullptr) {
    // Impossible while the keeper's table is whole; its reader could not be told the owner.
    hive.log.warn("restore_failed", "link={}/{} owner={} reader={}", record.key.incarnation.value(),
                  record.key.serial, record.owner, record.reader);
    return;
  }
  // A detach was cut short: the agent repeats it, and says then if the link is empty.
  const Life* life = hive.registry.agent(record.owner)->life(record.key.incarnation);
  const bool faded = record.faded && (life == nullptr || life->ended);
  const LinkEntry& link = hive.registry.add_link({.key = record.key,
                                                  .owner = record.owner,
                                                  .reader = record.reader,
                                                  .uid = hive.registry.agent(record.owner)->uid,
                                                  .contract = record.contract,
                                                  .fd = share(std::move(fd)),
                                                  .may_send = record.may_send,
                                                  .faded = faded,
                                                  .released = record.released,
                                                  .opened_ns = record.opened_ns,
                                                  .left_empty = record.left_empty,
                                                  .ended = record.ended});
  // The last coordinator may have ended after the record that made the link needless.
  const bool needless = faded && !needed_as_mine(hive, link);
  if (needless || hive.registry.agent(record.reader) == nullptr) {
    hive.drop_link(record.key);
  } else if (faded != record.faded) {
    hive.note_link(link);
  }
}

// The incarnations that have not ended, according to the keeper's records.
std::set<shm::Incarnation> living_lives(Hive& hive) {
  std::set<shm::Incarnation> living;
  for (const auto& [pid, agent] : hive.registry.agents()) {
    for (const Life* life : {agent.current.get(), agent.successor.get()}) {
      if (life != nullptr && !life->ended) living.insert(life->incarnation);
    }
  }
  return living;
}

// Restores links and bells. REQUIRES: the agents are restored.
void restore_pairs(Hive& hive, KeptTable& table) {
  const std::set<shm::Incarnation> living = living_lives(hive);
  const auto restored = [&](const std::string& key, KeptRecord& kept) {
    if (kept.fds.size() != 1) return false;
    if (key.starts_with("bell/")) {
      const auto bell = parse_bell(kept.value);
      if (!bell) return false;
      hive.registry.add_bell(*bell, share(std::move(kept.fds[0])));
      for (const shm::Incarnation life : {bell->ringer, bell->rung}) {
        if (!living.contains(life)) drop_bells(hive, life);
      }
      return true;
    }
    const auto link = parse_link(kept.value);
    if (link) restore_link(hive, *link, std::move(kept.fds[0]));
    return link.has_value();
  };
  for (auto& [key, kept] : table) {
    if (!key.starts_with("link/") && !key.starts_with("bell/")) continue;
    if (!restored(key, kept)) forget_half(hive, key);
  }
}

// Restores the count of dead letters. The last coordinator may have ended after recording a
// take-over and before recording the count. REQUIRES: the agents are restored.
void restore_letters(Hive& hive, const KeptTable& table) {
  const std::uint64_t kept = kept_number(table, kDeadLettersKey);
  hive.dead_letters.restore_total(kept);
  if (const std::uint64_t total = hive.dead_letters.total(); total > kept) {
    hive.keeper.note(kDeadLettersKey, build_number(total));
  }
}

// Queues the deaths that the last coordinator could not tell: parents hear of them when they
// resume.
void restore_untold(Hive& hive) {
  std::vector<std::pair<shm::Incarnation, Pid>> ends;
  for (auto& [pid, agent] : hive.registry.agents()) {
    if (parent_to_tell(hive, pid) == nullptr) agent.untold_ends.clear();
    for (const shm::Incarnation life : agent.untold_ends) ends.emplace_back(life, pid);
  }
  std::sort(ends.begin(), ends.end());
  for (const auto& [life, pid] : ends) {
    const AgentNode* node = hive.tree.find(pid);
    // The agent had later lives after every end but the last, and may live again by now.
    const bool is_last = hive.registry.agent(pid)->untold_ends.back() == life;
    const bool dead = is_last && node->state == shm::AgentState::kDead;
    const auto state = dead ? shm::AgentState::kDead : shm::AgentState::kAway;
    queue_death(hive, *parent_to_tell(hive, pid), {pid, node->name, life, state});
  }
}

}  // namespace

void restore(Hive& hive, KeptTable table) {
  std::map<Pid, std::vector<KeptLife>> lives;
  for (auto& [key, kept] : table) {
    if (!key.starts_with("agent/")) continue;
    auto record = parse_life(kept.value);
    if (!record || (kept.fds.empty() && !record->ended)) {
      forget_half(hive, key);
      continue;
    }
    hive.last_incarnation = std::max(hive.last_incarnation, record->incarnation);
    lives[record->pid].push_back({std::move(*record), std::move(kept.fds)});
  }
  for (auto& [pid, of_agent] : lives) restore_agent(hive, pid, of_agent);
  restore_letters(hive, table);
  restore_histories(hive, table);
  hive.quarantined_links = kept_number(table, kEndedLinksKey);
  restore_pairs(hive, table);
  hive.refresh_word(*hive.registry.agent(kKingPid));  // its links are known now
  restore_untold(hive);
  restore_dead(hive);
  hive.publish_records();
  for (auto& [pid, agent] : hive.registry.agents()) {
    if (agent.current) hive.ring(*agent.current);
    if (agent.successor) hive.ring(*agent.successor);
  }
  hive.log.info("restored", "agents={} links={}", hive.registry.agents().size() - 1,
                hive.registry.link_count());
}

}  // namespace beeline::control
