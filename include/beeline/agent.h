#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/broadcast.h>
#include <beeline/message.h>
#include <beeline/payload.h>
#include <beeline/registry.h>
#include <beeline/request.h>
#include <beeline/result.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

class SharedSender;

/// Called by Agent::serve() with each message; see Ack.
using MessageHandler = std::function<Ack(Message&)>;
/// Called by Agent::serve() with the answer to a request, or the reason why there is none.
using AnswerHandler = std::function<void(Result<Message>)>;
/// The same with what became of a message of Agent::send_acked_then().
using AckHandler = std::function<void(Result<Acknowledgement>)>;

struct ServeOptions {
  Deadline until = Deadline::max();
  std::size_t most = SIZE_MAX;  ///< messages
  Filter filter{};
  bool copies = false;  ///< hand copies of messages between children to the handler too; otherwise
                        ///< they are finished unseen
};

/// An agent of a hive: an inbox, links to peers, a place in the tree.
///
/// One thread uses an Agent; other threads send through `shared_sender()`. Nothing throws. Calls
/// that wait have a deadline; receive() has none unless it is given a timeout. Control calls (those
/// that ask the coordinator: attach, peer of one not spoken to before, detach, the registry, and an
/// escalation with nobody else above) wait for each of its answers at most
/// `AttachOptions::control_timeout`; an escalation also 1 s for room above. Any call may look at
/// the control socket, which takes a few ms, once a second at most, while the coordinator is gone
/// or hangs; and where it must be asked for a link to answer in or for what a handler escalates, up
/// to 2 s, once, if it hangs in that moment.
///
/// Each call that has a receiver takes a Peer, a pid or a name for it (To), and a text or bytes to
/// send (Payload). For a pid or a name the errors of peer() are those of the call too; in a
/// SendResult they are the nearest SendStatus, and SendResult::text() has their words. A call that
/// ends in `_until`, and each that waits for an answer, has a deadline.
///
/// After a fork the child's copies of an Agent, its Messages and Loans are dead: they may be
/// destroyed, sends fail with kNoRoute, and nothing else of them may be used.
class Agent {
 public:
  /// Joins a hive, starting its coordinator on first use. Raises the soft limit of open files of
  /// this process, unless AttachOptions::raise_fd_limit is false. Attaching under the name of an
  /// agent whose process has ended takes over its home: messages that it had not finished come
  /// again, flagged as redelivered if they had been handed out. Errors: kNoCoordinator,
  /// kAlreadyRunning (an agent of that name lives), kNoAgent and kPeerDead (the parent), kDenied
  /// (the role, or the user), kInvalid (an option and its limits), kFull (the hive, or an
  /// inbox_capacity that is too small for what the predecessor left), kNoMemory, kBadSegment (the
  /// predecessor's home), kWrongVersion, kTimeout, kClosed (the coordinator died again and again),
  /// kSystem.
  [[nodiscard]] static Result<Agent> attach(const AttachOptions& options);

  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;
  /// Detaches without waiting for receivers. What is in the inbox waits for the next attach under
  /// the name (unless temporary).
  ~Agent();

  [[nodiscard]] Pid pid() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint64_t incarnation() const;
  /// Pid of the parent; 1 for a child of the coordinator.
  [[nodiscard]] Pid parent() const;

  /// Opens a link, or finds the open one. A control call on first use. A number means the agent
  /// with that pid. A name means the newest agent that has it; if there is none, the newest one of
  /// the same user whose name up to '@' it is: "queen" finds "queen@vps1". Errors: kNoAgent,
  /// kPeerDead, kDenied (names the rule), kInvalid (no UTF-8), kNoRoute (no text, or a named queue,
  /// "queue:NAME": this version has none), kFull (too many links), kNoCoordinator, kNoMemory,
  /// kTimeout, kClosed (this agent has left, or the coordinator went away), kSystem.
  [[nodiscard]] Result<Peer> peer(const To& to);
  /// The same, but waits until an agent of that name is there: the coordinator wakes this agent
  /// when one attaches. What is sent to this agent meanwhile is taken into its inbox, and notices
  /// are kept. An agent whose process has ended is there too, as its inbox takes messages, but not
  /// where the options name a process. Errors: those of peer(), kNoAgent at the deadline; kPeerDead
  /// when the process of the options has ended; kNotice when their descriptor is readable.
  [[nodiscard]] Result<Peer> wait_for(std::string_view name, Deadline deadline,
                                      const WaitOptions& options = {});

