#include "src/receive/lane_audit.h"

#include <utility>

#include "shm/handover.h"

namespace beeline::receive {

namespace {

// The overwritten slots of a lane that one audit passes over: its owner may go on with that for
// ever.
constexpr std::uint32_t kMostSkipped = 1024;

}  // namespace

void LaneAudit::look_at_living() {
  skipping_ = false;
  for (InLink* link : entries_.links().owners().living()) look_at(*link);
}

bool LaneAudit::look_at(InLink& link) {
  if (!link.may_send() || link.is_fading()) return false;
  const bool skipped_before = std::exchange(skipping_, false);
  if (link.may_hear_others() && link.is_heard()) link.note_turn();
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    if (!link.quarantined() && !link.is_a_successors()) audit_lane(link, lane);
  }
  return std::exchange(skipping_, skipping_ || skipped_before);
}

void LaneAudit::audit_lane(InLink& link, shm::Lane lane) {
  const std::uint64_t at = link.position(lane);
  // relaxed: a number alone; nothing is read because of it.
  const std::uint64_t commit = link.view().slot(lane, at).commit.relaxed_load();
  const std::uint32_t capacity = link.view().capacity(lane);
  if (shm::is_possible_commit(commit, at, capacity)) return;
  if (shm::is_later_commit(commit, at, capacity) && skip_overwritten(link, lane)) return;
  entries_.quarantine(link, "a commit number that cannot be");
}

// A life before ours that was fenced and still ran can have told the sender that it took more than
// we knew when we took over. The messages that it took were written over, and count as done. False:
// no life before ours can have taken them.
bool LaneAudit::skip_overwritten(InLink& link, shm::Lane lane) {
  const std::uint64_t at = link.position(lane);
  const std::uint64_t next = shm::skip_overwritten(link.view(), lane, at, kMostSkipped);
  if (next > link.taken_by_others(lane)) return false;
  link.move_to(lane, next);
  entries_.commit(link, lane);
  entries_.inbox().count_done(next - at);
  skipping_ |= next - at >= kMostSkipped;
  return true;
}

}  // namespace beeline::receive
