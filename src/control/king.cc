#include "src/control/king.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/control/identity.h"
#include "src/control/keeper_table.h"
#include "src/control/name_search.h"
#include "src/control/names.h"
#include "src/control/new_agent.h"
#include "src/control/quotes.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/uninterrupted.h"

namespace beeline::control {
namespace {

constexpr std::int64_t kPatienceWithStewardNs = 15'000'000'000;

std::string who_is(const Hive& hive, Pid pid) {
  const AgentNode* node = hive.tree.find(pid);
  return fmt::format("{} (PID {})", in_quotes(node->name), pid);
}

Result<Agent*> find_reservable(Hive& hive, Pid pid) {
  Agent* agent = pid == kKingPid ? nullptr : hive.registry.agent(pid);
  if (agent == nullptr) {
    return fail(ErrorCode::kNoAgent, fmt::format("no agent has PID {}", pid));
  }
  if (hive.tree.find(pid)->state == shm::AgentState::kDead) {
    return fail(ErrorCode::kPeerDead, fmt::format("agent {} is dead", who_is(hive, pid)));
  }
  if (const Life* life = agent->living(); life != nullptr) {
    return fail(ErrorCode::kAlreadyRunning,
                fmt::format("agent {} is run by process {}", who_is(hive, pid), life->os_pid));
  }
  return agent;
}

Result<void> check_new(const Hive& hive, const ReserveRequest& request) {
  if (request.role == Role::kKernel) {
    return fail(ErrorCode::kDenied, "the role kernel belongs to the coordinator");
  }
  if (auto name = check_agent_name(request.name); !name) return name;
  const AgentNode* parent = hive.tree.find(request.parent);
  if (parent == nullptr) {
    return fail(ErrorCode::kNoAgent, fmt::format("parent PID {} not found", request.parent));
  }
  if (parent->state == shm::AgentState::kDead) {
    return fail(ErrorCode::kPeerDead, fmt::format("parent PID {} is dead", request.parent));
  }
  const AgentNode* holder = hive.tree.find_name(request.name);
  // A name that the coordinator has made up keeps nobody from having it.
  if (holder != nullptr && holder->state != shm::AgentState::kDead &&
      holder->name != made_up_name(holder->role, holder->pid)) {
    return fail(ErrorCode::kAlreadyRunning,
                fmt::format("the name belongs to agent {}", who_is(hive, holder->pid)));
  }
  return {};
}

// The agent of the same reservation if it was made before, and its answer was lost with a
// coordinator; null if there is none.
Agent* find_reserved(Hive& hive, const ReserveRequest& request) {
  const AgentNode* node = hive.tree.find_name(request.name);
  Agent* agent = node == nullptr ? nullptr : hive.registry.agent(node->pid);
  const bool is_same = agent != nullptr && !agent->ticket.empty() && !agent->current &&
                       !agent->successor && agent->uid == request.uid &&
                       node->parent == request.parent && node->role == request.role;
  return is_same ? agent : nullptr;
}

// Makes an agent that is known to the keeper: it counts as one whose first life has ended.
Result<Agent*> make_reserved(Hive& hive, const ReserveRequest& request) {
  if (auto good = check_new(hive, request); !good) return tl::unexpected(std::move(good.error()));
  AttachRequest as;
  as.name = request.name;
  as.role = request.role;
  auto made = make_agent(hive, request.uid, as, request.parent);
  if (!made) return made;
  (*made)->placeholder = hive.next_incarnation();
  return made;
}

// Hands the agent's record to the keeper before anybody knows the ticket.
Result<void> keep_reservation(Hive& hive, const Agent& agent) {
  if (agent.current) return hive.keep_ready(agent, *agent.current);
  Life ended;
  ended.incarnation = agent.placeholder;
  ended.ended = true;
  return hive.keep_ready(agent, ended);
}

// The agent of this process if the last coordinator noted its attach, took the ticket and ended
// before it answered. Null if there is none.
Agent* find_cut_short(Hive& hive, int pidfd) {
  for (auto& [pid, agent] : hive.registry.agents()) {
    const Life* life = agent.living();
    const bool is_its = life != nullptr && life->session == 0 && life->pidfd != nullptr &&
                        same_process(pidfd, life->pidfd->get());
    if (is_its) return &agent;
  }
  return nullptr;
}

}  // namespace

Result<std::string> make_secret() {
  std::array<unsigned char, 16> bytes{};
  const auto count = os::uninterrupted([&] { return ::getrandom(bytes.data(), bytes.size(), 0); });
  if (count != static_cast<ssize_t>(bytes.size())) {
    return os::system_failure("cannot get random bytes");
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

void add_king(Hive& hive) {
  const auto index = hive.directory.take_index();
  if (!index) return;
  hive.tree.add({kKingPid, kNoPid, std::string(kKingName), Role::kKernel, shm::AgentState::kRunning,
                 ::geteuid()});
  hive.tree.let_king_listen(!hive.facts.king_secret.empty());
  Agent king;
  king.pid = kKingPid;
  king.index = *index;
  king.uid = ::geteuid();
  king.attached_ns = static_cast<std::uint64_t>(os::realtime_ns());
  king.restarts = hive.facts.restarts;
  // restore() shows its word: that of a steward which lives is older than this coordinator.
  hive.refresh_record(hive.registry.add_agent(std::move(king)));
}

bool is_alone(const Hive& hive, const Agent& agent) {
  return agent.pid == kKingPid && !agent.current && !agent.successor &&
         hive.registry.count_to(kKingPid) == 0;
}

Result<void> check_secret(const Hive& hive, const std::string& secret) {
  if (!secret.empty() && secret == hive.facts.king_secret) return {};
  return fail(ErrorCode::kDenied, "only the steward that the keeper has started may do this");
}

void call_steward(Hive& hive) {
  Agent& king = *hive.registry.agent(kKingPid);
  if (!king.current && !king.successor) hive.refresh_word(king);
  hive.keeper.say(kStewardVerb);
}

Result<void> reserve(Hive& hive, const Caller& caller, std::uint64_t seq,
                     const ReserveRequest& request) {
  if (auto good = check_secret(hive, request.secret); !good) return good;
  auto ticket = make_secret();
  if (!ticket) return tl::unexpected(std::move(ticket.error()));
  Agent* const known = request.pid == kNoPid ? find_reserved(hive, request) : nullptr;
  const bool fresh = request.pid == kNoPid && known == nullptr;
  const Pid pid = known != nullptr ? known->pid : request.pid;
  const auto found = fresh ? make_reserved(hive, request) : find_reservable(hive, pid);
  if (!found) return tl::unexpected(found.error());
  Agent& agent = **found;
  const std::string before = std::exchange(agent.ticket, std::move(*ticket));
  if (auto kept = keep_reservation(hive, agent); !kept) {
    agent.ticket = before;
    if (fresh) forget_new_agent(hive, agent);
    return kept;
  }
  if (fresh) {
    hive.refresh(agent);
    hive.publish_records();
  }
  hive.answer(caller, seq,
              ReservedAnswer{agent.pid, hive.tree.find(agent.pid)->name, agent.ticket});
  return {};
}

Result<Agent*> agent_of_ticket(Hive& hive, const Caller& caller, const AttachRequest& request,
                               int pidfd) {
  const AgentNode* named = request.name.empty() ? nullptr : hive.tree.find_name(request.name);
  auto& agents = hive.registry.agents();
  const auto found = std::find_if(agents.begin(), agents.end(), [&](const auto& entry) {
    return !request.ticket.empty() && entry.second.ticket == request.ticket;
  });
  const bool is_its = found != agents.end() &&
                      (request.name.empty() || (named != nullptr && named->pid == found->first));
  if (is_its) {
    Agent& agent = found->second;
    if (caller.uid == agent.uid || caller.uid == 0) return &agent;
    return fail(ErrorCode::kDenied, fmt::format("agent {} is reserved for uid {}, not for {}",
                                                who_is(hive, agent.pid), agent.uid, caller.uid));
  }
  const Agent* taken = named == nullptr ? nullptr : hive.registry.agent(named->pid);
  if (taken != nullptr && !taken->ticket.empty()) {
    return fail(ErrorCode::kDenied,
                fmt::format("agent {} is reserved for a process that the steward has started",
                            who_is(hive, taken->pid)));
  }
  if (request.name.empty() && !request.ticket.empty()) {
    if (Agent* agent = find_cut_short(hive, pidfd)) return agent;
    return fail(
        ErrorCode::kDenied,
        "the ticket in BEELINE_TICKET was used before, or its agent has ended: unset it, or "
        "give a name");
  }
  return nullptr;
}

Result<void> watch_lives(Hive& hive, const Caller& caller, std::uint64_t seq,
                         const WatchRequest& request) {
  if (auto good = check_secret(hive, request.secret); !good) return good;
  hive.watcher = caller.session;
  hive.answer(caller, seq, OkAnswer{});
  // The end was asked for while nobody watched.
  if (hive.down.wait_until_ns != 0) tell_watcher(hive, kHiveEnds, kNoPid);
  return {};
}

void tell_watcher(Hive& hive, std::string_view what, Pid pid, std::string text) {
  if (hive.watcher == 0 || pid == kKingPid) return;
  LifeAnnouncement life;
  life.what = what;
  life.pid = pid;
  life.text = std::move(text);
  if (const AgentNode* node = hive.tree.find(pid); node != nullptr) {
    life.parent = node->parent;
    life.name = node->name;
    life.dead = node->state == shm::AgentState::kDead;
  }
  hive.outbox.send(hive.watcher, build(AnnouncedValue(std::move(life))), {});
}

void forget_watcher(Hive& hive, std::uint64_t session) {
  if (hive.watcher == session) hive.watcher = 0;
}

void end_hive(Hive& hive, std::string reason) {
  if (hive.down.has_begun || hive.down.wait_until_ns != 0) return;
  hive.down.reason = std::move(reason);
  hive.down.has_begun = hive.watcher == 0;
  if (hive.down.has_begun) return;
  hive.down.wait_until_ns = os::monotonic_ns() + kPatienceWithStewardNs;
  tell_watcher(hive, kHiveEnds, kNoPid);
}

std::int64_t end_waiting(Hive& hive, std::int64_t now_ns) {
  if (hive.down.wait_until_ns == 0 || hive.down.has_begun) return 0;
  hive.down.has_begun = now_ns >= hive.down.wait_until_ns || hive.watcher == 0;
  if (hive.down.has_begun && hive.watcher != 0) {
    hive.log.warn("steward_hangs", "text=\"it has not ended its processes in time\"");
  }
  return hive.down.wait_until_ns;
}

}  // namespace beeline::control