  /// Sends now or says why not. Payloads of up to 64 bytes travel in the lane, larger ones are
  /// copied once into a slab. No system call unless the receiver sleeps. `kOk`: accepted, see
  /// SendStatus.
  SendResult send(Peer to, Payload payload, const SendOptions& options = kPlainSend);
  /// The same by name or pid: opens the link first where needed.
  SendResult send(const To& to, Payload payload, const SendOptions& options = kPlainSend);

  /// Waits for space, and for what AttachOptions::send_rate allows, until the deadline; then the
  /// result is kFull or kRateLimited; kNoRoute when the hive goes down meanwhile. While it waits,
  /// messages for this agent are taken into its inbox, so that two agents that fill each other's
  /// lanes do not block for ever.
  SendResult send_until(const To& to, Payload payload, Deadline deadline,
                        const SendOptions& options = kPlainSend);

  /// Sends to each agent of a group, this one and the coordinator excepted, and says what became of
  /// each, rising by pid. All get the same message id. Never waits for space: one that is full
  /// gets nothing, the others do. What threads send through a SharedSender meanwhile goes between
  /// two targets, and may come before it or after it. A payload of more than 64 KiB goes cut to
  /// that, see Message::is_cut(); one of more than max_payload_bytes is kTooBig for all. Links are
  /// opened on first use, a control call each; when the coordinator does not answer one, the
  /// targets without a link get kNoRoute.
  std::vector<Delivery> broadcast(const Group& group, Payload payload,
                                  const SendOptions& options = kPlainSend);

  /// Payload memory of `bytes` bytes in the link to `to`, to be written and then sent without
  /// copying. Errors: kFull, kTooBig (names the limit), kNoMemory, kPeerDead, kInvalid (no peer),
  /// kClosed (this agent has left).
  [[nodiscard]] Result<Loan> loan(const To& to, std::size_t bytes);
  [[nodiscard]] Result<Loan> loan_until(const To& to, std::size_t bytes, Deadline deadline);
  /// Sends a loan. On kFull the loan is still valid and can be sent again.
  SendResult send(Loan& loan, const SendOptions& options = kPlainSend);
  SendResult send_until(Loan& loan, Deadline deadline, const SendOptions& options = kPlainSend);

  /// The next message in delivery order, or nothing: then no lane holds one that the filter
  /// matches, unless the inbox has no room for it. No system call but the ring of a sender that
  /// waits for space, a look at the control socket every 4 ms and where the coordinator has said
  /// something, of a new sender for example, and those of fd() where it is used.
  [[nodiscard]] std::optional<Message> try_receive(const Filter& filter = kAnyMessage);
  /// The same, but waits for a message.
  ///
  /// Both hand out the best of all that was accepted when the call began, as far as the inbox has
  /// room (docs/mailbox.md has the bound), but for what is very new: while the inbox holds
  /// something ordinary messages are fetched from the links once in about a microsecond, in about
  /// four while it has hardly any room, and to the last one of each link a hundred microseconds
  /// after they were sent at the latest (with more than 66 links 1.5 microseconds for each). What
  /// is critical, and what this thread has sent, is fetched at each call. The first message of a
  /// sender of whom this agent has not heard is one like any other.
  ///
  /// Errors: kTimeout, kClosed (the hive went down, or this life of the agent has ended: see
  /// detach()), kNotice (only if asked for).
  [[nodiscard]] Result<Message> receive(const ReceiveOptions& options = kPlainReceive);
  /// Fills `into` from its front with the messages that are next in delivery order, as many as the
  /// inbox holds after one look, and says how many. Fewer than there is room for do not mean that
  /// no more wait: 0 says that there is nothing to hand out now. One look and one reading of the
  /// clock serve for all of them, so of many messages each costs its receiver about two thirds.
  /// Each is a lease of its own, to be ended in any order; all of them count as handed out, so a
  /// kill is an attempt of each. The first of them that has not ended is the one that is being
  /// handled. What comes meanwhile, critical or not, waits for the next call. Messages in `into`
  /// that have not ended are requeued first.
  [[nodiscard]] std::size_t try_receive_batch(std::span<Message> into,
                                              const Filter& filter = kAnyMessage);
  /// The same, but waits until there is one. Errors: those of receive(), and kInvalid (`into` is
  /// empty).
  [[nodiscard]] Result<std::size_t> receive_batch(std::span<Message> into,
                                                  const ReceiveOptions& options = kPlainReceive);

