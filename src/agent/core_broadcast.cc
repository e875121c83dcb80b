// One message for many: the directory says who they are, and each gets its own in its own link.

#include <algorithm>
#include <utility>

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/directory_tree.h"
#include "src/agent/letterhead.h"
#include "src/agent/send_facts.h"
#include "src/control/roles.h"
#include "src/control/routing.h"

namespace beeline {

namespace {

bool descends(const control::Tree& tree, Pid pid, Pid from) {
  for (const Pid above : tree.ancestors(pid)) {
    if (above == from) return true;
  }
  return false;
}

bool is_member(const Group& group, const control::Tree& tree, const control::AgentNode& agent,
               Pid sender) {
  switch (group.kind) {
    case Group::Kind::kAll:
      return true;
    case Group::Kind::kChildren:
      return agent.parent == sender;
    case Group::Kind::kSubtree:
      return descends(tree, agent.pid, sender);
    case Group::Kind::kRole:
      return control::to_string(agent.role) == group.role_word;
  }
  return false;
}

}  // namespace

std::vector<Delivery> AgentCore::broadcast(const Group& group, std::span<const std::byte> payload,
                                           const SendOptions& options) {
  if (is_forked_) return {};
  std::vector<Delivery> targets = targets_of(group);
  const auto settle_all = [&](const SendResult& result) {
    for (Delivery& target : targets) target.result = result;
  };
  if (!still_counts()) {
    settle_all(SendResult(SendStatus::kNoRoute));
    return targets;
  }
  Letterhead head(options, handled());
  if (head.hops() > options_.max_hops) {
    settle_all(SendFacts::of_hops(0, head.hops(), options_.max_hops));
    return targets;
  }
  if (payload.size() > contract_.max_payload_bytes) {
    settle_all(SendFacts::of_payload(0, payload.size(), contract_.max_payload_bytes,
                                     options_.max_payload_bytes == 0));
    return targets;
  }
  const auto part = head.cut(payload);
  const std::vector<Peer> peers = open_targets(targets);
  MessageId id = 0;
  bool lost = false;
  bool full = false;
  // A parent that gets it needs no copy, and another one needs it once.
  bool shown = std::any_of(targets.begin(), targets.end(),
                           [this](const Delivery& target) { return target.pid == parent_; });
  const auto send_all = [&](SendStatus to_those_of) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      SendResult& result = targets[i].result;
      if (!peers[i].valid() || result.status != to_those_of) continue;
      // One lock for each target, and what other threads want to send goes first: no message of
      // theirs waits for all targets. So it may lie in a link before ours and have a higher id.
      // Receivers do go by ids (Filter::oldest_first, and a fifo inbox between its two lanes): they
      // may see either of the two first, as the calls overlap.
      const auto lock = lock_send();
      flush_shared();
      if (id == 0) id = send_path_.reserve_id();
      send::OutLink* link = link_of(peers[i]);
      if (link == nullptr) {
        result = missing(peers[i]);
        continue;
      }
      result = send_unseen(*link, part, head.envelope(), id);
      if (result && link->copied && !std::exchange(shown, true)) {
        show_to_parent(part, head.envelope(), id, *link);
      }
      lost |= link->needs_peer;
      full |= result.status == SendStatus::kFull;
    }
  };
  send_all(SendStatus::kOk);
  // What tells us of new lives, and of links in which our receipts lie, waits in the control
  // socket.
  if (lost || full) poll_control();
  if (full) send_all(SendStatus::kFull);
  poll_control_at(os::coarse_ns());
  return targets;
}

// Those whom a rule forbids without a question to the coordinator are denied already; of everybody
// they are no part.
std::vector<Delivery> AgentCore::targets_of(const Group& group) const {
  std::vector<Delivery> targets;
  const control::Tree tree = read_tree(directory_view_);
  for (const auto& [pid, agent] : tree.nodes()) {
    if (pid == pid_ || pid == control::kKingPid || agent.state == shm::AgentState::kDead) continue;
    if (!is_member(group, tree, agent, pid_)) continue;
    const auto rule = control::route(tree, pid_, pid).rule;
    const bool denied = rule == control::Rule::kTaskToParentOnly;
    if (denied && group.kind == Group::Kind::kAll) continue;
    const SendResult result = denied ? SendFacts::of(SendStatus::kDenied, pid, pid_) : SendResult();
    targets.push_back({pid, agent.name, result});
  }
  return targets;
}

// A peer for each target, invalid for those that cannot be reached: their result says why.
std::vector<Peer> AgentCore::open_targets(std::vector<Delivery>& targets) {
  std::vector<Peer> peers(targets.size());
  bool answers = true;  // the coordinator
  for (std::size_t i = 0; i < targets.size(); ++i) {
    SendResult& result = targets[i].result;
    if (!result) continue;
    const send::OutLink* known = out_link(targets[i].pid);
    const bool asks = known == nullptr || known->place == nullptr;
    const auto found = asks && !answers
                           ? fail(ErrorCode::kTimeout, "the coordinator does not answer")
                           : peer(targets[i].pid);
    if (found) {
      peers[i] = *found;
      continue;
    }
    const ErrorCode code = found.error().code;
    answers &= code != ErrorCode::kTimeout && code != ErrorCode::kNoCoordinator &&
               code != ErrorCode::kClosed;
    result = SendFacts::of_error(found.error());
  }
  return peers;
}

}  // namespace beeline
