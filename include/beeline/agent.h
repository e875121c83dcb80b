#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/broadcast.h>
#include <beeline/event_loop.h>
#include <beeline/message.h>
#include <beeline/payload.h>
#include <beeline/processes.h>
#include <beeline/registry.h>
#include <beeline/request.h>
#include <beeline/result.h>
#include <beeline/task.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

class SharedSender;

/// Called by Agent::serve() with each message; see Ack.
using MessageHandler = std::function<Ack(Message&)>;
/// Called by Agent::serve() with the answer to a request, or the reason why there is none.
using AnswerHandler = std::function<void(Result<Message>)>;
/// Called by Agent::serve() with the acknowledgement of a message of Agent::send_acked_then(), or
/// the reason why there is none.
using AckHandler = std::function<void(Result<Acknowledgement>)>;

struct ServeOptions {
  Deadline until = Deadline::max();
  std::size_t most = SIZE_MAX;  ///< messages and tasks
  Filter filter{};              ///< of messages; tasks go to their handler in any case
  bool copies = false;  ///< hand copies of messages between children to the handler too; otherwise
                        ///< serve() ends them unseen
};

/// An agent of a hive: an inbox, links to peers, a place in the tree.
///
/// One thread uses an Agent; other threads send through `shared_sender()`. Nothing throws.
///
/// Calls that wait, such as those that end in `_until`, have a deadline. receive() waits without a
/// limit unless it is given a timeout. Control calls ask the coordinator: attach, peer of an agent
/// not spoken to before, detach, the registry, and an escalation with no other agent above. A
/// control call waits for each answer of the coordinator at most `AttachOptions::control_timeout`;
/// an escalation also waits 1 s for room above. While the coordinator is gone or hangs, any call
/// may look at the control socket, at most once a second; a look takes a few ms. A call that needs
/// the coordinator for a link to answer in, or for an escalation of a handler, takes up to 2 s,
/// once, if the coordinator hangs in that moment.
///
/// Each call that has a receiver takes a Peer, a pid or a name for it (To), and a text or bytes to
/// send (Payload). For a pid or a name the call has the errors of peer() too. In a SendResult such
/// an error is the nearest SendStatus, and SendResult::text() has its words.
///
/// After a fork the child's copies of an Agent, its Messages and Loans are dead. The child may
/// destroy them; its sends fail with kNoRoute; it may use nothing else of them.
class Agent {
 public:
  /// Joins a hive, starting its coordinator on first use. Raises the soft limit of open files of
  /// this process, unless AttachOptions::raise_fd_limit is false. An agent that attaches under the
  /// name of one whose process has ended takes over its home: unfinished messages come again, and
  /// those that had been handed out are flagged as redelivered. Errors: kNoCoordinator,
  /// kAlreadyRunning (an agent of that name lives), kNoAgent and kPeerDead (the parent), kDenied
  /// (the role, or the user), kInvalid (an option and its limits), kFull (the hive, or an
  /// inbox_capacity too small for the predecessor's messages), kNoMemory, kBadSegment (the
  /// predecessor's home), kWrongVersion, kTimeout, kClosed (the coordinator died again and again),
  /// kSystem.
  [[nodiscard]] static Result<Agent> attach(const AttachOptions& options);

  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;
  /// Detaches without waiting for receivers. Messages in the inbox wait for the next attach under
  /// the name (unless temporary).
  ~Agent();

  [[nodiscard]] Pid pid() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint64_t incarnation() const;
  /// Pid of the parent; 1 for a child of the coordinator.
  [[nodiscard]] Pid parent() const;

  /// Opens a link to a peer, or finds the open one. A control call on first use. A number means the
  /// agent with that pid. A name means the newest agent that has it. If there is none, it means the
  /// newest agent of the same user with that name up to '@': "queen" finds "queen@vps1". Errors:
  /// kNoAgent, kPeerDead, kDenied (names the rule), kInvalid (no UTF-8), kNoRoute (no text, or a
  /// named queue, "queue:NAME": this version has none), kFull (too many links), kNoCoordinator,
  /// kNoMemory, kTimeout, kClosed (this agent has left, or the coordinator went away), kSystem.
  [[nodiscard]] Result<Peer> peer(const To& to);
  /// Waits until an agent of that name is there, then does as peer() does; the coordinator wakes
  /// this agent when one attaches. Meanwhile this agent takes messages into its inbox and keeps
  /// notices. An agent whose process has ended counts as there, because its inbox takes messages,
  /// unless the options name a process. Errors: those of peer(), kNoAgent at the deadline;
  /// kPeerDead when the process of the options has ended; kNotice when their descriptor is
  /// readable.
  [[nodiscard]] Result<Peer> wait_for(std::string_view name, Deadline deadline,
                                      const WaitOptions& options = {});

