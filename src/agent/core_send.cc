// The send side of an agent: peers by slot, waiting for space, loans, and sends of other threads.

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/core_wait.h"
#include "src/agent/letterhead.h"
#include "src/agent/send_facts.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

// What is not counted against a rate: the engine's own messages, and those that control somebody.
constexpr std::uint16_t kUnlimited = shm::kFlagCopy | shm::kFlagAck | shm::kFlagControl;

SendStatus status_of(send::Outcome outcome) {
  switch (outcome) {
    case send::Outcome::kOk:
      return SendStatus::kOk;
    case send::Outcome::kFull:
      return SendStatus::kFull;
    case send::Outcome::kTooBig:
      return SendStatus::kTooBig;
    case send::Outcome::kDead:
    case send::Outcome::kOrphaned:
      return SendStatus::kPeerDead;
    case send::Outcome::kNoMemory:
      return SendStatus::kNoMemory;
    case send::Outcome::kDenied:
      return SendStatus::kDenied;
  }
  return SendStatus::kNoRoute;
}

// REQUIRES: it was not sent. SUBTLE: takes the length and not the parcel, which would have to lie
// in memory for it also where the send succeeds.
[[gnu::cold, gnu::noinline]] void say_refused(send::Outcome outcome, send::OutLink& link,
                                              std::size_t bytes, const send::Envelope& envelope,
                                              const AttachOptions& own, SendResult& result) {
  const SendStatus status = status_of(outcome);
  switch (status) {
    case SendStatus::kTooBig:
      result = bytes > link.max_payload()
                   ? SendFacts::of_payload(link.peer(), bytes, link.max_payload(),
                                           own.max_payload_bytes == 0)
                   : SendFacts::of_texts(link.peer(), envelope.type, envelope.channel);
      return;
    case SendStatus::kFull:
      result = SendFacts::of(status, link.peer(), link.not_taken());
      return;
    case SendStatus::kDenied:
      result = SendFacts::of(status, link.peer(), link.view().header().owner_pid);
      return;
    default:
      result = SendFacts::of(status, link.peer(), bytes);
  }
}

// Acknowledgements and orders to cancel are no words between siblings.
bool shows(const send::Envelope& envelope) {
  if ((envelope.flags & shm::kFlagAck) != 0) return false;
  return (envelope.flags & shm::kFlagControl) == 0 || envelope.type != kCancelOrder;
}

}  // namespace

// Why there is no link. A peer that was valid and whose link is gone was finally dead.
[[gnu::cold, gnu::noinline]] SendResult AgentCore::missing(Peer peer) const {
  const bool is_gone = peer.valid() && !has_left();
  return SendFacts::of(is_gone ? SendStatus::kPeerDead : SendStatus::kNoRoute, peer.pid);
}

// What each send comes to, in whichever call: taken into it.
inline void AgentCore::pass_on(send::OutLink& link, const send::Parcel& parcel,
                               const send::Envelope& envelope, MessageId id, SendResult& result) {
  if (link.rate.on() && is_limited(link, envelope)) {
    result = SendFacts::of_rate(link.peer(), options_.send_rate);
    return;
  }
  const bool plain = &envelope == &send::kPlainEnvelope;  // known where it is compiled; see send()
  const send::Outcome outcome =
      plain ? send_path_.send_plain(link, parcel, id) : send_path_.send(link, parcel, envelope, id);
  if (outcome != send::Outcome::kOk) {
    say_refused(outcome, link, parcel.bytes.size(), envelope, options_, result);
    return;
  }
  if (link.rate.on()) count_sent(link, envelope);
  // SUBTLE: what it says of an earlier attempt that found no room is read by nobody any more.
  result.status = SendStatus::kOk;
  result.id = id;
}

SendResult AgentCore::send_unseen(send::OutLink& link, const send::Parcel& parcel,
                                  const send::Envelope& envelope, MessageId id) {
  SendResult result;
  pass_on(link, parcel, envelope, id, result);
  return result;
}

