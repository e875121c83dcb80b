#include "src/agent/debts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "shm/check.h"
#include "src/agent/escalations.h"
#include "src/agent/leases.h"
#include "src/agent/letterhead.h"
#include "src/agent/sender.h"
#include "src/agent/sleeper.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

constexpr std::ptrdiff_t kMostOwed = 256;       // to one peer
constexpr std::int64_t kOwing = 1'000'000'000;  // nobody rings when there is memory again

bool is_ack(const Debt& debt) { return debt.kind == Debt::Kind::kAck; }

}  // namespace

Debts::Debts(const Needs& needs)
    : life_(needs.life),
      receiver_(needs.receiver),
      links_(needs.links),
      sender_(needs.sender),
      leases_(needs.leases),
      escalations_(needs.escalations),
      sleeper_(needs.sleeper) {}

// Tells a sender that has asked how its message ended. A reply that is too long for a message of
// this agent is cut.
void Debts::acknowledge(Subject about, AckStatus status, std::string_view reply) {
  const MessageId id = about.id;
  const std::string_view part = reply.substr(0, life_.contract().max_payload_bytes);
  const bool cut = part.size() < reply.size();
  owe({Debt::Kind::kAck,
       shm::pid_of_message(id),
       {id, status, std::string(part), cut},
       about.is_question});
  pay_debts();
}

void Debts::answer(MessageId question, shm::EntryIndex entry, std::string_view text) {
  const AckStatus accepted = AckStatus::kAccepted;
  debts_.push_back({Debt::Kind::kAnswer,
                    shm::pid_of_message(question),
                    {question, accepted, std::string(text)},
                    true,
                    entry});
  pay_debts();
}

void Debts::cancel(Pid peer, MessageId id) {
  owe({Debt::Kind::kCancel, peer, {id}});
  pay_debts();
}

// A peer that reads nothing loses the oldest debts to it, but no answer: how many of them
// there are is bounded by the inbox, in which their messages are.
void Debts::owe(Debt debt) {
  const auto is_theirs = [to = debt.to](const Debt& other) {
    return other.to == to && other.kind != Debt::Kind::kAnswer;
  };
  if (std::count_if(debts_.begin(), debts_.end(), is_theirs) >= kMostOwed) {
    const auto oldest = std::find_if(debts_.begin(), debts_.end(), is_theirs);
    if (is_ack(*oldest)) ++acks_dropped_;
    debts_.erase(oldest);
  }
  debts_.push_back(std::move(debt));
}

void Debts::pay_debts() {
  escalations_.drop_cancelled();  // the loop below refuses their senders
  for (const receive::Refused& refused : receiver_.kept().take_refused()) {
    owe({Debt::Kind::kAck,
         shm::pid_of_message(refused.id),
         {refused.id, AckStatus::kRejected, std::string(refused.why)},
         refused.is_question});
  }
  is_unrung_ = !debts_.empty() && !pay_each();
  escalations_.send_waiting();
  sleeper_.renew_timer();
}

// Each peer's in their order; one that takes nothing holds up no other. False if a
// debt waits for something that no peer rings for.
bool Debts::pay_each() {
  if (life_.has_left()) return true;
  using Creditor = std::pair<Pid, Debt::Kind>;  // each kind has a lane of its own
  std::vector<Creditor> paid;
  std::vector<Creditor> full;
  std::vector<Debt> over;  // answers that were sent, or never can be
  bool all_ring = true;
  std::erase_if(debts_, [&](Debt& debt) {
    const Creditor creditor{debt.to, debt.kind};
    if (std::find(full.begin(), full.end(), creditor) != full.end()) return false;
    const SendStatus status = pay(debt);
    if (is_transient(status)) {
      full.push_back(creditor);
      all_ring &= status == SendStatus::kFull && links_.out_link(debt.to)->place != nullptr;
      return false;
    }
    if (status != SendStatus::kOk && is_ack(debt)) ++acks_dropped_;
    if (debt.kind == Debt::Kind::kAnswer) {
      debt.ack.status = status == SendStatus::kOk ? AckStatus::kAccepted : AckStatus::kRejected;
      over.push_back(std::move(debt));
    }
    if (std::find(paid.begin(), paid.end(), creditor) == paid.end()) paid.push_back(creditor);
    return true;
  });
  bool owes_more = false;
  for (const Debt& debt : over) {
    leases_.forget_deferred(debt.entry);
    receiver_.done(debt.entry);
    if (debt.ack.status == AckStatus::kAccepted) continue;
    // The answer cannot be sent, because it has come too many hops, say: its asker hears that there
    // is none.
    owe({Debt::Kind::kAck, debt.to, {debt.ack.id, AckStatus::kAccepted}, true});
    owes_more = true;
  }
  if (!over.empty()) sleeper_.offer_room();
  if (!over.empty()) sleeper_.show_activity();
  for (const Creditor& creditor : paid) stop_ringing(creditor.first);
  return owes_more ? pay_each() : all_ring;
}

