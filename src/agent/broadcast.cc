#include "src/agent/broadcast.h"

#include <algorithm>
#include <utility>

#include "src/agent/directory_tree.h"
#include "src/agent/family.h"
#include "src/agent/leases.h"
#include "src/agent/letterhead.h"
#include "src/agent/link_opener.h"
#include "src/agent/send_facts.h"
#include "src/agent/sender.h"
#include "src/agent/turn.h"
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

std::vector<Delivery> Broadcast::run(const Group& group, std::span<const std::byte> payload,
                                     const SendOptions& options) {
  if (with_.life.is_forked()) return {};
  std::vector<Delivery> targets = targets_of(group);
  const auto settle_all = [&](const SendResult& result) {
    for (Delivery& target : targets) target.result = result;
  };
  if (!with_.life.still_counts()) {
    settle_all(SendResult(SendStatus::kNoRoute));
    return targets;
  }
  if (!with_.leases.may_send_about(options)) {
    settle_all(SendFacts::of_origin(0));
    return targets;
  }
  Letterhead head(options, with_.leases.origin(options));
  if (head.hops() > with_.life.options().max_hops) {
    settle_all(SendFacts::of_hops(0, head.hops(), with_.life.options().max_hops));
    return targets;
  }
  if (payload.size() > with_.life.contract().max_payload_bytes) {
    settle_all(SendFacts::of_payload(0, payload.size(), with_.life.contract().max_payload_bytes,
                                     with_.life.options().max_payload_bytes == 0));
    return targets;
  }
  const auto part = head.cut(payload);
  const std::vector<Peer> peers = open_targets(targets);
  MessageId id = 0;
  bool lost = false;
  bool full = false;
  // A parent that gets it needs no copy, and another one needs it once.
  bool shown = std::any_of(targets.begin(), targets.end(), [this](const Delivery& target) {
    return target.pid == with_.family.parent();
  });
  const auto send_all = [&](SendStatus to_those_of) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      SendResult& result = targets[i].result;
      if (!peers[i].valid() || result.status != to_those_of) continue;
      // One lock for each target, and messages of other threads go first: no message of
      // theirs waits for all targets. So it may lie in a link before ours and have a higher id.
      // Receivers do go by ids (Filter::oldest_first, and a fifo inbox between its two lanes): they
      // may see either of the two first, as the calls overlap.
      const auto lock = with_.life.lock_send();
      with_.sender.flush_shared();
      if (id == 0) id = with_.links.path().reserve_id();
      send::OutLink* link = with_.links.link_of(peers[i]);
      if (link == nullptr) {
        result = with_.sender.missing(peers[i]);
        continue;
      }
      const send::Draft draft{part, head.envelope(), id};
      result = with_.sender.admit_unseen(*link, draft);
      if (result && link->copied && !std::exchange(shown, true)) {
        with_.sender.show_to_parent(draft, *link);
      }
      lost |= link->needs_peer;
      full |= result.status == SendStatus::kFull;
    }
  };
  send_all(SendStatus::kOk);
  // News of new lives, and of links in which our receipts lie, wait in the control socket.
  if (lost || full) with_.turn.take();
  if (full) send_all(SendStatus::kFull);
  with_.turn.take_at(os::coarse_ns());
  return targets;
}

// Targets that a rule forbids without a question to the coordinator are denied already. They do not
// belong to "everybody".
std::vector<Delivery> Broadcast::targets_of(const Group& group) const {
  std::vector<Delivery> targets;
  const control::Tree tree = read_tree(with_.directory.view());
  for (const auto& [pid, agent] : tree.nodes()) {
    if (pid == with_.life.pid() || pid == control::kKingPid ||
        agent.state == shm::AgentState::kDead)
      continue;
    if (!is_member(group, tree, agent, with_.life.pid())) continue;
    const auto rule = control::route(tree, with_.life.pid(), pid).rule;
    const bool denied = rule == control::Rule::kTaskToParentOnly;
    if (denied && group.kind == Group::Kind::kAll) continue;
    const SendResult result =
        denied ? SendFacts::of(SendStatus::kDenied, pid, with_.life.pid()) : SendResult();
    targets.push_back({pid, agent.name, result});
  }
  return targets;
}

// A peer for each target, invalid for those that cannot be reached: their result says why.
std::vector<Peer> Broadcast::open_targets(std::vector<Delivery>& targets) {
  std::vector<Peer> peers(targets.size());
  bool answers = true;  // the coordinator
  for (std::size_t i = 0; i < targets.size(); ++i) {
    SendResult& result = targets[i].result;
    if (!result) continue;
    const send::OutLink* known = with_.links.out_link(targets[i].pid);
    const bool asks = known == nullptr || known->place == nullptr;
    const auto found = asks && !answers
                           ? fail(ErrorCode::kTimeout, "the coordinator does not answer")
                           : with_.opener.peer(targets[i].pid);
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