  /// Sends now or says why not. Payloads of up to 64 bytes travel in the lane; larger ones are
  /// copied once into a slab. Makes no system call unless the receiver sleeps. `kOk`: accepted, see
  /// SendStatus.
  SendResult send(Peer to, Payload payload, const SendOptions& options = kPlainSend);
  /// Sends by name or pid; opens the link first if there is none.
  SendResult send(const To& to, Payload payload, const SendOptions& options = kPlainSend);

  /// Waits until there is space and AttachOptions::send_rate allows the message. At the deadline
  /// the result is kFull or kRateLimited; when the hive goes down meanwhile, it is kNoRoute. While
  /// the call waits, this agent takes messages into its inbox, so that two agents that fill each
  /// other's lanes do not block for ever.
  SendResult send_until(const To& to, Payload payload, Deadline deadline,
                        const SendOptions& options = kPlainSend);

  /// Sends to each agent of a group except this one and the coordinator. Returns the result for
  /// each target, in the order of their pids. All targets get the same message id. Never waits for
  /// space: a full target gets nothing, the others get the message. Messages that threads send
  /// through a SharedSender meanwhile go between two targets, so a target may get them before or
  /// after this one. A payload of more than 64 KiB is cut to that, see Message::is_cut(); one of
  /// more than max_payload_bytes is kTooBig for all. Links are opened on first use, a control call
  /// each. When the coordinator does not answer one such call, all targets without a link get
  /// kNoRoute.
  std::vector<Delivery> broadcast(const Group& group, Payload payload,
                                  const SendOptions& options = kPlainSend);

  /// Lends `bytes` bytes of payload memory in the link to `to`. The caller writes the payload there
  /// and sends it without copying. Errors: kFull, kTooBig (names the limit), kNoMemory, kPeerDead,
  /// kInvalid (no peer), kClosed (this agent has left).
  [[nodiscard]] Result<Loan> loan(const To& to, std::size_t bytes);
  [[nodiscard]] Result<Loan> loan_until(const To& to, std::size_t bytes, Deadline deadline);
  /// Sends a loan. After kFull the loan is still valid and can be sent again.
  SendResult send(Loan& loan, const SendOptions& options = kPlainSend);
  SendResult send_until(Loan& loan, Deadline deadline, const SendOptions& options = kPlainSend);

  /// Hands out the next message in delivery order, or nothing. Nothing means: no lane holds a
  /// message that the filter matches, unless the inbox has no room for it. Makes few system calls:
  /// it rings a sender that waits for space; it looks at the control socket every 4 ms and when the
  /// coordinator has said something, for example that there is a new sender; and it does what fd()
  /// needs where that is used.
  [[nodiscard]] std::optional<Message> try_receive(const Filter& filter = kAnyMessage);
  /// Does as try_receive() does, but waits for a message.
  ///
  /// Both calls hand out the best of all messages that were accepted when the call began, as far as
  /// the inbox has room (docs/mailbox.md has the bound). Very new messages are the exception. While
  /// the inbox holds something, the calls fetch ordinary messages from the links about once in a
  /// microsecond, or once in four while it has hardly any room. The last message of each link is
  /// fetched at the latest a hundred microseconds after it was sent (with more than 66 links 1.5
  /// microseconds for each link). Each call fetches critical messages, and those that this thread
  /// has sent. The first message of a sender unknown to this agent is treated like any other.
  ///
  /// Errors: kTimeout, kClosed (the hive went down, or this life of the agent has ended: see
  /// detach()), kNotice (only if asked for).
  [[nodiscard]] Result<Message> receive(const ReceiveOptions& options = kPlainReceive);
  /// Fills `into` from its front with the next messages in delivery order, as many as the inbox
  /// holds after one look. Returns how many. A result below into.size() does not mean that no more
  /// messages wait; 0 means that there is nothing to hand out now. One look and one clock reading
  /// serve the whole batch, so each message costs its receiver about two thirds of a receive().
  /// Each message is a lease of its own; the caller may end them in any order. All of them count as
  /// handed out, so a kill costs each of them an attempt. The agent is handling the first of them
  /// that has not ended. Later messages, critical ones too, wait for the next call. Messages in
  /// `into` that have not ended are requeued first.
  [[nodiscard]] std::size_t try_receive_batch(std::span<Message> into,
                                              const Filter& filter = kAnyMessage);
  /// Does as try_receive_batch() does, but waits until there is a message. Errors: those of
  /// receive(), and kInvalid (`into` is empty).
  [[nodiscard]] Result<std::size_t> receive_batch(std::span<Message> into,
                                                  const ReceiveOptions& options = kPlainReceive);

