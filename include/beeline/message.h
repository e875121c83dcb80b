#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline {

class AgentCore;
class Escalations;

/// A message that was handed out: a lease. It reads the payload in place; nothing is copied at any
/// size.
///
/// End it with done(), requeue(), put_back() or reject(). A Message that is destroyed without one
/// of them is requeued, as it would be if the process died; but the answer to a request is done
/// then, because no other attempt is made to handle it. A Message belongs to the thread of its
/// Agent and must not outlive the Agent. The bytes of the payload belong to the sender's link and
/// stay valid until the lease ends. A hostile sender may change them while you look: if a peer of
/// another user wrote them, copy first, then check and use the copy.
class Message {
 public:
  Message() = default;
  Message(Message&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), entry_(other.entry_) {}
  Message& operator=(Message&& other) noexcept {
    if (this == &other) return *this;
    if (valid()) let_go();
    core_ = std::exchange(other.core_, nullptr);
    entry_ = other.entry_;
    return *this;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() {
    if (valid()) let_go();
  }

  /// False after it was moved from or ended.
  [[nodiscard]] bool valid() const { return core_ != nullptr; }

  // REQUIRES for all below: valid().
  [[nodiscard]] MessageId id() const;
  /// The sender: the owner of the link in which the message lies. It cannot be forged.
  [[nodiscard]] Pid from() const;
  /// Name of the sender, as the coordinator announced it; empty if this agent has forgotten it.
  /// Valid until the lease ends, even if the sender ends before.
  [[nodiscard]] std::string_view from_name() const;
  [[nodiscard]] MessageId reply_to() const;
  /// The message that its sender was handling, 0 if none. For an answer: the message that it
  /// answers.
  [[nodiscard]] MessageId cause() const;
  /// How many messages led to it. An answer or an escalation has as many hops as the message that
  /// it is about, so a message at the limit (AttachOptions::max_hops) can still be answered and
  /// escalated. If that message is itself an answer to their sender, they have one hop more, so
  /// every circle ends.
  [[nodiscard]] std::uint32_t hops() const;
  [[nodiscard]] TraceContext trace() const;
  /// The rank as the receiver computed it; see Relation.
  [[nodiscard]] std::int32_t rank() const;
  /// The relation of the sender to this agent now.
  [[nodiscard]] Relation relation() const;
  /// At most 31 bytes. Valid until type() of another message of this agent is called.
  [[nodiscard]] std::string_view type() const;
  /// Like type().
  [[nodiscard]] std::string_view channel() const;
  /// Nanoseconds of CLOCK_MONOTONIC (coarse, 4 ms steps), clamped to the time in which it can have
  /// been sent.
  [[nodiscard]] std::int64_t sent_ns() const;
  /// Milliseconds after sent_ns() at which it expires, 0 = never.
  [[nodiscard]] std::uint32_t ttl_ms() const;
  /// Deliveries before this one that ended without done(). For a dead letter that was put back:
  /// deliveries since then.
  [[nodiscard]] std::uint32_t attempts() const;
  /// True if it was handed out before, or was a dead letter and was put back.
  [[nodiscard]] bool redelivered() const;
  [[nodiscard]] std::span<const std::byte> payload() const;
  [[nodiscard]] std::string_view text() const;

  /// The nearest common ancestor of sender and receiver, through which the route leads; 0 if one is
  /// the parent of the other. Reads the directory.
  [[nodiscard]] Pid via() const;
  /// True for a copy of a message from one child to another, shown to their parent. Its type begins
  /// with kSiblingTraffic, its cause is the original, its rank is low. Copies are dropped rather
  /// than delay anything.
  [[nodiscard]] bool is_copy() const;
  /// The agent that the message was sent to: this agent, or for a copy the other child.
  [[nodiscard]] Pid to() const;
  /// True if the payload is only the start of the original, as in a copy or a broadcast of more
  /// than 64 KiB.
  [[nodiscard]] bool is_cut() const;
  /// Bytes of the original; the size of the payload unless it is cut.
  [[nodiscard]] std::uint64_t full_length() const;
  /// True for a control message from an agent above: see Agent::send_control().
  [[nodiscard]] bool is_control() const;
  [[nodiscard]] bool requires_ack() const;
  /// True once its sender has taken it back. Looks at the urgent lanes first; no system call.
  [[nodiscard]] bool cancelled();

  // Each of these except defer() ends the lease. A sender that requires an acknowledgement gets one
  // that says how. The first four do nothing if the lease has ended.

  /// Handled: the receiver gives back the message and its payload memory. A text answers a request
  /// that got no reply.
  void done(std::string_view reply = {});
  /// Puts it back to its place in the inbox with one attempt more; after max_attempts it becomes a
  /// dead letter. A copy is not handed out again.
  void requeue();
  /// Puts it back to its place in the inbox as if it had not been handed out: no attempt, no pause.
  /// For a holder that has done nothing with the message and can do nothing now. The next receive()
  /// that it matches hands it out again.
  void put_back();
  /// Makes it a dead letter with the reason `rejected`.
  void reject(std::string_view reply = {});
  /// Takes the message over to answer it later. The lease goes on until Agent::reply() ends it; the
  /// agent counts as handling it no longer. The sender is told `queued` now, and nothing when the
  /// lease ends; a request goes on waiting for its answer.
  void defer();
  /// Hands it to the parent as an escalation with the same payload and reply_to, then ends it as
  /// done() does. If that fails, the lease goes on. Errors of Agent::escalate().
  SendResult escalate();

 private:
  friend class Leases;
  void let_go();
  // After this the caller owns the lease.
  std::uint32_t release() {
    core_ = nullptr;
    return entry_;
  }
  Message(AgentCore* core, std::uint32_t entry) : core_(core), entry_(entry) {}
  [[nodiscard]] bool has(std::uint16_t flag) const;
  AgentCore* core_ = nullptr;
  std::uint32_t entry_ = 0;
};

/// Writable payload memory in a link, sent without copying. The destructor gives it back if it was
/// not sent. Belongs to the thread of its Agent and must not outlive the Agent.
class Loan {
 public:
  Loan() = default;
  Loan(Loan&& other) noexcept;
  Loan& operator=(Loan&& other) noexcept;
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan();

  [[nodiscard]] bool valid() const { return core_ != nullptr; }
  /// `size()` bytes, 64-byte aligned (page-aligned from 4 KiB on). They hold bytes of an earlier
  /// message.
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  /// Makes the message shorter than the loan. A loan does not grow. Errors: kInvalid (more than
  /// size() bytes; the loan stays as it is).
  Result<void> shrink(std::size_t bytes);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Peer peer() const { return peer_; }

 private:
  friend class Sender;
  Loan(AgentCore* core, Peer peer, std::span<std::byte> bytes, std::uint32_t slab,
       std::uint64_t generation)
      : core_(core),
        peer_(peer),
        data_(bytes.data()),
        size_(bytes.size()),
        slab_(slab),
        generation_(generation) {}
  AgentCore* core_ = nullptr;
  Peer peer_{};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t slab_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace beeline