  /// Answers a message: goes to its sender with reply_to = its id. The answer to one that was taken
  /// over (AckStatus::kQueued, Message::defer()) ends it too, as done() would; any other is still
  /// to be ended. One that has ended has no answer: kNoRoute.
  SendResult reply(Message& to, Payload payload, const SendOptions& options = kPlainSend);
  /// Waits for space until the deadline, as send_until() does.
  SendResult reply_until(Message& to, Payload payload, Deadline deadline,
                         const SendOptions& options = kPlainSend);
  /// Sends and waits for the answer of that peer, which does not wait behind the inbox. The answer
  /// names the id of the request in its reply_to, or what the request named there. Where the
  /// receiver sent none, the text of its Ack or of Message::done() is the answer. The answer is
  /// done when the Message is destroyed. Errors: kUnanswered (the receiver finished the message
  /// without a reply and without a text, or escalated it) and kRejected (it is a dead letter; the
  /// text says why), both at once, unless the options ask for acknowledgements (await_ack()); those
  /// of a send (kFull also when a rate limit is exceeded, kPeerDead, kDenied, kTooBig, kNoMemory,
  /// kNoRoute, kLoop), kTimeout, and where the receiver dies finally meanwhile at once kPeerDead
  /// (it never took the request) or kPeerDeadTaken (it may have acted on it); kInvalid (a deadline
  /// and a peer are needed), kClosed.
  [[nodiscard]] Result<Message> request(const To& to, Payload payload, Deadline deadline,
                                        const SendOptions& options = kPlainSend);
  /// The same within kRequestPatience.
  [[nodiscard]] Result<Message> request(const To& to, Payload payload,
                                        const SendOptions& options = kPlainSend);
  /// Sends all of these requests and waits for all answers, until one deadline. The results are in
  /// the order of the requests, and each is what request() would have returned for it: one that
  /// fails, because its receiver dies for example, ends none of the others. One that finds no room
  /// is sent as soon as there is some, and keeps none of the others waiting.
  [[nodiscard]] std::vector<Result<Message>> request_all(
      std::span<const Request> requests, Deadline deadline = after(kRequestPatience));
  [[nodiscard]] std::vector<Result<Message>> request_all(
      std::initializer_list<Request> requests, Deadline deadline = after(kRequestPatience));
  /// Sends and returns; serve() calls `then` with the answer, or with the error of a request, once.
  /// Meanwhile other messages are handled. Errors of a send at once, and kFull while
  /// kMostOpenQuestions of them have no answer yet; `then` is not called then.
  [[nodiscard]] Result<MessageId> request_then(const To& to, Payload payload, Deadline deadline,
                                               AnswerHandler then,
                                               const SendOptions& options = kPlainSend);
  /// For a loop of your own around fd(): calls `then` as serve() does between two messages, and
  /// returns when the next wait for an answer ends, Deadline::max() if none is open. Call it after
  /// try_receive() has found nothing and before you wait. Errors: kClosed (as of receive(); every
  /// `then` has been called).
  [[nodiscard]] Result<Deadline> run_answers();
  /// Sends; the answer is kept for drain_pending_results(). kFull also while kMostOpenQuestions of
  /// them have no answer yet; cancel() closes one, and the final death of a receiver all of its
  /// own.
  SendResult fire_and_forget(const To& to, Payload payload,
                             const SendOptions& options = kPlainSend);
  /// The answers to fire_and_forget(), late and duplicate answers to requests, and messages of type
  /// kTaskResponse that answer something and that nobody waits for; in the order in which they
  /// came. receive() does not see them. Of questions that have ended the newest 1,024 ids are
  /// known: what answers an older one, and is no kTaskResponse, is an ordinary message. At most a
  /// quarter of the inbox is kept: of whoever has the most there, acknowledgements go first, then
  /// late answers, then the oldest become dead letters (`unclaimed`). What is sent while one of
  /// them is held does not inherit from it.
  [[nodiscard]] std::vector<Message> drain_pending_results();

