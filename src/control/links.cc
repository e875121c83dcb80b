#include "src/control/links.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "shm/check.h"
#include "shm/home.h"
#include "src/control/admission.h"
#include "src/control/bells.h"
#include "src/control/foreign_check.h"
#include "src/control/king.h"
#include "src/control/records.h"
#include "src/control/routing.h"
#include "src/control/tombstones.h"
#include "src/os/clock.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxLinksOfAgent = 2 * shm::kMaxAgents;  // own, dead incarnations included

ErrorCode code_of(Rule rule) {
  switch (rule) {
    case Rule::kNoAgent:
      return ErrorCode::kNoAgent;
    case Rule::kDead:
    case Rule::kDeadSender:
      return ErrorCode::kPeerDead;
    case Rule::kNoTarget:
    case Rule::kNoCommonAncestor:
      return ErrorCode::kNoRoute;
    default:
      return ErrorCode::kDenied;
  }
}

// True if `owner` may send to `reader`; false if it may only show it receipts; an error if it may
// not even do that.
Result<bool> permission(Hive& hive, Pid owner, const OpenRequest& request) {
  const Verdict verdict = route(hive.tree, owner, request.to);
  if (verdict.allowed) return true;
  const bool living = verdict.rule != Rule::kNoAgent && verdict.rule != Rule::kDead &&
                      verdict.rule != Rule::kNoTarget && verdict.rule != Rule::kKing;
  const bool wanted = request.again || hive.registry.has_link_between(request.to, owner);
  if (living && wanted) return false;
  return fail(code_of(verdict.rule), verdict.text);
}

Result<void> check_request(Hive& hive, const Caller& caller, const OpenRequest& request,
                           const std::vector<os::UniqueFd>& fds) {
  if (fds.size() != 1) {
    return fail(ErrorCode::kInvalid,
                fmt::format("open needs 1 file descriptor, the link; found {}", fds.size()));
  }
  if (const char* wrong = shm::contract_error(request.contract); wrong != nullptr) {
    return fail(ErrorCode::kInvalid,
                fmt::format("contract of the link, normal_slots {}, urgent_slots {}, "
                            "max_payload_bytes {}: {}",
                            request.contract.normal_slots, request.contract.urgent_slots,
                            request.contract.max_payload_bytes, wrong));
  }
  const std::uint64_t limit = hive.directory.max_payload_bytes();
  if (request.contract.max_payload_bytes > limit) {
    return fail(ErrorCode::kTooBig,
                fmt::format("max_payload_bytes of the link is {}, the limit of the hive is {}; "
                            "`beeline up --max-payload` sets it",
                            request.contract.max_payload_bytes, limit));
  }
  const LinkEntry* other = hive.registry.link_between(caller.pid, caller.incarnation, request.to);
  if (other != nullptr && other->key.serial != request.serial) {
    return fail(ErrorCode::kInvalid,
                fmt::format("this life of PID {} has a link to PID {} already, serial {}: ask for "
                            "that one again",
                            caller.pid, request.to, other->key.serial));
  }
  return check_link(fds[0].get(), request.contract, caller.pid, request.to,
                    {caller.incarnation, request.serial});
}

// Checks that there is room for one more link of this owner to this reader, here and at the
// keeper. The owner may have as many links back as the reader has links to it, whatever the
// owner's share is. Each further one counts as a new link; otherwise one link of the reader would
// admit those of all later lives of the owner.
Result<void> check_room(Hive& hive, Pid owner, Pid reader) {
  if (hive.registry.count_of(owner) >= kMaxLinksOfAgent) {
    return fail(ErrorCode::kFull,
                fmt::format("PID {} owns {} links, the limit is {}: reach the others through "
                            "another agent",
                            owner, hive.registry.count_of(owner), kMaxLinksOfAgent));
  }
  const Agent& agent = *hive.registry.agent(owner);
  const bool answers = owner != reader && hive.registry.count_between(owner, reader) <
                                              hive.registry.count_between(reader, owner);
  return answers ? admit_answer(hive, agent) : admit_link(hive, agent, reader);
}

