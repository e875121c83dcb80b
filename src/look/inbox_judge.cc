#include "src/look/inbox_judge.h"

#include <algorithm>

#include <beeline/types.h>

#include "src/receive/rank.h"

namespace beeline::look {

InboxJudge::InboxJudge(const Segments& all, const Segment& home)
    : receiver_(home.owner_pid()), now_ns_(home.now_ns) {
  const shm::ByteView view = home.view();
  const shm::HomeShape shape(shm::capacity_of(view));
  by_relation_ = view.u32(shape.control(offsetof(shm::HomeControl, rank_rule))) ==
                 static_cast<std::uint32_t>(shm::RankRule::kByRelation);
  if (all.directory() == nullptr) return;
  const shm::ByteView directory = all.directory()->view();
  for (std::uint32_t i = 0; i < shm::agent_count_of(directory); ++i) {
    const auto record = directory.load<shm::AgentRecord>(shm::record_at(directory, i));
    if (record.pid != 0) agents_.emplace(record.pid, record);
  }
}

shm::MessageHeader InboxJudge::judge(shm::MessageHeader header, const Segment& link,
                                     std::string_view type, std::int64_t earliest_ns) const {
  header.sent_ns = std::clamp(header.sent_ns, earliest_ns, std::max(earliest_ns, now_ns_));
  const std::uint32_t sender = link.owner_pid();
  if (is_order(header) && type != kCancelOrder && !is_above(sender)) {
    header.flags = static_cast<std::uint16_t>(header.flags & ~shm::kFlagControl);
  }
  if (!by_relation_) return header;
  const auto from = agents_.find(sender);
  const auto to = agents_.find(receiver_);
  const bool is_known = from != agents_.end() && to != agents_.end();
  const Relation relation =
      is_known ? receive::relation_of(from->second, to->second) : Relation::kOther;
  header.rank =
      is_copy(header) ? kLow : receive::stored_rank(header.rank, relation, type == kEscalation);
  return header;
}

// A parent is older than its child, so no chain of parents is a circle.
bool InboxJudge::is_above(std::uint32_t pid) const {
  for (auto agent = agents_.find(receiver_); agent != agents_.end();) {
    const std::uint32_t parent = agent->second.parent_pid;
    if (parent == pid && parent != 0) return true;
    if (parent >= agent->first) return false;
    agent = agents_.find(parent);
  }
  return false;
}

}  // namespace beeline::look
