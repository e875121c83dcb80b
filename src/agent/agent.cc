#include <beeline/agent.h>

#include <type_traits>

#include "src/agent/core.h"
#include "src/agent/send_facts.h"
#include "src/os/clock.h"

namespace beeline {

namespace {

// The end of a wait of kRequestPatience, by the cheaper clock, which may be a tick behind.
Deadline patience() {
  return Deadline(std::chrono::nanoseconds(os::coarse_ns()) + kRequestPatience);
}

// Calls with the peer that is meant. If none is found, the error is the result. The call itself
// refuses an invalid Peer.
template <typename Call>
auto with_peer(AgentCore& core, const To& to, Call&& call) -> decltype(call(Peer())) {
  if (to.is_peer()) return call(to.peer());
  const auto found = core.names().peer(to);
  if (found) return call(*found);
  if constexpr (std::is_same_v<decltype(call(Peer())), SendResult>) {
    return SendFacts::of_error(found.error());
  } else {
    return tl::unexpected(found.error());
  }
}

}  // namespace

std::string_view to_string(SendStatus status) {
  switch (status) {
    case SendStatus::kOk:
      return "ok";
    case SendStatus::kFull:
      return "full";
    case SendStatus::kNoRoute:
      return "no_route";
    case SendStatus::kNoAgent:
      return "no_agent";
    case SendStatus::kPeerDead:
      return "peer_dead";
    case SendStatus::kTooBig:
      return "too_big";
    case SendStatus::kDenied:
      return "denied";
    case SendStatus::kLoop:
      return "loop";
    case SendStatus::kNoMemory:
      return "no_memory";
    case SendStatus::kRateLimited:
      return "rate_limited";
  }
  return "unknown";
}

std::string_view to_string(AckStatus status) {
  switch (status) {
    case AckStatus::kAccepted:
      return "accepted";
    case AckStatus::kQueued:
      return "queued";
    case AckStatus::kRejected:
      return "rejected";
    case AckStatus::kEscalate:
      return "escalate";
  }
  return "unknown";
}

std::string_view to_string(Relation relation) {
  switch (relation) {
    case Relation::kSystem:
      return "system";
    case Relation::kParent:
      return "parent";
    case Relation::kChild:
      return "child";
    case Relation::kSibling:
      return "sibling";
    case Relation::kOther:
      return "other";
  }
  return "unknown";
}

Agent::Agent(std::unique_ptr<AgentCore> core) : core_(std::move(core)) {}
Agent::Agent(Agent&&) noexcept = default;
Agent& Agent::operator=(Agent&&) noexcept = default;
Agent::~Agent() = default;

Result<Agent> Agent::attach(const AttachOptions& options) {
  auto core = AgentCore::attach(options);
  if (!core) return tl::unexpected(core.error());
  return Agent(std::move(*core));
}

Pid Agent::pid() const { return core_->pid(); }
Pid Agent::parent() const { return core_->parent(); }
const std::string& Agent::name() const { return core_->name(); }
std::uint64_t Agent::incarnation() const { return core_->incarnation().value(); }

Result<Peer> Agent::peer(const To& to) { return core_->names().peer(to); }
Result<Peer> Agent::wait_for(std::string_view name, Deadline deadline, const WaitOptions& options) {
  return core_->wait_for(name, deadline, options);
}

SendResult Agent::send(Peer to, Payload payload, const SendOptions& options) {
  return core_->sender().send(to, payload.bytes(), options, Deadline::min());
}
SendResult Agent::send(const To& to, Payload payload, const SendOptions& options) {
  return send_until(to, payload, Deadline::min(), options);
}
SendResult Agent::send_until(const To& to, Payload payload, Deadline deadline,
                             const SendOptions& options) {
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->sender().send(peer, payload.bytes(), options, deadline);
  });
}

std::vector<Delivery> Agent::broadcast(const Group& group, Payload payload,
                                       const SendOptions& options) {
  return core_->broadcast(group, payload.bytes(), options);
}

Result<Loan> Agent::loan(const To& to, std::size_t bytes) {
  return loan_until(to, bytes, Deadline::min());
}
Result<Loan> Agent::loan_until(const To& to, std::size_t bytes, Deadline deadline) {
  return with_peer(*core_, to,
                   [&](Peer peer) { return core_->sender().loan(peer, bytes, deadline); });
}
SendResult Agent::send(Loan& loan, const SendOptions& options) {
  return send_until(loan, Deadline::min(), options);
}
SendResult Agent::send_until(Loan& loan, Deadline deadline, const SendOptions& options) {
  if (!loan.valid()) return SendResult(SendStatus::kNoRoute);
  return core_->sender().send_loan(loan, options, deadline);
}

