#include "src/control/tombstones.h"

#include <algorithm>

#include "src/control/king.h"
#include "src/os/clock.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxTombstones = 256;
constexpr std::int64_t kTombstoneNs = 60'000'000'000;

void forget(Hive& hive, Pid pid) {
  Agent* agent = hive.registry.agent(pid);
  if (agent == nullptr) return;
  const std::vector<Pid> children = hive.tree.children(pid);
  const Pid parent_pid = hive.tree.find(pid)->parent;
  tell_watcher(hive, kLifeRemoved, pid);
  hive.tree.remove(pid);
  for (const Pid child : children) {
    if (const Agent* orphan = hive.registry.agent(child)) {
      hive.refresh_record(*orphan);
      hive.note_agent(*orphan);
    }
  }
  if (!children.empty()) hive.publish_records();
  // Only now: until the orphans' records name their new parent, a new coordinator needs this
  // record.
  hive.drop_life(pid, agent->current ? agent->committed() : agent->placeholder);
  hive.give_up_place(*agent);
  hive.registry.remove_agent(pid);
  Agent* parent = hive.registry.agent(parent_pid);
  if (parent != nullptr && parent->taken_over) give_up_place_of_the_dead(hive, *parent);
}

}  // namespace

void give_up_place_of_the_dead(Hive& hive, Agent& agent) {
  if (hive.tree.children(agent.pid).empty()) hive.give_up_place(agent);
}

void forget_if_done(Hive& hive, Pid pid) {
  const Agent* agent = hive.registry.agent(pid);
  // Without its record a new coordinator could not tell its parent of its end.
  if (agent == nullptr || !agent->taken_over || !agent->untold_ends.empty()) return;
  const bool buried = std::any_of(hive.tombstones.begin(), hive.tombstones.end(),
                                  [&](const Tombstone& stone) { return stone.pid == pid; });
  if (buried || hive.registry.count_of(pid) != 0) return;
  hive.tombstones.push_back({pid, os::monotonic_ns()});
}

std::int64_t forget_rested(Hive& hive, std::int64_t now_ns) {
  while (!hive.tombstones.empty()) {
    const Tombstone& oldest = hive.tombstones.front();
    const bool rested = now_ns - oldest.since_ns >= kTombstoneNs;
    if (!rested && hive.tombstones.size() <= kMaxTombstones) return oldest.since_ns + kTombstoneNs;
    forget(hive, oldest.pid);
    hive.tombstones.pop_front();
  }
  return 0;
}

}  // namespace beeline::control