  /// Answers a message: sends to its sender, with its id as reply_to. If this agent had taken the
  /// message over (AckStatus::kQueued, Message::defer()), the answer ends it as done() would;
  /// otherwise the caller still has to end it. A message that has ended takes no answer: kNoRoute.
  SendResult reply(Message& to, Payload payload, const SendOptions& options = kPlainSend);
  /// Waits for space until the deadline, as send_until() does.
  SendResult reply_until(Message& to, Payload payload, Deadline deadline,
                         const SendOptions& options = kPlainSend);
  /// Sends to a peer and waits for its answer, which need not wait behind the inbox. The answer
  /// names in its reply_to the id of the request, or the id that the request named there. If the
  /// receiver sent no answer, the text of its Ack or of Message::done() is the answer. The answer
  /// is done when the Message is destroyed.
  ///
  /// Errors: kUnanswered (the receiver finished the message without a reply and without a text, or
  /// escalated it) and kRejected (it is a dead letter; the text says why), both at once, unless the
  /// options ask for acknowledgements (await_ack()). If the receiver dies finally meanwhile, at
  /// once kPeerDead (it never took the request) or kPeerDeadTaken (it may have acted on it). Those
  /// of a send (kFull also when a rate limit is exceeded, kPeerDead, kDenied, kTooBig, kNoMemory,
  /// kNoRoute, kLoop), kTimeout, kInvalid (a deadline and a peer are needed), kClosed.
  [[nodiscard]] Result<Message> request(const To& to, Payload payload, Deadline deadline,
                                        const SendOptions& options = kPlainSend);
  /// Does as the request() above, within kRequestPatience.
  [[nodiscard]] Result<Message> request(const To& to, Payload payload,
                                        const SendOptions& options = kPlainSend);
  /// Sends all of these requests and waits for all answers until one deadline. The results are in
  /// the order of the requests; each is what request() would have returned for it. A request that
  /// fails, because its receiver dies for example, does not end the others. A request that finds no
  /// room is sent as soon as there is room, and does not hold up the others.
  [[nodiscard]] std::vector<Result<Message>> request_all(
      const std::vector<Request>& requests, Deadline deadline = after(kRequestPatience));
  /// Sends a request and returns. serve() calls `then` once, with the answer or with the error of a
  /// request; meanwhile it handles other messages. Errors: those of a send, at once, and kFull
  /// while kMostOpenQuestions requests have no answer yet. After an error `then` is never called.
  [[nodiscard]] Result<MessageId> request_then(const To& to, Payload payload, Deadline deadline,
                                               AnswerHandler then,
                                               const SendOptions& options = kPlainSend);
  /// For a loop of your own around fd(): calls `then` as serve() does between two messages. Returns
  /// the time at which the next wait for an answer ends, or Deadline::max() if none is open. Call
  /// it after try_receive() has found nothing and before you wait. Errors: kClosed (as of
  /// receive(); every `then` has been called).
  [[nodiscard]] Result<Deadline> run_answers();
  /// Sends a message whose answer is kept for drain_pending_results(). The result is kFull also
  /// while kMostOpenQuestions such messages have no answer yet. cancel() closes one of them; the
  /// final death of a receiver closes all that went to it.
  SendResult fire_and_forget(const To& to, Payload payload,
                             const SendOptions& options = kPlainSend);
  /// Returns answers that receive() does not hand out, in the order in which they came: the answers
  /// to fire_and_forget(), late and duplicate answers to requests, and messages of type
  /// kTaskResponse that answer something and that no call waits for. This agent knows the newest
  /// 1,024 ids of questions that have ended. An answer to an older question is an ordinary message,
  /// unless it is a kTaskResponse. These answers fill at most a quarter of the inbox. Beyond that
  /// the peer with the most of them gives up some: first acknowledgements, then late answers; then
  /// its oldest ones become dead letters (`unclaimed`). Messages that this agent sends while it
  /// holds one of them do not inherit from it.
  [[nodiscard]] std::vector<Message> drain_pending_results();