std::size_t Agent::try_receive_batch(std::span<Message> into, const Filter& filter) {
  for (Message& message : into) message = Message();
  if (into.empty()) return 0;
  auto first = core_->intake().try_receive(filter);
  if (!first) return 0;
  into[0] = std::move(*first);
  return core_->intake().fill_batch(into, filter);
}
Result<std::size_t> Agent::receive_batch(std::span<Message> into, const ReceiveOptions& options) {
  if (into.empty()) {
    return fail(ErrorCode::kInvalid,
                "receive_batch: there is room for 0 messages, at least 1 is needed: give it more");
  }
  for (Message& message : into) message = Message();
  auto first = core_->intake().receive(options);
  if (!first) return tl::unexpected(first.error());
  into[0] = std::move(*first);
  return core_->intake().fill_batch(into, options.filter);
}

std::optional<Message> Agent::try_receive(const Filter& filter) {
  return core_->intake().try_receive(filter);
}
Result<Message> Agent::receive(const ReceiveOptions& options) {
  return core_->intake().receive(options);
}

SendResult Agent::reply(Message& to, Payload payload, const SendOptions& options) {
  return reply_until(to, payload, Deadline::min(), options);
}
SendResult Agent::reply_until(Message& to, Payload payload, Deadline deadline,
                              const SendOptions& options) {
  return core_->sender().reply(to, payload.bytes(), options, deadline);
}

Result<Message> Agent::request(const To& to, Payload payload, Deadline deadline,
                               const SendOptions& options) {
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->questions().request(peer, payload.bytes(), deadline, options);
  });
}
Result<Message> Agent::request(const To& to, Payload payload, const SendOptions& options) {
  return request(to, payload, patience(), options);
}
std::vector<Result<Message>> Agent::request_all(const std::vector<Request>& requests,
                                                Deadline deadline) {
  return core_->questions().request_all(requests, deadline);
}
Result<MessageId> Agent::request_then(const To& to, Payload payload, Deadline deadline,
                                      AnswerHandler then, const SendOptions& options) {
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->open_questions().ask(peer, payload.bytes(), deadline, std::move(then), options);
  });
}
Result<MessageId> Agent::send_acked_then(const To& to, Payload payload, Deadline deadline,
                                         AckHandler then, const SendOptions& options) {
  SendOptions asking = options;
  asking.requires_ack = true;
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->open_questions().ask(peer, payload.bytes(), deadline, std::move(then), asking);
  });
}
Result<Deadline> Agent::run_answers() { return core_->open_questions().run_answers(); }
SendResult Agent::fire_and_forget(const To& to, Payload payload, const SendOptions& options) {
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->questions().fire_and_forget(peer, payload.bytes(), options);
  });
}
std::vector<Message> Agent::drain_pending_results() {
  return core_->questions().drain_pending_results();
}

SendResult Agent::cancel(const To& to, MessageId id) {
  return with_peer(*core_, to, [&](Peer peer) { return core_->sender().cancel(peer, id); });
}
SendResult Agent::send_control(const To& to, std::string_view type, Payload payload,
                               const SendOptions& options) {
  SendOptions control = options;
  control.type = type;
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->sender().send_control(peer, payload.bytes(), control);
  });
}
SendResult Agent::escalate(Payload issue, const SendOptions& options) {
  return core_->escalations().escalate(issue.bytes(), options);
}
// An agent that is finally dead is found no more, but an acknowledgement that it has sent counts.
Result<Acknowledgement> Agent::await_ack(const To& to, MessageId id, Deadline deadline) {
  const auto found = to.is_peer() ? to.peer() : peer(to);
  if (found) return core_->questions().await_ack(*found, id, deadline);
  if (!to.is_name()) {
    if (auto ack = core_->questions().await_ack(to.peer(), id, deadline)) return ack;
  }
  return tl::unexpected(found.error());
}
Result<Acknowledgement> Agent::send_acked(const To& to, Payload payload, Deadline deadline,
                                          const SendOptions& options) {
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->questions().send_acked(peer, payload.bytes(), deadline, options);
  });
}
Result<std::size_t> Agent::serve(const MessageHandler& handler, const ServeOptions& options) {
  return core_->serving().serve(handler, options);
}
void Agent::stop_serving() { core_->serving().stop(); }
Result<Message> Agent::held(MessageId id) { return core_->leases().held(id); }

