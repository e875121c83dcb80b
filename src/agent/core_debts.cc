// What is said to a peer without a wait: what became of its message, and that one of ours is taken
// back. What finds no room is owed, and paid as soon as there is some.

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/letterhead.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

constexpr std::ptrdiff_t kMostOwed = 256;  // to one peer

bool is_ack(const Debt& debt) { return debt.kind == Debt::Kind::kAck; }

}  // namespace

// Says what became of a message to a sender that has asked. What no message of ours can carry is
// cut.
void AgentCore::acknowledge(Subject about, AckStatus status, std::string_view reply) {
  const MessageId id = about.id;
  const std::string_view part = reply.substr(0, contract_.max_payload_bytes);
  const bool cut = part.size() < reply.size();
  owe({Debt::Kind::kAck,
       shm::pid_of_message(id),
       {id, status, std::string(part), cut},
       about.is_question});
  pay_debts();
}

// Whether its sender is still to be told how the lease ended. `told`: it knows that it takes
// longer.
bool AgentCore::is_owed_word(std::uint32_t entry, bool told) {
  const bool answered = std::erase(answered_, entry) != 0;
  return receiver_->entry(entry).is_question() ? !answered : !told;
}

// A peer that reads nothing loses the oldest of what it is owed, but no answer: how many of them
// there are is bounded by the inbox, in which their messages are.
void AgentCore::owe(Debt debt) {
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

void AgentCore::pay_debts() {
  escalations_.drop_cancelled();  // whose senders are refused next
  for (const receive::Refused& refused : receiver_->kept().take_refused()) {
    owe({Debt::Kind::kAck,
         shm::pid_of_message(refused.id),
         {refused.id, AckStatus::kRejected, std::string(shm::to_string(refused.reason))},
         refused.is_question});
  }
  is_unrung_ = !debts_.empty() && !pay_each();
  escalations_.send_waiting();
  if (armed_) set_timer();
}

// Each peer's in their order; one that takes nothing holds up no other. False if what is left waits
// for something for which nobody rings.
bool AgentCore::pay_each() {
  if (has_left()) return true;
  using Creditor = std::pair<Pid, Debt::Kind>;  // each kind has a lane of its own
  std::vector<Creditor> paid;
  std::vector<Creditor> full;
  std::vector<Debt> over;  // answers that were sent, or never can be
  bool all_ring = true;
  std::erase_if(debts_, [&](Debt& debt) {
    const Creditor creditor{debt.to, debt.kind};
    if (std::find(full.begin(), full.end(), creditor) != full.end()) return false;
    const SendStatus status = pay(debt);
    if (may_be_sent_later(status)) {
      full.push_back(creditor);
      all_ring &= status == SendStatus::kFull && out_link(debt.to)->place != nullptr;
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
    std::erase(deferred_, debt.entry);
    receiver_->done(debt.entry);
    if (debt.ack.status == AckStatus::kAccepted) continue;
    // The answer cannot be sent, because it has come too many hops, say: its asker hears that there
    // is none.
    owe({Debt::Kind::kAck, debt.to, {debt.ack.id, AckStatus::kAccepted}, true});
    owes_more = true;
  }
  if (!over.empty()) offer_room();
  if (!over.empty()) show_activity();
  for (const Creditor& creditor : paid) stop_ringing(creditor.first);
  return owes_more ? pay_each() : all_ring;
}

// No control call: a peer that has sent to us has a link from us, or is gone.
SendStatus AgentCore::pay(const Debt& debt) {
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
      const shm::Entry& about = receiver_->entry(debt.entry);
      answer.emplace(kPlainSend, debt.ack.id, &about, step_from(about));
      if (answer->hops() > options_.max_hops) return SendStatus::kLoop;
      text = text.substr(0, contract_.max_payload_bytes);
      if (text.size() < debt.ack.reply.size()) {
        answer->say_cut(static_cast<std::uint32_t>(debt.ack.reply.size()));
      }
    }
  }
  const send::Envelope& envelope = answer ? answer->envelope() : plain;
  const auto attempt = [&] {
    const auto lock = lock_send();
    send::OutLink* link = has_left() ? nullptr : out_link(debt.to);
    if (link == nullptr) return SendStatus::kPeerDead;
    return send_now(*link, std::as_bytes(std::span(text)), envelope, send_path_.reserve_id())
        .status;
  };
  const SendStatus status = attempt();
  return status == SendStatus::kFull && ask_to_ring(debt.to) ? attempt() : status;
}

// A peer in whose link there was no room rings us from here on when it has taken something,
// wherever we wait then: in a call, or on the fd outside of the library. False for one that
// nobody knows to be there.
bool AgentCore::ask_to_ring(Pid peer) {
  const auto lock = lock_send();
  send::OutLink* link = out_link(peer);
  if (link == nullptr || link->place == nullptr) return false;
  send::SendPath::want_space(*link, send::SpaceFor::kDebts, true);
  return true;
}

void AgentCore::stop_ringing(Pid to) {
  const auto is_theirs = [to](const Debt& debt) { return debt.to == to; };
  if (std::any_of(debts_.begin(), debts_.end(), is_theirs) || escalations_.wants_room_of(to))
    return;
  const auto lock = lock_send();
  send::OutLink* link = out_link(to);
  if (link != nullptr && link->space_for != 0) {
    send::SendPath::want_space(*link, send::SpaceFor::kDebts, false);
  }
}

// An agent that leaves owes nothing any more. What it has in hand beside its leases goes back into
// the inbox: messages whose answers found no room, which were handled and cost no attempt, and
// those in a pause. Returns how much was owed.
std::size_t AgentCore::drop_debts() {
  for (const Debt& debt : debts_) {
    if (is_ack(debt)) ++acks_dropped_;
    if (debt.kind == Debt::Kind::kAnswer) receiver_->requeue(debt.entry, shm::Cost::kNothing);
  }
  escalations_.put_back();
  const auto all = [](std::uint32_t) { return true; };
  retries_.release(0, all, [this](std::uint32_t at) { receiver_->requeue(at); });
  return std::exchange(debts_, {}).size();
}

}  // namespace beeline