// No control call: a peer that has sent to us has a link from us, or is gone.
SendStatus Debts::pay(const Debt& debt) {
  shm::Extension extension{};
  send::Envelope plain;
  std::optional<Letterhead> answer;
  std::string_view text = debt.ack.reply;
  plain.reply_to = debt.ack.id;
  switch (debt.kind) {
    case Debt::Kind::kAck: {
      const std::uint8_t of_question = debt.is_question ? shm::kAckOfQuestion : 0;
      extension.ack = static_cast<std::uint8_t>(debt.ack.status) | of_question;
      plain.flags = shm::kFlagAck | (debt.ack.is_cut ? shm::kFlagCut : 0);
      plain.extension = &extension;
      break;
    }
    case Debt::Kind::kCancel:
      plain.rank = kCritical;
      plain.type = kCancelOrder;
      plain.flags = shm::kFlagControl;
      break;
    case Debt::Kind::kAnswer: {
      const shm::Entry& about = receiver_.entry(debt.entry);
      answer.emplace(kPlainSend, debt.ack.id, &about, sender_.step_from(about));
      if (answer->hops() > life_.options().max_hops) return SendStatus::kLoop;
      text = text.substr(0, life_.contract().max_payload_bytes);
      if (text.size() < debt.ack.reply.size()) {
        answer->say_cut(static_cast<std::uint32_t>(debt.ack.reply.size()));
      }
    }
  }
  const send::Envelope& envelope = answer ? answer->envelope() : plain;
  const auto attempt = [&] {
    const auto lock = life_.lock_send();
    send::OutLink* link = life_.has_left() ? nullptr : links_.out_link(debt.to);
    if (link == nullptr) return SendStatus::kPeerDead;
    const auto payload = std::as_bytes(std::span(text));
    return sender_.admit(*link, {payload, envelope, links_.path().reserve_id()}).status;
  };
  const SendStatus status = attempt();
  return status == SendStatus::kFull && ask_to_ring(debt.to) ? attempt() : status;
}

// If the link to a peer had no room, the peer rings us from here on when it has taken something,
// wherever we wait then: in a call, or on the fd outside of the library. False for one that
// nobody knows to be there.
bool Debts::ask_to_ring(Pid peer) {
  const auto lock = life_.lock_send();
  send::OutLink* link = links_.out_link(peer);
  if (link == nullptr || link->place == nullptr) return false;
  send::SendPath::want_space(*link, send::SpaceFor::kDebts, true);
  return true;
}

void Debts::stop_ringing(Pid to) {
  const auto is_theirs = [to](const Debt& debt) { return debt.to == to; };
  if (std::any_of(debts_.begin(), debts_.end(), is_theirs) || escalations_.wants_room_of(to))
    return;
  const auto lock = life_.lock_send();
  send::OutLink* link = links_.out_link(to);
  if (link != nullptr && link->space.wanted_for != 0) {
    send::SendPath::want_space(*link, send::SpaceFor::kDebts, false);
  }
}

// An agent that leaves owes nothing any more. Messages with answers that found no room go back
// into the inbox at no attempt, because they were handled. So do messages in a pause. Returns how
// much was owed.
std::size_t Debts::drop_debts() {
  for (const Debt& debt : debts_) {
    if (is_ack(debt)) ++acks_dropped_;
    if (debt.kind == Debt::Kind::kAnswer) receiver_.requeue(debt.entry, shm::Cost::kNothing);
  }
  escalations_.put_back();
  leases_.drop_retries();
  BEELINE_CHECK(escalations_.empty() && leases_.next_retry_ns() == Retries::kNever);
  return std::exchange(debts_, {}).size();
}

std::int64_t Debts::next_payment_ns() const {
  if (life_.has_left()) return Deadlines::kNever;
  const std::int64_t next = escalations_.next_try_ns();
  return is_unrung_ ? std::min(next, os::monotonic_ns() + kOwing) : next;
}

}  // namespace beeline
