#include "src/agent/sender.h"

#include "shm/check.h"
#include "src/agent/core.h"
#include "src/agent/letterhead.h"
#include "src/agent/send_facts.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

// A rate does not count the engine's own messages, nor control messages.
constexpr std::uint16_t kUnlimited = shm::kFlagCopy | shm::kFlagAck | shm::kFlagControl;

// The message was not sent. SUBTLE: takes the length and not the draft, which would have to lie in
// memory for it also where the send succeeds.
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
      link.note_no_room();
      result = SendFacts::of(status, link.peer(), link.not_taken());
      return;
    case SendStatus::kDenied:
      result = SendFacts::of(status, link.peer(), link.view().header().owner_pid);
      return;
    default:
      BEELINE_CHECK(status != SendStatus::kOk, link.peer(), bytes);
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
inline void Sender::pass_on(send::OutLink& link, send::Draft draft, SendResult& result) {
  if (link.rate.on() && is_limited(link, draft.envelope)) {
    result = SendFacts::of_rate(link.peer(), life_.options().send_rate);
    return;
  }
  const SendStatus status = links_.path().write(link, draft);
  if (status != SendStatus::kOk) {
    say_refused(status, link, draft.payload.size(), draft.envelope, life_.options(), result);
    return;
  }
  if (link.rate.on()) count_sent(link, draft.envelope);
  if (records_) [[unlikely]]
    turn_.recorder().note_sent(link, draft.id, draft.payload, draft.envelope);
  // SUBTLE: the facts of an earlier attempt that found no room stay, because nobody reads them.
  result.status = SendStatus::kOk;
  result.id = draft.id;
}

SendResult Sender::admit_unseen(send::OutLink& link, const send::Draft& draft) {
  SendResult result;
  pass_on(link, draft, result);
  return result;
}

SendResult Sender::admit(send::OutLink& link, const send::Draft& draft) {
  const SendResult result = admit_unseen(link, draft);
  if (link.copied && result && shows(draft.envelope)) show_to_parent(draft, link);
  return result;
}

