#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <beeline/types.h>

namespace beeline {

class AgentCore;
class Escalations;

/// A message that was handed out: a lease. It reads the payload in place; nothing is copied at any
/// size.
///
/// End it with done(), requeue(), put_back() or reject(); a Message that is destroyed without one
/// is requeued, as it would be if the process died. The answer to a request is done then: nobody
/// tries it again. Belongs to the thread of its Agent and must not outlive it. Bytes of the payload
/// belong to the sender's link and stay valid until the lease ends; a hostile sender may change
/// them while you look, so copy before you check and use what a peer of another user wrote.
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
  /// The sender: the owner of the link that it lies in; cannot be forged.
  [[nodiscard]] Pid from() const;
  /// Its name, as the coordinator announced it; empty where that is forgotten. Valid until the
  /// lease ends, also after the sender has.
  [[nodiscard]] std::string_view from_name() const;
  [[nodiscard]] MessageId reply_to() const;
  /// The message that its sender was handling, 0 if none; of an answer, what it answers.
  [[nodiscard]] MessageId cause() const;
  /// How many messages led to it. An answer and an escalation are as far from the origin as what
  /// they are about, unless that itself answers their sender: so what has come as far as it may
  /// (AttachOptions::max_hops) can still be answered and escalated, and every circle ends.
  [[nodiscard]] std::uint32_t hops() const;
  [[nodiscard]] TraceContext trace() const;
  /// As the receiver computed it; see Relation.
  [[nodiscard]] std::int32_t rank() const;
  /// How the sender stands to this agent now.
  [[nodiscard]] Relation relation() const;
  /// At most 31 bytes, valid until type() of another message of this agent is asked for.
  [[nodiscard]] std::string_view type() const;
  /// The same.
  [[nodiscard]] std::string_view channel() const;
  /// Nanoseconds of CLOCK_MONOTONIC (coarse, 4 ms steps), clamped to when it can have been sent.
  [[nodiscard]] std::int64_t sent_ns() const;
  /// Milliseconds after sent_ns() at which it expires, 0 = never.
  [[nodiscard]] std::uint32_t ttl_ms() const;
  /// Deliveries before this one that ended without done(); of a dead letter that was put back,
  /// those since then.
  [[nodiscard]] std::uint32_t attempts() const;
  /// It was handed out before: this is another attempt, or it was a dead letter and was put back.
  [[nodiscard]] bool redelivered() const;
  [[nodiscard]] std::span<const std::byte> payload() const;
  [[nodiscard]] std::string_view text() const;

  /// The nearest common ancestor of sender and receiver, over whom the route leads, 0 where one is
  /// the other's parent. Reads the directory.
  [[nodiscard]] Pid via() const;
  /// What one child sent to another, shown to their parent. Its type begins with kSiblingTraffic,
  /// its cause is the original, its rank low. Copies are dropped rather than delay anything.
  [[nodiscard]] bool is_copy() const;
  /// Whom the message was sent to: this agent, or, of a copy, the other child.
  [[nodiscard]] Pid to() const;
  /// The payload is only the start of what was sent, as in a copy or a broadcast of more than
  /// 64 KiB.
  [[nodiscard]] bool is_cut() const;
  /// Bytes of what was sent; those of the payload unless it is cut.
  [[nodiscard]] std::uint64_t full_length() const;
  /// A control message of somebody above: see Agent::send_control().
  [[nodiscard]] bool is_control() const;
  [[nodiscard]] bool requires_ack() const;
  /// True once its sender has taken it back. Looks at the urgent lanes first; no system call.
  [[nodiscard]] bool cancelled();

  // Each of these but defer() ends the lease. A sender that requires it is told what was done. The
  // first four do nothing where it has ended.

  /// Handled: the message and its payload memory are given back. A text answers a request that got
  /// no reply.
  void done(std::string_view reply = {});
  /// Back to its place in the inbox, one attempt more; after max_attempts it becomes a dead letter.
  /// A copy is not handed out again.
  void requeue();
  /// Back to its place in the inbox as if it had not been handed out, at no attempt and after no
  /// pause: for a holder that has done nothing with it and can do nothing now. The next receive()
  /// that it matches hands it out again.
  void put_back();
  /// A dead letter now, with the reason `rejected`.
  void reject(std::string_view reply = {});
  /// Taken over, the answer comes later: the lease goes on until Agent::reply(), which ends it, and
  /// the message is no longer being handled. The sender is told `queued`, and nothing when it is
  /// ended; a request goes on waiting for its answer.
  void defer();
  /// Hands it to the parent as an escalation with the same payload and reply_to, then it is done.
  /// Where that fails the lease goes on. Errors of Agent::escalate().
  SendResult escalate();

 private:
  friend class AgentCore;
  friend class Escalations;
  void let_go();
  // From here on the lease is the caller's.
  std::uint32_t release() {
    core_ = nullptr;
    return entry_;
  }
  Message(AgentCore* core, std::uint32_t entry) : core_(core), entry_(entry) {}
  [[nodiscard]] bool has(std::uint16_t flag) const;
  AgentCore* core_ = nullptr;
  std::uint32_t entry_ = 0;
};

/// Writable payload memory in a link, sent without copying. Unsent, it is given back by its
/// destructor. Belongs to the thread of its Agent and must not outlive it.
class Loan {
 public:
  Loan() = default;
  Loan(Loan&& other) noexcept;
  Loan& operator=(Loan&& other) noexcept;
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan();

  [[nodiscard]] bool valid() const { return core_ != nullptr; }
  /// `size()` bytes, 64-byte aligned (page-aligned from 4 KiB on). Contents are those of an earlier
  /// message.
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  /// Sends fewer bytes than were asked for. REQUIRES: bytes <= size().
  void shrink(std::size_t bytes) { size_ = bytes; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Peer peer() const { return peer_; }

 private:
  friend class AgentCore;
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