  /// Takes back a message that this agent sent: it becomes a dead letter (`cancelled`) if it was
  /// not handed out, and Message::cancelled() is true if it was. Overtakes what was sent before;
  /// the receiver remembers 16 orders of a sender whose messages have not come yet, the newest.
  SendResult cancel(const To& to, MessageId id);
  /// Sends a control message, for example kSteerOrder or kShutdownOrder: it is delivered before all
  /// data, whatever its order or rank, and has room of its own in lanes and inbox. From agents that
  /// are not above the receiver in the tree it is an ordinary message.
  SendResult send_control(const To& to, std::string_view type, Payload payload = {},
                          const SendOptions& options = kPlainSend);
  /// Sends a message of type kEscalation to the parent, or to the next ancestor that lives and has
  /// not ended our link; where that is the coordinator, its first 2,000 bytes go into the log and
  /// the rest is lost; `id` is 0 then, and kFull says that it writes down no more of this agent
  /// now, or that the log takes nothing.
  SendResult escalate(Payload issue, const SendOptions& options = kPlainSend);

  /// Waits for what became of a message that was sent with `requires_ack`, whether it has been said
  /// already or not. An answer to it is a message of its own. What is not awaited is kept aside as
  /// drain_pending_results() says; the oldest are let go of (InboxCounters::acks_unread). What an
  /// agent said before its final death is found by its Peer or pid, no longer by its name. Errors:
  /// kTimeout, kPeerDeadTaken (it may have acted on it), kClosed, kInvalid (no deadline, no peer).
  [[nodiscard]] Result<Acknowledgement> await_ack(const To& to, MessageId id, Deadline deadline);
  /// Sends with `requires_ack` and waits. Errors of request().
  [[nodiscard]] Result<Acknowledgement> send_acked(const To& to, Payload payload, Deadline deadline,
                                                   const SendOptions& options = kPlainSend);

  /// The same, and returns: `then` is called with the acknowledgement, or with the error of
  /// send_acked(), as request_then() calls its own.
  [[nodiscard]] Result<MessageId> send_acked_then(const To& to, Payload payload, Deadline deadline,
                                                  AckHandler then,
                                                  const SendOptions& options = kPlainSend);

  /// Handles messages until told otherwise: waits for each, in delivery order, hands it to
  /// `handler` and does what that returns (see Ack). The handler may end the message itself, or
  /// move it away and return kQueued; one that is still there with kQueued is kept for held(). An
  /// exception of the handler requeues the message. Returns the number of messages handled. Errors:
  /// kClosed.
  Result<std::size_t> serve(const MessageHandler& handler, const ServeOptions& options = {});
  /// Makes serve() return after the message that it is at. For handlers.
  void stop_serving();
  /// A message whose handler returned kQueued without moving it away; once. kInvalid: there is
  /// none.
  [[nodiscard]] Result<Message> held(MessageId id);

  /// True while a critical message waits, of a new sender too. Two or three loads for each link, a
  /// look at the control socket where the coordinator has said something, else no system call.
  [[nodiscard]] bool urgent();

  /// A descriptor for epoll, asyncio, libuv: readable when something may have arrived. From the
  /// first call on, whenever try_receive() has found nothing the agent counts as asleep and peers
  /// signal the fd; call try_receive() until it is empty (or try_receive_batch() until it says 0),
  /// and next_notice(), after each readiness. Owned by the Agent; do not read or close it.
  [[nodiscard]] int fd();