  /// Takes back a message that this agent sent. If the receiver has not handed it out, it becomes a
  /// dead letter (`cancelled`); otherwise Message::cancelled() is true for it. The order overtakes
  /// messages sent before. A receiver remembers the newest 16 orders of each sender whose messages
  /// have not come yet.
  SendResult cancel(const To& to, MessageId id);
  /// Sends a control message, for example kSteerOrder or kShutdownOrder. The receiver gets it
  /// before all data, whatever its order or rank; lanes and inbox have room kept for it. From an
  /// agent that is not above the receiver in the tree it is an ordinary message.
  SendResult send_control(const To& to, std::string_view type, Payload payload = {},
                          const SendOptions& options = kPlainSend);
  /// Sends a message of type kEscalation to the parent, or to the next ancestor that lives and has
  /// not ended our link. If that is the coordinator, it writes the first 2,000 bytes into its log
  /// and drops the rest; `id` is 0 then. kFull from it means that it logs no more of this agent
  /// now, or that the log takes nothing.
  SendResult escalate(Payload issue, const SendOptions& options = kPlainSend);

  /// Waits until the receiver acknowledges a message that was sent with `requires_ack`;
  /// returns at once if it has said so already. An answer to the message is a message of its own.
  /// Acknowledgements that no call awaits are kept as drain_pending_results() says; the oldest are
  /// dropped (InboxCounters::acks_unread). After the final death of an agent its acknowledgements
  /// are found by its Peer or pid, no longer by its name. Errors: kTimeout, kPeerDeadTaken (it may
  /// have acted on it), kClosed, kInvalid (no deadline, no peer).
  [[nodiscard]] Result<Acknowledgement> await_ack(const To& to, MessageId id, Deadline deadline);
  /// Sends with `requires_ack` and waits. Errors of request().
  [[nodiscard]] Result<Acknowledgement> send_acked(const To& to, Payload payload, Deadline deadline,
                                                   const SendOptions& options = kPlainSend);

  /// Sends with `requires_ack` and returns. serve() calls `then` with the acknowledgement, or with
  /// the error of send_acked(), as it does for request_then().
  [[nodiscard]] Result<MessageId> send_acked_then(const To& to, Payload payload, Deadline deadline,
                                                  AckHandler then,
                                                  const SendOptions& options = kPlainSend);

  /// Handles messages until told otherwise. It waits for each message in delivery order, hands it
  /// to `handler` and does what the handler returns (see Ack). The handler may end the message
  /// itself, or move it away and return kQueued; a message that it leaves in place with kQueued is
  /// kept for held(). An exception of the handler requeues the message. The handler of tasks()
  /// gets tasks meanwhile. Returns the number of messages and tasks handled. Errors: kClosed.
  Result<std::size_t> serve(const MessageHandler& handler, const ServeOptions& options = {});
  /// Makes serve() return after the current message. For handlers.
  void stop_serving();
  /// Gives, once, a message whose handler returned kQueued without moving it away. kInvalid: there
  /// is none.
  [[nodiscard]] Result<Message> held(MessageId id);

  /// True while a critical message waits, from a new sender too. Costs two or three loads for each
  /// link. Makes no system call, except a look at the control socket when the coordinator has said
  /// something.
  [[nodiscard]] bool urgent();

  /// A descriptor for epoll, asyncio, libuv: readable when something may have arrived. From the
  /// first call on, the agent counts as asleep whenever try_receive() has found nothing, and peers
  /// signal the fd. After each readiness call try_receive() until it finds nothing (or
  /// try_receive_batch() until it returns 0), and next_notice(). Owned by the Agent; do not read or
  /// close it.
  [[nodiscard]] int fd();
  /// Tasks for children, and those of the parent. See Tasks.
  [[nodiscard]] Tasks tasks();
  /// Starts children, ends them and waits for their ends. See Processes.
  [[nodiscard]] Processes processes();
  /// The calls for a loop of your own around fd() that waits nowhere else. See EventLoop.
  [[nodiscard]] EventLoop loop();

