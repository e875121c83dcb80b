#pragma once

// The words of the public interface: numbers, options and results. Plain values, nothing owns
// anything.

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace beeline {

class Message;

/// Number of an agent in its hive, 1 to 2^24 - 1, never reused. 1 is the coordinator.
using Pid = std::uint32_t;

/// Id of a message: the sender's pid in the upper 24 bits, the sender's count in the lower 40. 0 =
/// none.
using MessageId = std::uint64_t;

/// The id as people read it: "3:21" is message 21 of pid 3; empty for 0. JSON has this form too,
/// because the number needs 64 bits and many readers of JSON keep 53.
[[nodiscard]] std::string id_text(MessageId id);

/// The id that id_text() wrote; nothing if it cannot have written this text.
[[nodiscard]] std::optional<MessageId> parse_id(std::string_view text);

/// The time until which a call may wait. `Deadline::max()` waits for ever where that is allowed.
using Deadline = std::chrono::steady_clock::time_point;

/// Deadline `duration` from now, clamped to the range of the clock: nanoseconds::max() waits for
/// ever, nanoseconds::min() does not wait.
[[nodiscard]] inline Deadline after(std::chrono::nanoseconds duration) {
  const Deadline now = std::chrono::steady_clock::now();
  if (duration > Deadline::max() - now) return Deadline::max();
  return duration < -now.time_since_epoch() ? Deadline() : now + duration;
}

/// Ranks: lower first. kCritical and lower use the urgent lane and the reserved share of an inbox.
/// An inbox with Order::kAged clamps the sender's rank to these four and raises it by the relation
/// between sender and receiver. In the other orders any int32 is legal and stays as it is.
inline constexpr std::int32_t kCritical = 0;
inline constexpr std::int32_t kHigh = 1;
inline constexpr std::int32_t kNormal = 2;
inline constexpr std::int32_t kLow = 3;

/// Types that agents understand, and some that the engine understands; any other text is legal. An
/// answer of type kTaskResponse that no call waits for is kept for Agent::drain_pending_results().
/// kEscalation gives a message at least the rank kHigh on any route.
inline constexpr std::string_view kTaskRequest = "task_request";
inline constexpr std::string_view kTaskResponse = "task_response";
inline constexpr std::string_view kCronTask = "cron_task";
inline constexpr std::string_view kCronResult = "cron_result";
inline constexpr std::string_view kNotification = "notification";
inline constexpr std::string_view kEscalation = "escalation";
/// Types of control messages: see Agent::send_control().
inline constexpr std::string_view kCancelOrder = "cancel";
inline constexpr std::string_view kSteerOrder = "steer";
inline constexpr std::string_view kShutdownOrder = "shutdown";
/// Stands in front of the type of a copy: a message from one child to another, as their parent sees
/// it.
inline constexpr std::string_view kSiblingTraffic = "sibling_traffic:";

/// How long a request waits for its answer by default, in the library and on the command line.
/// Answers of language models take minutes, so give those requests a longer deadline.
inline constexpr std::chrono::seconds kRequestPatience{60};
/// How many messages of Agent::fire_and_forget(), and how many requests of Agent::request_then(),
/// may be unanswered.
inline constexpr std::size_t kMostOpenQuestions = 16'384;

/// The relation of a message's sender to its receiver in the tree. It raises the message to at
/// least this rank: system critical, parent high, sibling normal, child and other low. The type
/// `escalation` gives high whatever the relation.
enum class Relation : std::uint8_t {
  kSystem = 0,   ///< the coordinator
  kParent = 1,   ///< the sender is the parent of the receiver
  kChild = 2,    ///< the sender is a child of the receiver
  kSibling = 3,  ///< both have one parent
  kOther = 4,    ///< another branch, or more than one step up or down
};

/// The word for a relation, for example "sibling".
[[nodiscard]] std::string_view to_string(Relation relation);

/// The result of a send. `kOk`: the message is in the receiver's lane. It is delivered at least
/// once, and exactly once while no receiver dies, even if this process is killed at the next
/// instruction. Every other result: nothing was sent.
enum class SendStatus : std::uint8_t {
  kOk,
  kFull,     ///< lane or slabs of the link are full; Beeline never drops or overwrites a message
  kNoRoute,  ///< no target, no peer or a named queue; this agent has left the hive; of a reply, the
             ///< message has ended; SendOptions::about is no message that this agent holds; or the
             ///< link could not be opened: the coordinator does not answer, or the system failed
  kNoAgent,  ///< no agent of that name or pid
  kPeerDead,  ///< the receiver is finally dead. If it died at this very moment, the message may be
              ///< among the dead letters of the hive
  kTooBig,    ///< SendResult::limit says how large a payload, a type or a channel may be; 31 also
              ///< when the link has no room for another string
  kDenied,    ///< the tree's rules forbid this pair
  kLoop,      ///< the message would be more than AttachOptions::max_hops messages away from its
              ///< origin
  kNoMemory,  ///< the system gave no memory for the payload
  kRateLimited,  ///< rate limit exceeded: AttachOptions::send_rate of this agent for this peer
};

/// The word for a status, for example "peer_dead".
[[nodiscard]] std::string_view to_string(SendStatus status);

struct [[nodiscard]] SendResult {
  constexpr SendResult() = default;
  constexpr explicit SendResult(SendStatus of) : status(of) {}
  constexpr SendResult(SendStatus of, MessageId message, std::uint64_t most)
      : status(of), id(message), limit(most) {}

  SendStatus status = SendStatus::kOk;
  MessageId id = 0;         ///< of the message, when kOk
  std::uint64_t limit = 0;  ///< bytes, when kTooBig; messages, when kLoop
  [[nodiscard]] explicit operator bool() const { return status == SendStatus::kOk; }
  /// The result for people: which agent did not get the message, why, the limit, the value, and the
  /// next step. The text is made on demand. If a name was not found, or a link not opened, each
  /// thread keeps the words of its last 16 such results; after that, and in another thread, the
  /// text is a general one.
  [[nodiscard]] std::string text() const;

 private:
  friend struct SendFacts;
  // Says to which thing `value_` and `limit` belong, where the status does not tell.
  enum class About : std::uint8_t {
    kNothing,
    kPayload,
    kHivePayload,
    kType,
    kChannel,
    kWords,
    kOrigin
  };
  About about_ = About::kNothing;
  Pid to_ = 0;  // the target, unless the message was sent
  std::uint64_t value_ = 0;
};

/// The receiver's word on a message whose sender asked for one (SendOptions::requires_ack). The
/// numbers travel.
enum class AckStatus : std::uint8_t {
  kAccepted = 0,  ///< handled
  kQueued = 1,    ///< taken over; an answer comes later
  kRejected = 2,  ///< now a dead letter of the receiver
  kEscalate = 3,  ///< handed to the receiver's parent
};

/// The word for a status, for example "queued".
[[nodiscard]] std::string_view to_string(AckStatus status);

/// A handler's result for a message.
struct Ack {
  AckStatus status = AckStatus::kAccepted;
  std::string reply{};  ///< sent to a sender with requires_ack; with kAccepted it answers a request
                        ///< that got no reply; lost otherwise
};

/// The receiver's word on a message, as its sender gets it.
struct Acknowledgement {
  MessageId id = 0;  ///< of the message
  AckStatus status = AckStatus::kAccepted;
  std::string reply{};
  bool is_cut = false;  ///< `reply` is the start of a longer one: the largest payload that the
                        ///< receiver sends (AttachOptions::max_payload_bytes)
};

/// The place of a message in a distributed trace, as in the W3C header `traceparent`. All zero:
/// none.
struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> span_id{};
  std::uint8_t flags = 0;
  [[nodiscard]] bool empty() const {
    const auto trace = std::bit_cast<std::array<std::uint64_t, 2>>(trace_id);
    return (trace[0] | trace[1] | std::bit_cast<std::uint64_t>(span_id) | flags) == 0;
  }
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

/// A message that the Agent sends while it handles another one, that is between receive() and the
/// end of the lease, inherits from that one: `cause` is its id, `trace` its trace, and the number
/// of hops is one more. An agent that holds several messages at once says in `about` which of them
/// it means. Messages that other threads send through a SharedSender inherit nothing.
struct SendOptions {
  std::int32_t rank = kNormal;
  std::string_view type{};     ///< at most 31 bytes; a link knows 252 different ones, types and
                               ///< channels together; a message with another one takes a slab and
                               ///< carries it there
  std::string_view channel{};  ///< as `type`
  MessageId reply_to = 0;      ///< the message that this one answers
  std::uint32_t ttl_ms = 0;    ///< milliseconds until it expires, 0 = never
  MessageId cause = 0;         ///< the message that led to this one; 0 = inherited
  TraceContext trace{};        ///< empty = inherited
  bool inherit = true;  ///< false: the message has nothing to do with the one that is being handled
  bool requires_ack = false;       ///< the receiver says what it did with the message: see
                                   ///< Agent::await_ack()
  bool cancel_on_timeout = false;  ///< request: takes the message back when its wait ends without
                                   ///< an answer
  std::uint16_t hops = 0;  ///< of a message forwarded for another agent: how many messages led to
                           ///< it; inherited hops count if they are more
  /// The message to inherit from, in place of the one that is being handled; `inherit` says nothing
  /// about it. This agent holds it: it was handed out and has not ended. Any other message, and any
  /// message in a send of a SharedSender, is refused: kNoRoute, or kInvalid of a call with a
  /// Result. A reply() is about the message that it answers and refuses another one. Not owned.
  const Message* about = nullptr;
};
/// Default options of a call, made once and not for each message.
inline constexpr SendOptions kPlainSend{};

/// Selects messages. Empty fields match everything; all fields that are set must match.
struct Filter {
  Pid from = 0;
  std::string_view type{};
  std::string_view channel{};
  MessageId reply_to = 0;
  /// The oldest matching message goes first, whatever its rank. With `from` it is the first that
  /// this agent sent; otherwise messages count by the time of sending, and within 4 ms by arrival.
  bool oldest_first = false;
  [[nodiscard]] bool empty() const {
    return from == 0 && type.empty() && channel.empty() && reply_to == 0 && !oldest_first;
  }
};
inline constexpr Filter kAnyMessage{};

struct ReceiveOptions {
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  Filter filter{};
  bool stop_on_notice = false;  ///< return ErrorCode::kNotice when a notice waits
};
inline constexpr ReceiveOptions kPlainReceive{};

/// A handle to a peer whose link is open. Cheap to copy; valid only for the Agent that gave it.
struct Peer {
  std::uint32_t slot = 0xffffffff;
  Pid pid = 0;
  [[nodiscard]] bool valid() const { return slot != 0xffffffff; }
};

/// Events besides its deadline that end Agent::wait_for().
struct WaitOptions {
  /// The process that is to attach, for example a child that the caller has started and not reaped:
  /// the call fails when that process has ended. Then an agent of that name without a process does
  /// not count, because it belongs to an earlier life. 0: none.
  std::int32_t process = 0;
  int stop_fd = -1;  ///< the call fails while this descriptor is readable, a signalfd for example
};

/// How an agent waits. `kAdaptive` spins for a short, bounded time and then sleeps; `kSleep` never
/// spins for a message; `kSpin` never sleeps and burns a CPU. A sender that finds no space tries
/// for 10 us before it sleeps, whatever the mode. With one usable CPU no agent spins or tries.
enum class WaitMode : std::uint8_t { kAdaptive, kSleep, kSpin };

/// Order in which an inbox delivers: by rank that ages, by rank alone, or as sent. Equal messages
/// come as they were sent, and within a tick of the clock (4 ms) by arrival. Messages of one sender
/// always come in the order in which it sent them. An aging factor of 0 switches the aging off;
/// ranks are computed as in kAged all the same.
enum class Order : std::uint8_t { kAged, kStrict, kFifo };

/// The roles that an agent may have: a word for people, for the lists, and for Group::role(). Only
/// `task` changes a rule: such an agent may send to its parent alone, only its parent may expect an
/// answer from it, and requests of others are refused. The other roles are those that a tree of
/// agents usually needs, and Beeline treats them alike:
///   daemon     a service that always runs and answers others, a cache or a scheduler for example
///   agent      works for itself or for a person; a command like `beeline send` has this role
///   architect  plans and decides, and hands the work to others
///   lead       splits its job among its children, and collects their results
///   worker     does what it is given, one job after the other
///   task       does one job for its parent and ends
/// An agent keeps the role of its first attach.
inline constexpr std::array<std::string_view, 6> kRoles = {"daemon", "agent",  "architect",
                                                           "lead",   "worker", "task"};

struct AttachOptions {
  std::string hive{};           ///< empty: $BEELINE_HIVE, else "default"
  std::string name{};           ///< empty: the coordinator makes one, and the agent is temporary:
                                ///< no other agent can take that name over. UTF-8 of visible
                                ///< characters; no number, and does not begin with "queue:"
  std::string parent{};         ///< name or pid; empty: child of the coordinator
  std::string role = "worker";  ///< one of kRoles
  bool temporary = false;  ///< finally dead when it detaches or dies; otherwise its home waits for
                           ///< the next attach
  bool start_coordinator = true;
  /// A process that an agent has spawned (Processes::spawn()) finds a ticket in $BEELINE_TICKET.
  /// With it an attach under the name of the spawn, or under none, becomes that agent: name, parent
  /// and role are those of the spawn. False: the ticket is left to another attach.
  bool use_ticket = true;
  /// Raise the soft limit of open files of this process to its hard one, because each peer takes
  /// four descriptors. A program that uses select() says false: select() aborts at descriptors from
  /// 1,024 on. A child made by fork() has the old limit again; one made by posix_spawn(), vfork(),
  /// system() or popen() inherits the raised one.
  bool raise_fd_limit = true;
  /// Longest wait for the coordinator in one control call.
  std::chrono::nanoseconds control_timeout = std::chrono::seconds(10);

  Order order = Order::kAged;
  double aging_factor = 0.1;  ///< ranks per second; 0 switches aging off, else 0.0005 to 1e6
  std::uint32_t inbox_capacity = 4096;  ///< messages; rounded up to a power of two, 16 to 1048576
  std::uint32_t max_attempts = 3;  ///< deliveries before a message becomes a dead letter, 1 to 255
  /// Pause before an unfinished message is handed out a second time, 0 to 1 h. The pause doubles
  /// with each attempt, up to a minute. Meanwhile other messages are handed out, and this one
  /// counts as leased. 0: it comes again at once.
  std::chrono::nanoseconds retry_pause{0};
  std::uint16_t max_hops = 32;  ///< longest chain of messages that each led to the next: a send
                                ///< beyond it fails, a message from beyond it is a dead letter
  std::uint32_t normal_slots = 256;     ///< of each link that this agent opens; power of two, 65536
                                        ///< at most
  std::uint32_t urgent_slots = 16;      ///< of each link too; the last quarter is for control
                                        ///< messages, so with 1 nothing is kept for them, and 2 is
                                        ///< useful
  std::uint64_t max_payload_bytes = 0;  ///< largest payload that this agent sends, 64 KiB to the
                                        ///< hive's limit; 0 = the hive's limit (64 MiB by default)

  /// Flood guards, one for each peer. A rate is messages per second, 0.001 to 1000000; 0 switches
  /// the guard off. A burst is how many messages may follow each other after a pause, 1000000 at
  /// most; 0 = as many as the rate gives in a second. The clock has steps of 4 ms, so a burst that
  /// is smaller than the rate gives in 4 ms lowers the rate.
  double send_rate = 0;  ///< what this agent sends: kRateLimited beyond it
  std::uint32_t send_burst = 0;
  /// Limits how much this agent takes from each link, from hostile senders too. Messages beyond it
  /// stay in the lane, so the sender finds the link full and nothing is lost. A peer that comes
  /// back under the same name finds its rate as it left it. A new name starts with a full burst,
  /// and so do all names in a new life of this agent. Critical and control messages are exempt;
  /// only the urgent lane bounds them. In an inbox with Order::kFifo they overtake messages that
  /// are held back.
  double receive_rate = 0;
  std::uint32_t receive_burst = 0;

  WaitMode wait = WaitMode::kAdaptive;
  std::chrono::nanoseconds spin =
      std::chrono::microseconds(20);  ///< longest spin; $BEELINE_SPIN_US overrides
};

/// An event that is not a message.
struct Notice {
  enum class Kind : std::uint8_t {
    kChildAway,  ///< a child's process ended; its home waits for a successor
    kChildDead,  ///< a child is finally dead
    kShutdown,   ///< the hive goes down
  };
  Kind kind = Kind::kShutdown;
  Pid pid = 0;
  std::string name{};
};

/// One message of an inbox as `Agent::inbox` lists it; listing takes nothing.
struct InboxItem {
  MessageId id = 0;
  Pid from = 0;
  std::string from_name{};  ///< as Message::from_name()
  MessageId reply_to = 0;
  MessageId cause = 0;
  std::uint32_t hops = 0;
  std::int32_t rank = 0;
  std::uint32_t length = 0;    ///< bytes
  std::uint32_t attempts = 0;  ///< leases that failed; stops at 255
  std::int64_t sent_ns = 0;    ///< as Message::sent_ns()
  std::uint32_t ttl_ms = 0;    ///< after that it expires, 0 = never
  bool requires_ack = false;
  std::string type{};
  std::string channel{};
  std::string preview{};  ///< the first bytes of the payload, at most 64
  bool stashed = false;   ///< not handed out: an answer that no call waits for, or an order to
                          ///< cancel a message that has not come yet
  bool leased = false;
  bool dead = false;
  std::string reason{};  ///< why it is dead
};

/// Counts the messages of an inbox by where they are. At every moment drained = queued + tasks +
/// leased + done + dead + purged.
struct InboxCounters {
  std::uint64_t drained = 0;  ///< taken from lanes, predecessors of this agent included
  std::uint64_t queued = 0;
  std::uint64_t tasks = 0;  ///< tasks that wait; see Agent::tasks()
  std::uint64_t leased = 0;
  std::uint64_t done = 0;
  std::uint64_t dead = 0;    ///< dead letters that are kept
  std::uint64_t purged = 0;  ///< dead letters that were let go
  std::uint64_t requeued = 0;
  /// Links of peers from which this agent takes nothing more because their contents are impossible;
  /// counted since the first life of this agent. `beeline status` counts those of the hive since it
  /// was started.
  std::uint64_t quarantined_links = 0;
  std::uint64_t late_replies = 0;  ///< answers that no call waited for any more
  /// Acknowledgements that did not reach the agents which asked for them: that agent reads nothing
  /// (256 wait for each), is finally dead or may not be written to, or this agent has left.
  std::uint64_t acks_dropped = 0;
  std::uint64_t acks_unread = 0;  ///< acknowledgements that this agent asked for and did not read;
                                  ///< see Agent::await_ack()
  std::uint64_t copies_dropped = 0;   ///< of messages between children, when the table was full
  std::uint64_t notices_dropped = 0;  ///< see Agent::next_notice()
};

/// The traffic of an agent with one peer.
struct LinkCounters {
  Pid peer = 0;
  std::uint64_t sent = 0;            ///< messages accepted by the link
  std::uint64_t not_taken = 0;       ///< how many of them are still in its lanes
  std::uint64_t received = 0;        ///< messages taken from the peer
  std::uint64_t copies_dropped = 0;  ///< copies of messages between children that were not shown:
                                     ///< half of this parent's lane was full, or there was no link
                                     ///< to it
  bool is_away = false;              ///< the peer has no process now
};

}  // namespace beeline