  /// What waits in the inbox, in the order in which receive() with this filter would deliver it,
  /// then leased and dead ones that the filter matches; expired ones are not listed. Takes nothing.
  /// `limit` = most items.
  [[nodiscard]] std::vector<InboxItem> inbox(std::size_t limit = 1000, const Filter& filter = {});
  [[nodiscard]] InboxCounters counters() const;
  [[nodiscard]] std::vector<LinkCounters> links() const;

  /// Puts a dead letter of this agent back into its inbox, at its old place in the order: it comes
  /// again as redelivered(), with max_attempts new attempts, and neither its time to live nor its
  /// hops count any more. Errors: kInvalid (no dead letter has this id; inbox() lists them),
  /// kClosed (this agent has left).
  [[nodiscard]] Result<void> requeue_dead(MessageId id);
  /// Lets a dead letter go. False if there is none of this id.
  bool purge_dead(MessageId id);
  /// Lets all of them go; returns how many. At most 64 are kept until then, and no more than a
  /// quarter of the inbox.
  std::size_t purge_all_dead();

  /// Deaths of children and the end of the hive, in order. The newest 256 are kept until they are
  /// read here.
  [[nodiscard]] std::optional<Notice> next_notice();

  // Who else is there. Control calls, of which each takes a packet for 64 agents of the hive.
  // Errors of all: kNoAgent, kNoCoordinator, kTimeout, kClosed (this agent has left), kSystem.
  // Zombies are listed until somebody attaches under their names. The dead are listed while
  // something of theirs is still to be read, and for 60 s after that (the latest 256 of them); then
  // their children belong to their parent.

  /// The other children of this agent's parent, by pid; zombies and the dead among them.
  [[nodiscard]] Result<std::vector<AgentInfo>> siblings();
  /// The children of this agent, or all its descendants, by pid; zombies and the dead among them.
  [[nodiscard]] Result<std::vector<AgentInfo>> children(bool recursive = false);
  /// One agent; 0: this one. kNoAgent: nobody has that pid, or its time is over.
  [[nodiscard]] Result<AgentInfo> info(Pid pid = 0);
  /// Whom a name means, as peer() reads it; a dead one only where nobody else answers to it.
  [[nodiscard]] Result<AgentInfo> find(std::string_view name);
  /// Says that this agent sleeps (waits for a quota, for a time), or no longer does. Others see
  /// State::kSleeping until then, whatever it does; nothing else changes.
  void set_sleeping(bool sleeping);

  /// A handle through which any number of threads send. See SharedSender.
  [[nodiscard]] SharedSender shared_sender();

  /// Waits until everything sent, and every acknowledgement and escalation that is owed, was taken
  /// by its receivers, or until the deadline, then leaves the hive. Returns the number of messages
  /// that still lie in lanes, where they stay for their receivers, and of acknowledgements that
  /// found no room in one, which are lost. What a handler has escalated and still waits comes again
  /// as every lease does. What lies in a link that its reader has ended is
  /// neither waited for nor counted. A serve() in whose handler it is called returns kClosed.
  /// Afterwards sends fail with kNoRoute and nothing is received. An agent that was
  /// fenced (its process lost the connection for good while the coordinator lived, for example by a
  /// close of all fds) or whose name was taken over has left in the same way.
  std::uint64_t detach(Deadline drain_until = Deadline::min());

 private:
  explicit Agent(std::unique_ptr<AgentCore> core);
  std::unique_ptr<AgentCore> core_;
};

/// Sends through an Agent from any thread. Copyable; all copies must be gone before the Agent is.
///
/// send() returns only after the message is published or has failed. Requests go through a
/// lock-free queue that any sending thread flushes, so a handler that is busy in the Agent's own
/// thread delays nobody.
class SharedSender {
 public:
  /// `to` comes from Agent::peer(): to look up a name may open a link, which the thread of the
  /// Agent alone can do. Waits for space until the deadline (none by default).
  SendResult send(Peer to, Payload payload, const SendOptions& options = kPlainSend,
                  Deadline deadline = Deadline::min());

 private:
  friend class AgentCore;
  friend class Agent;
  explicit SharedSender(AgentCore* core) : core_(core) {}
  AgentCore* core_;
};

}  // namespace beeline