// The life that owns a link, if it has a process.
const Life* process_of(const Agent* agent, shm::Incarnation incarnation) {
  const Life* life = agent == nullptr ? nullptr : agent->life(incarnation);
  return life != nullptr && life->has_process() ? life : nullptr;
}

void announce_link(Hive& hive, const LinkEntry& link, const Agent& reader, const Life& life) {
  if (life.session == 0) return;  // it is told when it resumes
  const AgentNode* owner_node = hive.tree.find(link.owner);
  const Agent* owner = hive.registry.agent(link.owner);
  LinkAnnouncement announcement;
  announcement.pid = link.owner;
  announcement.name = owner_node->name;
  announcement.index = owner->index;
  announcement.incarnation = link.key.incarnation;
  announcement.serial = link.key.serial;
  announcement.contract = link.contract;
  announcement.may_send = link.may_send && !link.ended;
  announcement.opened_ns = link.opened_ns;
  announcement.released = link.released;
  std::vector<SharedFd> fds{link.fd};
  if (const Life* process = process_of(owner, link.key.incarnation)) {
    // A link is announced even without a bell: the link that its reader opens in turn asks for one
    // again.
    const auto foreign = introduce(hive, life, *process, fds);
    announcement.process = foreign.has_value();
    announcement.foreign = foreign.value_or(false);
    if (!foreign && hive.may_log_life(reader.pid, life.uid, "bell_failed")) {
      hive.log.warn("bell_failed", "agent={} peer={} text={}", reader.pid, link.owner,
                    in_quotes(foreign.error().text));
    }
  }
  const bool hand_over = &life == reader.successor.get() && reader.current != nullptr;
  if (hand_over) {
    const LinkEntry* mine = hive.registry.link_between(reader.pid, reader.committed(), link.owner);
    if (mine != nullptr) {
      announcement.mine = OwnLink{mine->key.serial, mine->contract};
      fds.push_back(mine->fd);
    }
  }
  hive.announce(life, announcement, std::move(fds));
}

Result<OpenedAnswer> describe_peer(Hive& hive, const Caller& caller, const Agent& peer,
                                   std::vector<SharedFd>& fds) {
  const Agent* asking = hive.registry.agent(caller.pid);
  const Life* asking_life = asking == nullptr ? nullptr : asking->life(caller.incarnation);
  OpenedAnswer opened;
  opened.pid = peer.pid;
  opened.index = peer.index;
  // During a hand-over this is the life that the directory names; the successor becomes known by
  // the link that it opens.
  const Life* life = peer.current ? peer.current.get() : peer.successor.get();
  if (life == nullptr) return opened;
  opened.incarnation = life->incarnation;
  if (life->has_process() && asking_life != nullptr) {
    const auto foreign = introduce(hive, *asking_life, *life, fds);
    if (!foreign) return tl::unexpected(foreign.error());
    opened.process = true;
    opened.foreign = *foreign;
  }
  return opened;
}

// True if this life of the reader is told of the link. A link that another life has refused is
// announced all the same: that life may have lied, and the owner's receipts are for all lives.
bool is_shown_to(const LinkEntry& link, const Life& life) {
  return !link.faded && link.refused_by != life.incarnation;
}

// The links that this life is told of when it begins or resumes.
std::vector<LinkEntry*> links_shown_to(Hive& hive, Pid reader, const Life& life) {
  std::vector<LinkEntry*> links = hive.registry.links_to(reader);
  std::erase_if(links, [&](const LinkEntry* link) { return !is_shown_to(*link, life); });
  return links;
}

// Lets the owner send in a link that was opened for receipts only: the owner is a task that the
// reader has adopted.
Result<void> let_send(Hive& hive, LinkEntry& link) {
  link.may_send = true;
  auto kept = hive.keep_link(link);
  link.may_send = kept.has_value();
  return kept;
}

}  // namespace