SendResult AgentCore::send_now(send::OutLink& link, const send::Parcel& parcel,
                               const send::Envelope& envelope, MessageId id) {
  SendResult result;
  pass_on(link, parcel, envelope, id, result);
  if (link.copied && result && shows(envelope)) {
    show_to_parent(parcel.bytes, envelope, id, link);
  }
  return result;
}

// Whom waiting for a token would not help learns the true reason from the send itself.
bool AgentCore::is_limited(send::OutLink& link, const send::Envelope& envelope) {
  if ((envelope.flags & kUnlimited) != 0) return false;
  send_path_.follow(link);
  return !link.dead && link.may_send && link.rate.available(os::coarse_ns()) == 0;
}

void AgentCore::count_sent(send::OutLink& link, const send::Envelope& envelope) {
  if ((envelope.flags & kUnlimited) != 0) return;
  static_cast<void>(link.rate.take(os::coarse_ns()));
}

// After an attempt of this agent's own thread: whether another one is of no use.
bool AgentCore::has_settled(SendStatus status, const send::OutLink& link) {
  again_ns_ = kNoToken;
  if (status == SendStatus::kRateLimited) {
    const std::int64_t now = os::coarse_ns();
    again_ns_ = now + link.rate.ns_until(now);
  }
  return !finds_no_room(status);
}

MessageId AgentCore::reserve_id() {
  const auto lock = lock_send();
  return send_path_.reserve_id();
}

SendResult AgentCore::send(Peer to, std::span<const std::byte> payload, const SendOptions& options,
                           Deadline deadline, MessageId id) {
  return send_parcel(to, payload, options, deadline, id);
}

[[gnu::always_inline]] inline SendResult AgentCore::send_parcel(Peer to, const send::Parcel& parcel,
                                                                const SendOptions& options,
                                                                Deadline deadline, MessageId id) {
  const shm::Entry* about = handled();
  // SUBTLE: most are given no options. The same way, compiled once more for a known envelope.
  if (about == nullptr && &options == &kPlainSend) {
    return deliver(send::kPlainEnvelope, 0, to, parcel, deadline, id, nullptr);
  }
  const Letterhead head(options, about, step_of(options, to, about));
  return deliver(head.envelope(), head.hops(), to, parcel, deadline, id, nullptr);
}

// An answer belongs to what it answers, whatever else is being handled. It is all that was to come
// of a message that was taken over.
SendResult AgentCore::reply(Message& message, std::span<const std::byte> payload,
                            const SendOptions& options, Deadline deadline) {
  if (has_left() || !message.valid()) return SendResult(SendStatus::kNoRoute);
  send::prefetch_next_slot();
  const auto to = peer(message.from());
  if (!to) return SendFacts::of_error(to.error());
  const shm::Entry& about = receiver_->entry(message.entry_);
  const Letterhead head(options, about.header.id, &about, step_from(about));
  const SendResult sent = send_as(head, *to, payload, deadline, 0);
  if (sent && about.is_question()) answered_.push_back(message.entry_);
  if (sent && is_deferred(message.entry_)) message.done();
  return sent;
}

// An answer to a message, and its escalation, are as far from the origin as the message is: what
// came as far as it may can be answered and escalated. One that answers this agent counts, so of
// two steps that lead back to where they began at least one does, and every circle ends.
std::uint32_t AgentCore::step_from(const shm::Entry& message) const {
  return shm::pid_of_message(message.header.reply_to) == pid_ ? 1 : 0;
}

// What is sent with these options while a message is handled, or none, may answer that.
std::uint32_t AgentCore::step_of(const SendOptions& options, Peer to,
                                 const shm::Entry* about) const {
  const bool answers = about != nullptr && options.reply_to == about->header.id &&
                       to.pid == shm::pid_of_message(about->header.id);
  return answers ? step_from(*about) : 1;
}

