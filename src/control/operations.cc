#include "src/control/operations.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <beeline/version.h>

#include "src/control/agent_info.h"
#include "src/control/forget.h"
#include "src/control/history.h"
#include "src/control/identity.h"
#include "src/control/king.h"
#include "src/control/letters.h"
#include "src/control/links.h"
#include "src/control/lives.h"
#include "src/control/name_search.h"
#include "src/control/names.h"
#include "src/control/routing.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxLoggedText = 2000;

// One request under way.
struct Call {
  Hive& hive;
  Caller& caller;
  std::uint64_t seq;
  std::vector<os::UniqueFd> fds;
};

Result<void> do_attach(Call& call, const AttachRequest& request) {
  return attach(call.hive, call.caller, call.seq, request, std::move(call.fds));
}
Result<void> do_provide(Call& call, const ProvideRequest& request) {
  return provide(call.hive, call.caller, call.seq, request, std::move(call.fds));
}
Result<void> do_ready(Call& call, const ReadyRequest&) {
  return ready(call.hive, call.caller, call.seq);
}
Result<void> do_open(Call& call, const OpenRequest& request) {
  return open_link(call.hive, call.caller, call.seq, request, std::move(call.fds));
}
Result<void> do_fade(Call& call, const FadeRequest& request) {
  fade_link(call.hive, call.caller, request);
  return {};
}
Result<void> do_tell(Call& call, const TellRequest& request) {
  tell_link(call.hive, call.caller, request);
  return {};
}
Result<void> do_await(Call& call, const AwaitRequest& request) {
  return await_name(call.hive, call.caller, request);
}
Result<void> do_detach(Call& call, const DetachRequest& request) {
  return detach(call.hive, call.caller, call.seq, request);
}
Result<void> do_resume(Call& call, const ResumeRequest& request) {
  auto resumed = resume(call.hive, call.caller, call.seq, request, std::move(call.fds));
  if (!resumed && call.hive.may_log(call.caller, "resume_refused")) {
    call.hive.log.warn("resume_refused", "agent={} incarnation={} process={} code={} text={}",
                       request.pid, request.incarnation.value(), call.caller.os_pid,
                       to_string(resumed.error().code), in_quotes(resumed.error().text));
  }
  return resumed;
}

Result<void> do_report(Call& call, const ReportRequest& request) {
  end_link(call.hive, call.caller, request);
  return {};
}

Result<void> do_escalate(Call& call, const EscalateRequest& request) {
  if (!call.hive.may_log(call.caller, "escalation", LogGate::kEscalations)) {
    return fail(ErrorCode::kFull,
                fmt::format("PID {} has escalated to the coordinator too often; try later",
                            call.caller.pid));
  }
  const std::uint64_t dropped = call.hive.log.dropped();
  call.hive.log.warn("escalation", "agent={} text={}", call.caller.pid,
                     in_quotes(request.text.substr(0, kMaxLoggedText)));
  if (call.hive.log.dropped() != dropped) {
    call.hive.gate.give_back({call.caller.pid, call.caller.uid}, "escalation");
    return fail(ErrorCode::kNoMemory,
                "the log of the coordinator takes nothing more: its disk may be full");
  }
  tell_watcher(call.hive, kLifeEscalated, call.caller.pid, request.text.substr(0, kMaxLoggedText));
  call.hive.answer(call.caller, call.seq, OkAnswer{});
  return {};
}

ListedAgent listed(const Hive& hive, const AgentNode& node, const Agent* agent) {
  ListedAgent entry;
  entry.pid = node.pid;
  entry.parent = node.parent;
  entry.name = node.name;
  entry.role = node.role;
  entry.state = node.state;
  entry.index = agent->index;
  entry.incarnation = agent->committed();
  entry.uid = agent->uid;
  entry.temporary = agent->temporary;
  const bool has_lived =
      agent->current || agent->successor || agent->placeholder == shm::kNoIncarnation;
  if (has_lived) entry.attached_ns = agent->attached_ns;  // else it is reserved
  entry.restarts = agent->restarts;
  const Life* life = agent->living();
  // The coordinator is there whether or not a steward is.
  if (agent->pid == kKingPid) {
    entry.os_pid = ::getpid();
    entry.state = shm::AgentState::kRunning;
    if (is_alone(hive, *agent)) entry.incarnation = shm::Incarnation(hive.directory.epoch());
    return entry;
  }
  if (life == nullptr) {
    if (agent->current) entry.away_ns = static_cast<std::uint64_t>(agent->current->ended_ns);
    return entry;
  }
  entry.os_pid = life->os_pid;
  if (life->ready && life->has_process()) {
    entry.activity = shm::activity_from(life->page().activity.observe());
  }
  return entry;
}