  /// Lists the messages in the inbox: first the waiting ones, in the order in which receive() with
  /// this filter would deliver them, then leased and dead ones that the filter matches. Leaves out
  /// expired ones. Takes nothing. `limit` = most items.
  [[nodiscard]] std::vector<InboxItem> inbox(std::size_t limit = 1000, const Filter& filter = {});
  [[nodiscard]] InboxCounters counters() const;
  [[nodiscard]] std::vector<LinkCounters> links() const;

  /// Puts a dead letter of this agent back into its inbox, at its old place in the order. It comes
  /// again as redelivered() and has max_attempts new attempts; its time to live and its hops no
  /// longer count. Errors: kInvalid (no dead letter has this id; inbox() lists them), kClosed (this
  /// agent has left).
  [[nodiscard]] Result<void> requeue_dead(MessageId id);
  /// Drops a dead letter. False if there is none of this id.
  bool purge_dead(MessageId id);
  /// Drops all dead letters; returns how many. At most 64 are kept until then, and no more than a
  /// quarter of the inbox.
  std::size_t purge_all_dead();

  /// Deaths of children and the end of the hive, in order. The newest 256 are kept until they are
  /// read here.
  [[nodiscard]] std::optional<Notice> next_notice();

  // The other agents of the hive. These are control calls; each takes a packet for 64 agents of the
  // hive. Errors of all: kNoAgent, kNoCoordinator, kTimeout, kClosed (this agent has left),
  // kSystem. Zombies are listed until an agent attaches under their names. The dead are listed
  // while another agent still has something of theirs to read, and for 60 s after that (the latest
  // 256 of them); then their children belong to their parent.

  /// The other children of this agent's parent, by pid; zombies and the dead among them.
  [[nodiscard]] Result<std::vector<AgentInfo>> siblings();
  /// The children of this agent, or all its descendants, by pid; zombies and the dead among them.
  [[nodiscard]] Result<std::vector<AgentInfo>> children(bool recursive = false);
  /// One agent; 0: this one. kNoAgent: no agent has that pid, or it is no longer listed.
  [[nodiscard]] Result<AgentInfo> info(Pid pid = 0);
  /// The agent that a name means, as peer() reads it; a dead one only if no other agent has the
  /// name.
  [[nodiscard]] Result<AgentInfo> find(std::string_view name);
  /// Says that this agent sleeps (waits for a quota, for a time), or no longer sleeps. While it
  /// sleeps others see State::kSleeping, whatever it does; nothing else changes.
  void set_sleeping(bool sleeping);

  /// A handle through which any number of threads send. See SharedSender.
  [[nodiscard]] SharedSender shared_sender();

  /// Leaves the hive. Waits first until receivers have taken everything sent, and every
  /// acknowledgement and escalation that is owed, or until the deadline. Returns how many messages
  /// still lie in lanes, where they stay for their receivers, plus how many acknowledgements found
  /// no room in a lane and are lost. An escalation of a handler that still waits comes again, as
  /// every lease does. Messages in a link that its reader has ended are neither waited for nor
  /// counted. If a handler calls detach(), its serve() returns kClosed. Afterwards sends fail with
  /// kNoRoute and nothing is received. An agent has left in the same way when another agent took
  /// over its name, or when it was fenced: its process lost the connection for good while the
  /// coordinator lived, for example because it closed all fds.
  std::uint64_t detach(Deadline drain_until = Deadline::min());

 private:
  friend class Attaching;
  explicit Agent(std::unique_ptr<AgentCore> core);
  std::unique_ptr<AgentCore> core_;
};

/// Sends through an Agent from any thread. Copyable; all copies must be gone before the Agent is.
///
/// send() returns only after the message is published or has failed. Requests go through a
/// lock-free queue that any sending thread flushes, so a busy handler in the Agent's own thread
/// delays no other thread.
class SharedSender {
 public:
  /// `to` comes from Agent::peer(), because looking up a name may open a link, and only the thread
  /// of the Agent can do that. Waits for space until the deadline (none by default). A message that
  /// SendOptions::about names belongs to the Agent's thread, which may end it at any moment, so
  /// another thread names none: kNoRoute. Give `cause` and `trace` instead.
  SendResult send(Peer to, Payload payload, const SendOptions& options = kPlainSend,
                  Deadline deadline = Deadline::min());

 private:
  friend class AgentCore;
  friend class Agent;
  explicit SharedSender(AgentCore* core) : core_(core) {}
  AgentCore* core_;
};

}  // namespace beeline