// One try. The link is looked up for each: while we wait, its receiver may die and the link go.
inline bool AgentCore::settle(Attempt& attempt) {
  const auto lock = lock_send();
  send::OutLink* const link = link_of(attempt.to);
  if (link == nullptr) {
    attempt.result = missing(attempt.to);
    attempt.sent_ns = os::coarse_ns();  // who does nothing else looks at its control socket too
    return true;
  }
  if (attempt.id == 0) attempt.id = send_path_.reserve_id();
  if (link->copied) {
    attempt.result = send_now(*link, attempt.parcel, attempt.envelope, attempt.id);
  } else {
    pass_on(*link, attempt.parcel, attempt.envelope, attempt.id, attempt.result);
  }
  if (attempt.place != nullptr) *attempt.place = send_path_.last_place();
  attempt.lost = link->needs_peer;
  attempt.sent_ns = send_path_.last_sent_ns();
  return attempt.result || has_settled(attempt.result.status, *link);
}

inline SendResult AgentCore::deliver(const send::Envelope& envelope, std::uint32_t hops, Peer to,
                                     const send::Parcel& parcel, Deadline deadline, MessageId id,
                                     send::SentPlace* place) {
  SendResult result(SendStatus::kNoRoute);
  if (has_left() || !still_counts()) return result;
  if (hops > options_.max_hops) {
    result = SendFacts::of_hops(to.pid, hops, options_.max_hops);
    return result;
  }
  Attempt attempt{result, envelope, parcel, to, id, place};
  if (!settle(attempt)) {
    send_later(attempt, deadline);  // a copy: the attempt itself is nothing but registers
    return result;
  }
  // Nobody was rung where the receiver's new life is not known yet: what tells us of it waits in
  // the control socket, and rings it.
  if (attempt.lost) poll_control();
  poll_control_at(attempt.sent_ns);
  return result;
}

SendResult AgentCore::send_as(const Letterhead& head, Peer to, const send::Parcel& parcel,
                              Deadline deadline, MessageId id, send::SentPlace* place) {
  return deliver(head.envelope(), head.hops(), to, parcel, deadline, id, place);
}

bool AgentCore::settle_again(Attempt& attempt) { return settle(attempt); }

void AgentCore::send_later(Attempt attempt, Deadline deadline) {
  if (!look_for_receipts(attempt.to) || !settle_again(attempt)) {
    wait_for_space(attempt.to, deadline, [&] { return settle_again(attempt); });
  }
  if (attempt.lost) poll_control();
  again_ns_ = kNoToken;
}

// A sender that never receives learns here of the link in which its receipts lie. True when it is
// worth another try.
bool AgentCore::look_for_receipts(Peer to) {
  const auto is_known = [&] {
    const auto lock = lock_send();
    const send::OutLink* link = link_of(to);
    return link != nullptr && link->receipts.bank != shm::kBanks;
  };
  if (is_known() && os::coarse_ns() == control_tick_ns_) return false;
  poll_control();
  return true;
}

// Waits until the attempt has settled, or not at all when the deadline is none.
template <typename Try>
void AgentCore::wait_for_space(Peer to, Deadline deadline, Try&& attempt) {
  if (deadline == Deadline::min()) {
    again_ns_ = kNoToken;
    return;
  }
  const auto want = [&](bool wanted) {
    const auto lock = lock_send();
    send::OutLink* link = link_of(to);
    if (link != nullptr) send::SendPath::want_space(*link, send::SpaceFor::kWait, wanted);
  };
  want(true);
  {
    const Blocked blocked(*this);
    wait_with(
        deadline.time_since_epoch().count(), [] { return false; }, attempt, wake::Always());
  }
  want(false);
  again_ns_ = kNoToken;
}

SendResult AgentCore::send_shared(Peer to, std::span<const std::byte> payload,
                                  const SendOptions& options, Deadline deadline) {
  if (has_left()) return SendFacts::of(SendStatus::kNoRoute, to.pid);
  const Letterhead head(options, nullptr);
  for (int round = 0;; ++round) {
    SharedSend item;
    item.to = to;
    item.payload = payload;
    item.envelope = &head.envelope();
    if (!queue_.enqueue(&item)) return item.result;
    {
      // Whoever holds the send side flushes everybody's, so ours is answered when we have held it.
      const std::lock_guard lock(send_mutex_);
      flush_shared();
    }
    ++send::sends_of_thread;  // whoever flushed it has counted it as its own
    if (item.lost) learn_early(to);
    if (!finds_no_room(item.result.status) || std::chrono::steady_clock::now() >= deadline) {
      return item.result;
    }
    wake::nap(round);
  }
}