Result<void> do_list(Call& call, const ListRequest& request) {
  ListAnswer answer;
  Hive& hive = call.hive;
  const auto& nodes = hive.tree.nodes();
  for (auto it = nodes.lower_bound(request.from); it != nodes.end(); ++it) {
    if (answer.agents.size() == kMaxListedAgents) {
      answer.next = it->first;
      break;
    }
    answer.agents.push_back(listed(hive, it->second, hive.registry.agent(it->first)));
  }
  hive.answer(call.caller, call.seq, answer);
  return {};
}

Result<void> do_links(Call& call, const LinksRequest& request) {
  call.hive.answer(call.caller, call.seq, list_in_links(call.hive, request));
  return {};
}

Result<void> do_status(Call& call, const StatusRequest&) {
  const Hive& hive = call.hive;
  StatusAnswer answer;
  answer.hive = hive.facts.paths.hive;
  answer.version = kVersion;
  answer.keeper_pid = hive.facts.keeper_pid;
  answer.coordinator_pid = ::getpid();
  answer.since = hive.facts.since;
  answer.restarts = hive.facts.restarts;
  answer.epoch = hive.directory.epoch();
  for (const auto& [pid, node] : hive.tree.nodes()) {
    answer.agents += node.state == shm::AgentState::kDead ? 0 : 1;
    const bool is_king = pid == kKingPid;
    answer.running += is_king || node.state == shm::AgentState::kRunning ? 1 : 0;
    answer.away += !is_king && node.state == shm::AgentState::kAway ? 1 : 0;
  }
  answer.links = hive.registry.link_count();
  answer.clients = hive.outbox.client_count();
  answer.dropped_clients = hive.outbox.dropped_clients();
  answer.quarantined_links = hive.quarantined_links;
  answer.dead_letters = hive.dead_letters.total();
  answer.dead_letters_kept = hive.dead_letters.kept().size();
  answer.pids_used = hive.state.used();
  answer.pids_left = hive.state.left();
  call.hive.answer(call.caller, call.seq, answer);
  return {};
}

// The pid of the agent that a text means. A number stands for itself, even if no agent has it;
// kNoPid for any other text.
Pid resolve(const Tree& tree, const Caller& caller, const std::string& text) {
  const AgentNode* node = tree.resolve(text, caller.uid);
  return node != nullptr ? node->pid : pid_from(text);
}

Result<void> do_route(Call& call, const RouteRequest& request) {
  if (auto target = check_target(request.to); !target) return target;
  const Tree& tree = call.hive.tree;
  RouteAnswer answer;
  answer.from = resolve(tree, call.caller, request.from);
  answer.to = resolve(tree, call.caller, request.to);
  const bool unknown_from = answer.from == kNoPid && request.from != "0";
  const bool unknown_to = answer.to == kNoPid && request.to != "0" && !request.to.empty();
  if (unknown_from || unknown_to) {
    const std::string& name = unknown_from ? request.from : request.to;
    const HivePaths& paths = call.hive.facts.paths;
    return tl::unexpected(nobody_named(name, paths.hive, paths.directory));
  }
  Verdict verdict = route(tree, answer.from, answer.to);
  answer.allowed = verdict.allowed;
  answer.rule = to_string(verdict.rule);
  answer.text = std::move(verdict.text);
  answer.via = verdict.via;
  call.hive.answer(call.caller, call.seq, answer);
  return {};
}

Result<void> do_down(Call& call, const DownRequest& request) {
  if (!is_trusted(call.caller)) {
    return fail(ErrorCode::kDenied,
                fmt::format("uid {} may not end a hive of uid {}", call.caller.uid, ::geteuid()));
  }
  if (request.secret.empty()) {
    end_hive(call.hive, fmt::format("asked by process {}", call.caller.os_pid));
  } else if (auto good = check_secret(call.hive, request.secret); !good) {
    return good;
  } else if (call.hive.down.wait_until_ns != 0) {
    call.hive.down.has_begun = true;
  }
  call.hive.answer(call.caller, call.seq, OkAnswer{});
  return {};
}

Result<void> do_forget(Call& call, const ForgetRequest& request) {
  return forget_agent(call.hive, call.caller, call.seq, request);
}

Result<void> do_letters(Call& call, const LettersRequest& request) {
  return ask_letters(call.hive, call.caller, call.seq, request);
}
Result<void> do_letters_done(Call& call, const LettersDoneRequest& request) {
  finish_letters(call.hive, call.caller, request);
  return {};
}
Result<void> do_kept_letters(Call& call, const KeptLettersRequest& request) {
  return list_kept_letters(call.hive, call.caller, call.seq, request);
}
Result<void> do_kept_letter(Call& call, const KeptLetterRequest& request) {
  return show_kept_letter(call.hive, call.caller, call.seq, request);
}

Result<void> do_history(Call& call, const HistoryRequest& request) {
  return ask_history(call.hive, call.caller, call.seq, request);
}
Result<void> do_record(Call& call, const RecordRequest&) {
  return keep_history(call.hive, call.caller, call.seq, std::move(call.fds));
}