void Sender::show_to_parent(const send::Draft& draft, send::OutLink& to) {
  if (send::OutLink* parent = links_.out_link(family_.parent()); parent != nullptr) {
    links_.path().write_copy(*parent, draft, to.peer());
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
bool Sender::has_settled(SendStatus status, send::OutLink& link) {
  deadlines_.token = Deadlines::kNever;
  if (status == SendStatus::kRateLimited) {
    const std::int64_t now = os::coarse_ns();
    link.note_no_token();
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
  return send_with(options, to, {.payload = payload, .id = id}, deadline);
}

inline SendResult Sender::send_with(const SendOptions& options, Peer to, send::Draft draft,
                                    Deadline deadline) {
  const shm::Entry* about = leases_.handled();
  // SUBTLE: most are given no options. The same way, compiled once more for a known envelope.
  if (about == nullptr && &options == &kPlainSend) {
    return send_draft({draft.payload, send::kPlainEnvelope, draft.id, draft.loan}, 0, to, deadline,
                      nullptr);
  }
  if (options.about != nullptr) [[unlikely]] {
    if (!leases_.may_send_about(options)) return SendFacts::of_origin(to.pid);
    about = leases_.origin(options);
  }
  const Letterhead head(options, about, step_of(options, to, about));
  return send_draft({draft.payload, head.envelope(), draft.id, draft.loan}, head.hops(), to,
                    deadline, nullptr);
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
inline bool Sender::try_once(Attempt& attempt) {
  const auto lock = life_.lock_send();
  send::OutLink* const link = life_.has_left() ? nullptr : links_.find(attempt.to);
  if (link == nullptr) {
    attempt.result = missing(attempt.to);
    attempt.sent_ns = os::coarse_ns();  // a loop of failed sends looks at the socket too
    return true;
  }
  if (attempt.draft.id == 0) attempt.draft.id = links_.path().reserve_id();
  if (link->copied) {
    attempt.result = admit(*link, send::Draft(attempt.draft));  // a copy: see send_draft()
  } else {
    pass_on(*link, attempt.draft, attempt.result);
  }
  if (attempt.place != nullptr) *attempt.place = links_.path().last_place();
  attempt.lost = link->needs_peer;
  attempt.sent_ns = links_.path().last_sent_ns();
  next_slot_ = links_.path().next_slot();
  return attempt.result || has_settled(attempt.result.status, *link);
}

inline SendResult Sender::send_draft(send::Draft draft, std::uint32_t hops, Peer to,
                                     Deadline deadline, send::SentPlace* place) {
  SendResult result(SendStatus::kNoRoute);
  if (life_.has_left() || !life_.still_counts()) return result;
  if (hops > life_.options().max_hops) {
    result = SendFacts::of_hops(to.pid, hops, life_.options().max_hops);
    return result;
  }
  Attempt attempt{result, draft, to, place};
  if (!try_once(attempt)) {
    send_later(attempt, deadline);  // a copy: the attempt itself is nothing but registers
    return result;
  }
  // Nobody was rung where the receiver's new life is not known yet: the announcement of it waits in
  // the control socket, and rings it.
  if (attempt.lost) turn_.take();
  turn_.take_at(attempt.sent_ns);
  return result;
}

SendResult Sender::send_under(const Letterhead& head, Peer to, std::span<const std::byte> payload,
                              Deadline deadline, MessageId id, send::SentPlace* place) {
  return send_draft({payload, head.envelope(), id}, head.hops(), to, deadline, place);
}

bool Sender::try_again(Attempt& attempt) { return try_once(attempt); }

void Sender::send_later(Attempt attempt, Deadline deadline) {
  if (!look_for_receipts(attempt.to) || !try_again(attempt)) {
    wait_for_space(attempt.to, deadline, [&] { return try_again(attempt); });
  }
  if (attempt.lost) turn_.take();
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
  // No try brings the next token sooner.
  const bool may_try = deadlines_.token == Deadlines::kNever;
  if (may_try && sleeper_.waiter().try_briefly(deadline.time_since_epoch().count(), attempt)) {
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
  if (options.about != nullptr && options.about != &message)
    return SendFacts::of_origin(message.from());
  prefetch_next_slot();
  const auto to = opener_.peer(message.from());
  if (!to) return SendFacts::of_error(to.error());
  const shm::Entry& about = receiver_.entry(Leases::entry_of(message));
  const Letterhead head(options, about.header.id, &about, step_from(about));
  const SendResult sent = send_under(head, *to, payload, deadline, 0);
  if (sent && about.is_question()) leases_.note_answered(Leases::entry_of(message));
  if (sent && leases_.is_deferred(Leases::entry_of(message))) message.done();
  return sent;
}

// It lives as long as the task.
SendResult Sender::report(const Message& task, shm::MessageKind kind, Bytes text) {
  if (life_.has_left() || !task.valid()) return SendResult(SendStatus::kNoRoute);
  const auto to = opener_.peer(task.from());
  if (!to) return SendFacts::of_error(to.error());
  const shm::Entry& about = receiver_.entry(Leases::entry_of(task));
  SendOptions options;
  options.ttl_ms = about.header.ttl_ms;
  Letterhead head(options, about.header.id, &about, step_from(about));
  head.make_kind(kind);
  return send_under(head, *to, text, Deadline::min(), 0);
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
  if (!leases_.may_send_about(options)) return SendFacts::of_origin(to.pid);
  Letterhead head(options, leases_.origin(options));
  head.make_control();
  return send_under(head, to, payload, Deadline::min(), 0);
}

SendResult Sender::send_shared(Peer to, std::span<const std::byte> payload,
                               const SendOptions& options, Deadline deadline) {
  if (life_.has_left()) return SendFacts::of(SendStatus::kNoRoute, to.pid);
  if (options.about != nullptr) return SendFacts::of_origin(to.pid);
  const Letterhead head(options, nullptr);
  for (int round = 0;; ++round) {
    SharedSend item{to, {payload, head.envelope()}};
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
  BEELINE_DCHECK(life_.holds_send());
  SharedSend* item = nullptr;
  while (queue_.try_dequeue(item)) {
    send::OutLink* link = links_.link_of(item->to);
    if (link == nullptr) {
      item->result = missing(item->to);
      continue;
    }
    item->draft.id = links_.path().reserve_id();
    item->result = admit(*link, item->draft);
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
      if (!slab && slab.status() == SendStatus::kFull) link->note_no_room();
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
  return Loan(&core_, to, {memory, bytes}, slab->slab.value(), slab->generation);
}

// SUBTLE: there is one result, so it is written where the caller wants it.
SendResult Sender::send_loan(Loan& loan, const SendOptions& options, Deadline deadline) {
  BEELINE_DCHECK(loan.valid(), loan.peer_.pid);
  prefetch_next_slot();
  shm::SlabPool::Loan slab{shm::SlabIndex(loan.slab_), loan.generation_};
  const SendResult result = send_with(
      options, loan.peer_, {.payload = {loan.data_, loan.size_}, .loan = &slab}, deadline);
  if (slab.slab == shm::kNoSlab) loan.core_ = nullptr;  // the link has it
  return result;
}

void Sender::give_back(const Loan& loan) {
  if (life_.has_left()) return;
  const auto lock = life_.lock_send();
  // A link with a loan out is never let go.
  if (send::OutLink* link = links_.link_of(loan.peer_)) {
    link->slabs.put_back({shm::SlabIndex(loan.slab_), loan.generation_});
  }
}

}  // namespace beeline