Result<void> open_link(Hive& hive, const Caller& caller, std::uint64_t seq,
                       const OpenRequest& request, std::vector<os::UniqueFd> fds) {
  const shm::LinkKey key{caller.incarnation, request.serial};
  LinkEntry* link = hive.registry.link(key);
  const auto may_send = permission(hive, caller.pid, request);
  if (!may_send) return tl::unexpected(may_send.error());
  if (auto good = check_request(hive, caller, request, fds); !good) return good;

  const bool known = link != nullptr;
  if (known && link->reader != request.to) {
    return fail(ErrorCode::kInvalid,
                fmt::format("serial {} is the link to PID {}", request.serial, link->reader));
  }
  Agent& reader = *hive.registry.agent(request.to);
  if (!known) {
    if (auto room = check_room(hive, caller.pid, request.to); !room) return room;
  }
  std::vector<SharedFd> peer_fds;
  auto opened = describe_peer(hive, caller, reader, peer_fds);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  if (!known) {
    LinkEntry fresh{.key = key,
                    .owner = caller.pid,
                    .reader = request.to,
                    .uid = hive.registry.agent(caller.pid)->uid,
                    .contract = request.contract,
                    .fd = share(std::move(fds[0])),
                    .may_send = *may_send,
                    .opened_ns = os::coarse_ns()};
    if (auto kept = hive.keep_link(fresh); !kept) return kept;
    link = &hive.registry.add_link(std::move(fresh));
    if (request.to == kKingPid) call_steward(hive);
  }
  const bool freed = *may_send && !link->may_send;
  if (freed) {
    if (auto kept = let_send(hive, *link); !kept) return kept;
  }
  // A link that is repeated after a resume was announced when its reader resumed.
  if (!known || freed || !request.again) {
    for (const Life* life : {reader.current.get(), reader.successor.get()}) {
      const bool shown = life != nullptr && is_shown_to(*link, *life);
      if (shown) announce_link(hive, *link, reader, *life);
    }
  }
  opened->may_send = link->may_send && !link->ended;
  opened->ended = link->ended;
  hive.answer(caller, seq, *opened, std::move(peer_fds));
  return {};
}

void tell_link(Hive& hive, const Caller& caller, const TellRequest& request) {
  const shm::LinkKey key{request.incarnation, request.serial};
  const Agent* reader = hive.registry.agent(caller.pid);
  const Life* life = reader == nullptr ? nullptr : reader->life(caller.incarnation);
  if (life == nullptr) return;
  const LinkEntry* link = hive.registry.link(key);
  if (link != nullptr && link->reader == caller.pid && is_shown_to(*link, *life)) {
    announce_link(hive, *link, *reader, *life);
  } else {
    hive.announce(*life, FadedAnnouncement{key.incarnation, key.serial});
  }
}

LinksAnswer list_in_links(Hive& hive, const LinksRequest& request) {
  LinksAnswer answer;
  for (const LinkEntry* link : hive.registry.links_to(request.to)) {
    const shm::LinkKey& key = link->key;
    if (link->faded || is_refused(hive, *link) || key.incarnation < request.from) continue;
    // The row of a link that its reader may forget can be closed; then nothing in it waits.
    if (link->released && !request.released) continue;
    if (answer.links.size() >= kMaxListedLinks &&
        answer.links.back().incarnation != key.incarnation) {
      answer.next = static_cast<std::int64_t>(key.incarnation.value());
      break;
    }
    answer.links.push_back(key);
  }
  return answer;
}

std::uint32_t count_in_links(Hive& hive, const Agent& agent, const Life& life) {
  return static_cast<std::uint32_t>(links_shown_to(hive, agent.pid, life).size());
}

void announce_in_links(Hive& hive, Agent& agent, const Life& life) {
  for (const LinkEntry* link : links_shown_to(hive, agent.pid, life)) {
    announce_link(hive, *link, agent, life);
  }
  // Their owners have left. A reader that missed that in the old directory does not find it in this
  // one.
  for (const LinkEntry* link : hive.registry.links_to(agent.pid)) {
    if (link->faded) {
      hive.announce(life, FadedAnnouncement{link->key.incarnation, link->key.serial});
    }
  }
}

}  // namespace beeline::control