Result<void> do_reserve(Call& call, const ReserveRequest& request) {
  return reserve(call.hive, call.caller, call.seq, request);
}
Result<void> do_watch(Call& call, const WatchRequest& request) {
  return watch_lives(call.hive, call.caller, call.seq, request);
}

// ---- The table ----------------------------------------------------------------------------------

using Handler = Result<void> (*)(Call&, const Request&);

// Adapts a handler of one kind of request to the table.
template <typename T, Result<void> (*kHandler)(Call&, const T&)>
Result<void> row(Call& call, const Request& request) {
  return kHandler(call, std::get<T>(request));
}

struct Operation {
  std::string_view op;
  bool for_agents_only;
  Handler handler;
};

constexpr std::array<Operation, std::variant_size_v<Request>> kOperations{{
    {"attach", false, row<AttachRequest, do_attach>},
    {"provide", true, row<ProvideRequest, do_provide>},
    {"ready", true, row<ReadyRequest, do_ready>},
    {"open", true, row<OpenRequest, do_open>},
    {"fade", true, row<FadeRequest, do_fade>},
    {"tell", true, row<TellRequest, do_tell>},
    {"detach", true, row<DetachRequest, do_detach>},
    {"resume", false, row<ResumeRequest, do_resume>},
    {"report", true, row<ReportRequest, do_report>},
    {"escalate", true, row<EscalateRequest, do_escalate>},
    {"list", false, row<ListRequest, do_list>},
    {"links", false, row<LinksRequest, do_links>},
    {"status", false, row<StatusRequest, do_status>},
    {"route", false, row<RouteRequest, do_route>},
    {"down", false, row<DownRequest, do_down>},
    {"letters", false, row<LettersRequest, do_letters>},
    {"letters_done", true, row<LettersDoneRequest, do_letters_done>},
    {"kept_letters", false, row<KeptLettersRequest, do_kept_letters>},
    {"kept_letter", false, row<KeptLetterRequest, do_kept_letter>},
    {"forget", false, row<ForgetRequest, do_forget>},
    {"await", true, row<AwaitRequest, do_await>},
    {"history", false, row<HistoryRequest, do_history>},
    {"record", true, row<RecordRequest, do_record>},
    {"reserve", false, row<ReserveRequest, do_reserve>},
    {"watch", false, row<WatchRequest, do_watch>},
}};

// After an attach or a resume an agent maps our directory before any other request, so from its
// first request on it sees which agents are dead.
void note_that_it_sees_us(const Call& call) {
  const Agent* agent = call.hive.registry.agent(call.caller.pid);
  Life* life = agent == nullptr ? nullptr : agent->life(call.caller.incarnation);
  if (life != nullptr) life->sees_us = true;
}

Result<void> perform(Call& call, const Request& request, std::string_view op) {
  const auto* found = std::find_if(kOperations.begin(), kOperations.end(),
                                   [&](const Operation& row) { return row.op == op; });
  if (found == kOperations.end()) {
    return fail(ErrorCode::kInvalid, fmt::format("unknown op {}", in_quotes(op)));
  }
  if (found->for_agents_only && call.caller.pid == kNoPid) {
    return fail(ErrorCode::kInvalid, fmt::format("{} comes after attach or resume", op));
  }
  if (found->for_agents_only) note_that_it_sees_us(call);
  return found->handler(call, request);
}

// Nothing was done, and the connection is as good as ever.
Error lost_fds() {
  return {
      ErrorCode::kFull, 0,
      fmt::format("the file descriptors of this request did not all arrive: the coordinator has "
                  "none free, or there were more than {}; ask again, and raise its limit of "
                  "open files (ulimit -Hn)",
                  os::kMaxPacketFds)};
}

}  // namespace

Result<void> handle_packet(Hive& hive, Caller& caller, os::Packet packet) {
  auto incoming = parse_request(packet.text);
  if (!incoming) return tl::unexpected(std::move(incoming.error()));
  if (packet.lost_fds) incoming->request = tl::unexpected(lost_fds());
  Call call{hive, caller, incoming->seq, std::move(packet.fds)};
  const auto done = incoming->request ? perform(call, *incoming->request, incoming->op)
                                      : Result<void>(tl::unexpected(incoming->request.error()));
  if (!done) {
    const ErrorCode code = done.error().code;
    const bool is_fault = code == ErrorCode::kBadSegment || code == ErrorCode::kProtocol;
    if (is_fault && hive.may_log(caller, "request_refused")) {
      hive.log.warn("request_refused", "agent={} process={} uid={} op={} text={}", caller.pid,
                    caller.os_pid, caller.uid, in_quotes(incoming->op.substr(0, 40)),
                    in_quotes(done.error().text));
    }
    // The one place where an error of any module becomes an error on the wire.
    hive.answer(caller, incoming->seq, ErrorAnswer{done.error().code, done.error().text});
  }
  return {};
}

}  // namespace beeline::control