bool Agent::urgent() { return core_->intake().urgent(); }
int Agent::fd() { return core_->event_fd(); }
EventLoop Agent::loop() { return EventLoop(core_.get()); }
Tasks Agent::tasks() { return Tasks(core_.get()); }
Processes Agent::processes() { return Processes(core_.get()); }
std::vector<InboxItem> Agent::inbox(std::size_t limit, const Filter& filter) {
  return core_->inbox_view().items(limit, filter);
}
InboxCounters Agent::counters() const { return core_->counters(); }
std::vector<LinkCounters> Agent::links() const { return core_->links().counters(); }
Result<void> Agent::requeue_dead(MessageId id) { return core_->letters().requeue_dead(id); }
bool Agent::purge_dead(MessageId id) { return core_->letters().purge_dead(id); }
std::size_t Agent::purge_all_dead() { return core_->letters().purge_all_dead(); }
std::optional<Notice> Agent::next_notice() { return core_->next_notice(); }

Result<std::vector<AgentInfo>> Agent::siblings() { return core_->agent_list().siblings(); }
Result<std::vector<AgentInfo>> Agent::children(bool recursive) {
  return core_->agent_list().children(recursive);
}
Result<AgentInfo> Agent::info(Pid pid) { return core_->agent_list().info(pid); }
Result<AgentInfo> Agent::find(std::string_view name) { return core_->agent_list().find(name); }
void Agent::set_sleeping(bool sleeping) { core_->set_sleeping(sleeping); }

SharedSender Agent::shared_sender() {
  core_->share();
  return SharedSender(core_.get());
}

std::uint64_t Agent::detach(Deadline drain_until) { return core_->detach(drain_until); }

Readiness EventLoop::poll() { return core_->user_loop().poll(); }
Result<MessageId> EventLoop::request(const To& to, Payload payload, Deadline deadline,
                                     const SendOptions& options) {
  return with_peer(*core_, to, [&](Peer peer) {
    return core_->open_questions().ask(peer, payload.bytes(), deadline, Fetched{}, options);
  });
}
std::optional<Answered> EventLoop::next_answer() { return core_->open_questions().next_answer(); }
bool EventLoop::forget(MessageId request) { return core_->open_questions().forget(request); }
Result<CallId> EventLoop::find_peer(const To& to, Deadline deadline) {
  return core_->errands().find_peer(to, deadline);
}
std::optional<FoundPeer> EventLoop::next_peer() { return core_->errands().next_peer(); }
Result<CallId> EventLoop::list_agents() { return core_->errands().list_agents(); }
std::optional<Listed> EventLoop::next_list() { return core_->errands().next_list(); }
bool EventLoop::forget_call(CallId call) { return core_->errands().forget(call); }
void EventLoop::start_detach(Deadline drain_until) { core_->leaving().start(drain_until); }
std::optional<std::uint64_t> EventLoop::left_behind() const { return core_->leaving().result(); }
Result<void> EventLoop::want_space(Peer peer, bool wanted) {
  return core_->user_loop().want_space(peer, wanted);
}
std::optional<Peer> EventLoop::next_space() { return core_->user_loop().next_space(); }

Result<TaskResult> Tasks::execute(const To& child, const Task& task, Deadline deadline,
                                  const ProgressHandler& progress) {
  return with_peer(*core_, child, [&](Peer peer) {
    return core_->executions().execute(peer, task, deadline, progress);
  });
}
Result<MessageId> Tasks::execute_then(const To& child, const Task& task, ResultHandler then,
                                      ProgressHandler progress, Deadline deadline) {
  return with_peer(*core_, child, [&](Peer peer) {
    return core_->executions().start(peer, task, std::move(then), std::move(progress), deadline);
  });
}
std::vector<Result<TaskResult>> Tasks::execute_all(std::span<const Execution> tasks,
                                                   Deadline deadline) {
  return core_->executions().execute_all(tasks, deadline);
}
bool Tasks::cancel(MessageId task) { return core_->executions().cancel(task); }
void Tasks::handle(TaskHandler handler) { core_->task_desk().handle(std::move(handler)); }
void Tasks::accept(bool wanted) { core_->task_desk().accept(wanted); }
std::optional<TaskRun> Tasks::next() { return core_->task_desk().next(); }
std::size_t Tasks::waiting() const { return core_->task_desk().waiting(); }

SendResult SharedSender::send(Peer to, Payload payload, const SendOptions& options,
                              Deadline deadline) {
  return core_->sender().send_shared(to, payload.bytes(), options, deadline);
}

}  // namespace beeline
