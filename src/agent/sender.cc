#include "src/agent/sender.h"

#include "src/agent/core.h"
#include "src/agent/letterhead.h"
#include "src/agent/send_facts.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

// A rate does not count the engine's own messages, nor control messages.
constexpr std::uint16_t kUnlimited = shm::kFlagCopy | shm::kFlagAck | shm::kFlagControl;

// REQUIRES: it was not sent. SUBTLE: takes the length and not the parcel, which would have to lie
// in memory for it also where the send succeeds.
[[gnu::cold, gnu::noinline]] void say_refused(SendStatus status, send::OutLink& link,
                                              std::size_t bytes, const send::Envelope& envelope,
                                              const AttachOptions& own, SendResult& result) {
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

Sender::Sender(const Needs& needs)
    : core_(needs.core),
      life_(needs.life),
      client_(needs.client),
      receiver_(needs.receiver),
      links_(needs.links),
      opener_(needs.opener),
      arrivals_(needs.arrivals),
      family_(needs.family),
      leases_(needs.leases),
      sleeper_(needs.sleeper),
      turn_(needs.turn),
      deadlines_(needs.deadlines) {}

// Why there is no link. If a valid peer has no link any more, it was finally dead.
[[gnu::cold, gnu::noinline]] SendResult Sender::missing(Peer peer) const {
  const bool is_gone = peer.valid() && !life_.has_left();
  return SendFacts::of(is_gone ? SendStatus::kPeerDead : SendStatus::kNoRoute, peer.pid);
}

// Every send passes this: it is taken into its callers.
inline void Sender::pass_on(send::OutLink& link, const send::Parcel& parcel,
                            const send::Envelope& envelope, MessageId id, SendResult& result) {
  if (link.rate.on() && is_limited(link, envelope)) {
    result = SendFacts::of_rate(link.peer(), life_.options().send_rate);
    return;
  }
  const bool plain = &envelope == &send::kPlainEnvelope;  // known where it is compiled; see send()
  const SendStatus status = plain ? links_.path().send_plain(link, parcel, id)
                                  : links_.path().send(link, parcel, envelope, id);
  if (status != SendStatus::kOk) {
    say_refused(status, link, parcel.bytes.size(), envelope, life_.options(), result);
    return;
  }
  if (link.rate.on()) count_sent(link, envelope);
  // SUBTLE: the facts of an earlier attempt that found no room stay, because nobody reads them.
  result.status = SendStatus::kOk;
  result.id = id;
}

SendResult Sender::admit_unseen(send::OutLink& link, const send::Parcel& parcel,
                                const send::Envelope& envelope, MessageId id) {
  SendResult result;
  pass_on(link, parcel, envelope, id, result);
  return result;
}

SendResult Sender::admit(send::OutLink& link, const send::Parcel& parcel,
                         const send::Envelope& envelope, MessageId id) {
  SendResult result;
  pass_on(link, parcel, envelope, id, result);
  if (link.copied && result && shows(envelope)) {
    show_to_parent(parcel.bytes, envelope, id, link);
  }
  return result;
}

void Sender::show_to_parent(std::span<const std::byte> payload, const send::Envelope& envelope,
                            MessageId id, send::OutLink& to) {
  if (send::OutLink* parent = links_.out_link(family_.parent()); parent != nullptr) {
    links_.path().send_copy(*parent, {id, to.peer(), payload}, envelope);
  } else {
    ++to.counts.copies_dropped;
  }
}

// If the peer is dead or the route is denied, do not report a rate limit: let the send return the
// real reason.
bool Sender::is_limited(send::OutLink& link, const send::Envelope& envelope) {
  if ((envelope.flags & kUnlimited) != 0) return false;
  links_.path().follow(link);
  return !link.dead && link.may_send && link.rate.available(os::coarse_ns()) == 0;
}

void Sender::count_sent(send::OutLink& link, const send::Envelope& envelope) {
  if ((envelope.flags & kUnlimited) != 0) return;
  (void)link.rate.take(os::coarse_ns());
}

// After an attempt of this agent's own thread: whether another one is of no use.
bool Sender::has_settled(SendStatus status, const send::OutLink& link) {
  deadlines_.token = Deadlines::kNever;
  if (status == SendStatus::kRateLimited) {
    const std::int64_t now = os::coarse_ns();
    deadlines_.token = now + link.rate.ns_until(now);
  }
  return !finds_no_room(status);
}

MessageId Sender::reserve_id() {
  const auto lock = life_.lock_send();
  return links_.path().reserve_id();
}

SendResult Sender::send(Peer to, std::span<const std::byte> payload, const SendOptions& options,
                        Deadline deadline, MessageId id) {
  return send_parcel(to, payload, options, deadline, id);
}

[[gnu::always_inline]] inline SendResult Sender::send_parcel(Peer to, const send::Parcel& parcel,
                                                             const SendOptions& options,
                                                             Deadline deadline, MessageId id) {
  const shm::Entry* about = leases_.handled();
  // SUBTLE: most are given no options. The same way, compiled once more for a known envelope.
  if (about == nullptr && &options == &kPlainSend) {
    return send_draft(send::kPlainEnvelope, 0, to, parcel, deadline, id, nullptr);
  }
  const Letterhead head(options, about, step_of(options, to, about));
  return send_draft(head.envelope(), head.hops(), to, parcel, deadline, id, nullptr);
}

// An answer to a message, and its escalation, are as far from the origin as the message is: a
// message that came as far as it may can be answered and escalated. One that answers this agent
// counts, so of two steps that lead back to where they began at least one does, and every circle
// ends.
std::uint32_t Sender::step_from(const shm::Entry& message) const {
  return shm::pid_of_message(message.header.reply_to) == life_.pid() ? 1 : 0;
}

// A message with these options may answer the one that is being handled.
std::uint32_t Sender::step_of(const SendOptions& options, Peer to, const shm::Entry* about) const {
  const bool answers = about != nullptr && options.reply_to == about->header.id &&
                       to.pid == shm::pid_of_message(about->header.id);
  return answers ? step_from(*about) : 1;
}

// One try. The link is looked up for each: while we wait, its receiver may die and the link go.
inline bool Sender::try_once(Draft& draft) {
  const auto lock = life_.lock_send();
  send::OutLink* const link = life_.has_left() ? nullptr : links_.find(draft.to);
  if (link == nullptr) {
    draft.result = missing(draft.to);
    draft.sent_ns = os::coarse_ns();  // a loop of failed sends looks at the socket too
    return true;
  }
  if (draft.id == 0) draft.id = links_.path().reserve_id();
  if (link->copied) {
    draft.result = admit(*link, draft.parcel, draft.envelope, draft.id);
  } else {
    pass_on(*link, draft.parcel, draft.envelope, draft.id, draft.result);
  }
  if (draft.place != nullptr) *draft.place = links_.path().last_place();
  draft.lost = link->needs_peer;
  draft.sent_ns = links_.path().last_sent_ns();
  return draft.result || has_settled(draft.result.status, *link);
}

inline SendResult Sender::send_draft(const send::Envelope& envelope, std::uint32_t hops, Peer to,
                                     const send::Parcel& parcel, Deadline deadline, MessageId id,
                                     send::SentPlace* place) {
  SendResult result(SendStatus::kNoRoute);
  if (life_.has_left() || !life_.still_counts()) return result;
  if (hops > life_.options().max_hops) {
    result = SendFacts::of_hops(to.pid, hops, life_.options().max_hops);
    return result;
  }
  Draft draft{result, envelope, parcel, to, id, place};
  if (!try_once(draft)) {
    send_later(draft, deadline);  // a copy: the draft itself is nothing but registers
    return result;
  }
  // Nobody was rung where the receiver's new life is not known yet: the announcement of it waits in
  // the control socket, and rings it.
  if (draft.lost) turn_.take();
  turn_.take_at(draft.sent_ns);
  return result;
}

SendResult Sender::send_under(const Letterhead& head, Peer to, const send::Parcel& parcel,
                              Deadline deadline, MessageId id, send::SentPlace* place) {
  return send_draft(head.envelope(), head.hops(), to, parcel, deadline, id, place);
}

bool Sender::try_again(Draft& draft) { return try_once(draft); }

void Sender::send_later(Draft draft, Deadline deadline) {
  if (!look_for_receipts(draft.to) || !try_again(draft)) {
    wait_for_space(draft.to, deadline, [&] { return try_again(draft); });
  }
  if (draft.lost) turn_.take();
  deadlines_.token = Deadlines::kNever;
}

// A sender that never receives learns here of the link in which its receipts lie. True when it is
// worth another try.
bool Sender::look_for_receipts(Peer to) {
  const auto is_known = [&] {
    const auto lock = life_.lock_send();
    const send::OutLink* link = links_.link_of(to);
    return link != nullptr && link->receipts.bank != shm::kBanks;
  };
  if (is_known() && os::coarse_ns() == turn_.taken_ns()) return false;
  turn_.take();
  return true;
}

// Waits until the attempt has settled, or not at all when the deadline is none.
template <typename Try>
void Sender::wait_for_space(Peer to, Deadline deadline, Try&& attempt) {
  if (deadline == Deadline::min()) {
    deadlines_.token = Deadlines::kNever;
    return;
  }
  const auto want = [&](bool wanted) {
    const auto lock = life_.lock_send();
    send::OutLink* link = links_.link_of(to);
    if (link != nullptr) send::SendPath::want_space(*link, send::SpaceFor::kWait, wanted);
  };
  want(true);
  {
    const Sleeper::Blocked blocked(sleeper_);
    sleeper_.wait_with(
        deadline.time_since_epoch().count(), [] { return false; }, attempt, wake::Always());
  }
  want(false);
  deadlines_.token = Deadlines::kNever;
}

// An answer belongs to what it answers, whatever else is being handled. It is all that was to come
// of a message that was taken over.
SendResult Sender::reply(Message& message, std::span<const std::byte> payload,
                         const SendOptions& options, Deadline deadline) {
  if (life_.has_left() || !message.valid()) return SendResult(SendStatus::kNoRoute);
  send::prefetch_next_slot();
  const auto to = opener_.peer(message.from());
  if (!to) return SendFacts::of_error(to.error());
  const shm::Entry& about = receiver_.entry(Leases::entry_of(message));
  const Letterhead head(options, about.header.id, &about, step_from(about));
  const SendResult sent = send_under(head, *to, payload, deadline, 0);
  if (sent && about.is_question()) leases_.note_answered(Leases::entry_of(message));
  if (sent && leases_.is_deferred(Leases::entry_of(message))) message.done();
  return sent;
}

SendResult Sender::cancel(Peer to, MessageId id) {
  SendOptions options;
  options.type = kCancelOrder;
  options.reply_to = id;
  options.inherit = false;
  const SendResult sent = send_control(to, std::span<const std::byte>(), options);
  if (sent) receiver_.answers().close(id, to.pid);
  return sent;
}

SendResult Sender::send_control(Peer to, std::span<const std::byte> payload,
                                const SendOptions& options) {
  Letterhead head(options, leases_.handled());
  head.make_control();
  return send_under(head, to, payload, Deadline::min(), 0);
}

SendResult Sender::send_shared(Peer to, std::span<const std::byte> payload,
                               const SendOptions& options, Deadline deadline) {
  if (life_.has_left()) return SendFacts::of(SendStatus::kNoRoute, to.pid);
  const Letterhead head(options, nullptr);
  for (int round = 0;; ++round) {
    SharedSend item;
    item.to = to;
    item.payload = payload;
    item.envelope = &head.envelope();
    if (!queue_.enqueue(&item)) return item.result;
    {
      // The thread that holds the send side flushes all messages, so ours is answered by now.
      const auto lock = life_.lock_shared_send();
      flush_shared();
    }
    ++send::sends_of_thread;  // the thread that flushed it counted its own
    if (item.lost) learn_early(to);
    if (!finds_no_room(item.result.status) || std::chrono::steady_clock::now() >= deadline) {
      return item.result;
    }
    wake::nap(round);
  }
}

void Sender::flush_shared() {
  SharedSend* item = nullptr;
  while (queue_.try_dequeue(item)) {
    send::OutLink* link = links_.link_of(item->to);
    if (link == nullptr) {
      item->result = missing(item->to);
      continue;
    }
    item->result = admit(*link, item->payload, *item->envelope, links_.path().reserve_id());
    item->lost = link->needs_peer || link->receipts.bank == shm::kBanks;
  }
}

// The agent's own thread may be busy for long: a sender learns here that its receiver runs again,
// or how far it has read, as soon as that is announced.
void Sender::learn_early(Peer to) {
  auto announced = client_.peek_link(to.pid);
  if (!announced || shm::contract_error(announced->contract) != nullptr) return;
  auto memory = arrivals_.map_link(*announced);
  if (!memory) return;
  const auto lock = life_.lock_shared_send();
  if (announced->process &&
      !links_.lives().learn(to.pid, announced->incarnation, std::move(announced->status),
                            std::move(announced->event))) {
    return;
  }
  links_.lives().show_early(to.pid, announced->incarnation, std::move(*memory),
                            announced->contract);
  if (send::OutLink* link = links_.link_of(to); link != nullptr) links_.path().refresh(*link);
}

Result<Loan> Sender::loan(Peer to, std::size_t bytes, Deadline deadline) {
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  if (!to.valid()) return fail(ErrorCode::kInvalid, "loan: " + std::string(kNoPeer));
  send::TakenSlab slab = SendStatus::kFull;
  std::uint64_t limit = life_.contract().max_payload_bytes;
  std::byte* memory = nullptr;
  const auto take = [&] {
    const auto lock = life_.lock_send();
    send::OutLink* link = links_.link_of(to);
    if (link != nullptr) links_.path().follow(*link);
    if (link == nullptr) {
      slab = missing(to).status;
    } else if (link->dead) {
      slab = SendStatus::kPeerDead;
    } else {
      slab = link->take_slab(bytes);
      limit = link->max_payload();
      if (slab) memory = link->slab_bytes(*slab);
    }
    return slab || slab.status() != SendStatus::kFull;
  };
  if (!take() && !(look_for_receipts(to) && take())) wait_for_space(to, deadline, take);
  if (!slab) {
    const SendStatus status = slab.status();
    const SendResult refused =
        status == SendStatus::kTooBig
            ? SendFacts::of_payload(to.pid, bytes, limit, life_.options().max_payload_bytes == 0)
            : SendFacts::of(status, to.pid, status == SendStatus::kNoMemory ? bytes : 0);
    return fail(error_of(status), "loan of " + std::to_string(bytes) + " bytes for agent " +
                                      std::to_string(to.pid) + ": " + SendFacts::reason(refused));
  }
  return Loan(&core_, to, {memory, bytes}, slab->slab, slab->generation);
}

// REQUIRES: a valid loan. SUBTLE: there is one result, so it is written where the caller wants it.
SendResult Sender::send_loan(Loan& loan, const SendOptions& options, Deadline deadline) {
  send::prefetch_next_slot();
  shm::SlabPool::Loan slab{loan.slab_, loan.generation_};
  const send::Parcel parcel({loan.data_, loan.size_}, &slab);
  const SendResult result = send_parcel(loan.peer_, parcel, options, deadline, 0);
  if (slab.slab == shm::kNoSlab) loan.core_ = nullptr;  // the link has it
  return result;
}

void Sender::give_back(const Loan& loan) {
  if (life_.has_left()) return;
  const auto lock = life_.lock_send();
  // A link with a loan out is never let go.
  if (send::OutLink* link = links_.link_of(loan.peer_)) {
    link->slabs.put_back({loan.slab_, loan.generation_});
  }
}

}  // namespace beeline