void AgentCore::flush_shared() {
  SharedSend* item = nullptr;
  while (queue_.try_dequeue(item)) {
    send::OutLink* link = link_of(item->to);
    if (link == nullptr) {
      item->result = missing(item->to);
      continue;
    }
    item->result = send_now(*link, item->payload, *item->envelope, send_path_.reserve_id());
    item->lost = link->needs_peer || link->receipts.bank == shm::kBanks;
  }
}

// The agent's own thread may be busy for long: what a sender must know of its receiver, that it
// runs again or how far it has read, is learnt here as soon as it is announced.
void AgentCore::learn_early(Peer to) {
  auto announced = client_.peek_link(to.pid);
  if (!announced || shm::contract_error(announced->contract) != nullptr) return;
  auto memory = map_link(*announced);
  if (!memory) return;
  const std::lock_guard lock(send_mutex_);
  if (announced->process &&
      !lives_.learn(to.pid, announced->incarnation, std::move(announced->status),
                    std::move(announced->event))) {
    return;
  }
  lives_.show_early(to.pid, announced->incarnation, std::move(*memory), announced->contract);
  if (send::OutLink* link = link_of(to); link != nullptr) send_path_.refresh(*link);
}

Result<Loan> AgentCore::loan(Peer to, std::size_t bytes, Deadline deadline) {
  if (has_left()) return fail(ErrorCode::kClosed, why_down());
  if (!to.valid()) return fail(ErrorCode::kInvalid, "loan: " + std::string(kNoPeer));
  send::TakenSlab slab = ErrorCode::kFull;
  std::uint64_t limit = contract_.max_payload_bytes;
  std::byte* memory = nullptr;
  const auto take = [&] {
    const auto lock = lock_send();
    send::OutLink* link = link_of(to);
    if (link != nullptr) send_path_.follow(*link);
    if (link == nullptr) {
      slab = error_of(missing(to).status);
    } else if (link->dead) {
      slab = ErrorCode::kPeerDead;
    } else {
      slab = link->take_slab(bytes);
      limit = link->max_payload();
      if (slab) memory = link->slab_bytes(*slab);
    }
    return slab || slab.error() != ErrorCode::kFull;
  };
  if (!take() && !(look_for_receipts(to) && take())) wait_for_space(to, deadline, take);
  if (!slab) {
    const bool is_too_big = slab.error() == ErrorCode::kTooBig;
    const SendResult refused =
        is_too_big ? SendFacts::of_payload(to.pid, bytes, limit, options_.max_payload_bytes == 0)
                   : SendFacts::of(status_of(slab.error()), to.pid,
                                   slab.error() == ErrorCode::kNoMemory ? bytes : 0);
    return fail(slab.error(), "loan of " + std::to_string(bytes) + " bytes for agent " +
                                  std::to_string(to.pid) + ": " + SendFacts::reason(refused));
  }
  return Loan(this, to, {memory, bytes}, slab->slab, slab->generation);
}

// REQUIRES: a valid loan. SUBTLE: there is one result, so it is written where the caller wants it.
SendResult AgentCore::send_loan(Loan& loan, const SendOptions& options, Deadline deadline) {
  send::prefetch_next_slot();
  shm::SlabPool::Loan slab{loan.slab_, loan.generation_};
  const send::Parcel parcel({loan.data_, loan.size_}, &slab);
  const SendResult result = send_parcel(loan.peer_, parcel, options, deadline, 0);
  if (slab.slab == shm::kNoSlab) loan.core_ = nullptr;  // the link has it
  return result;
}

void AgentCore::give_back(const Loan& loan) {
  if (has_left()) return;
  const auto lock = lock_send();
  // A link with a loan out is never let go.
  if (send::OutLink* link = link_of(loan.peer_)) {
    link->slabs.put_back({loan.slab_, loan.generation_});
  }
}

}  // namespace beeline
