// What is said to a peer without a wait: what became of its message, and that one of ours is taken
// back. What finds no room is owed, and paid as soon as there is some.

#include <algorithm>
#include <utility>
#include <vector>

#include "src/agent/core.h"
#include "src/agent/letterhead.h"
#include "src/agent/status.h"
#include "src/agent/unasked.h"

namespace beeline {

namespace {

constexpr std::ptrdiff_t kMostOwed = 256;  // to one peer

// It may be paid later.
bool is_put_off(SendStatus status) {
  return status == SendStatus::kFull || status == SendStatus::kNoMemory ||
         status == SendStatus::kRateLimited;
}

bool is_ack(const Debt& debt) { return debt.kind == Debt::Kind::kAck; }
bool is_handed_up(const Debt& debt) { return debt.kind == Debt::Kind::kHandUp; }

}  // namespace

// Says what became of a message to a sender that has asked. What no message of ours can carry is
// cut.
void AgentCore::acknowledge(MessageId id, AckStatus status, std::string_view reply) {
  const std::string_view part = reply.substr(0, contract_.max_payload_bytes);
  const bool cut = part.size() < reply.size();
  owe({Debt::Kind::kAck, shm::pid_of_message(id), {id, status, std::string(part), cut}});
  pay_debts();
}

// A message whose handler wants it to go up. While there is no room above, or no coordinator to
// ask, it is owed and keeps its lease. What nobody above takes is a dead letter: its handler has
// decided already, and would do so again.
void AgentCore::hand_up(Message message) {
  if (is_forked_) return;
  const Unasked unasked(*this);
  const std::uint32_t at = message.entry_;
  Escalation made = escalation_of(at);
  const SendResult sent = escalate(made, &receiver_->entry(at), Deadline::min());
  if (sent) return std::exchange(message.core_, nullptr)->end_escalated(at);
  if (has_left()) return;  // it is put back, for the next life
  const bool waits_behind = owes_above(made.asked);
  const bool may_wait = waits_behind || out_link(made.asked) != nullptr;
  if (!client_.closed() && !(may_wait && is_put_off(sent.status))) {
    return message.reject("it could not be escalated: " + std::string(to_string(sent.status)));
  }
  std::erase(leases_, at);
  owe({Debt::Kind::kHandUp, made.asked, {}, std::move(message)});
  if (!waits_behind) pay_debts();
}

// From the end: what is handed up lies there while nobody above has room.
bool AgentCore::owes_above(Pid to) const {
  const auto is_one = [to](const Debt& debt) { return debt.to == to && is_handed_up(debt); };
  return std::any_of(debts_.rbegin(), debts_.rend(), is_one);
}

// A peer that reads nothing loses the oldest of what it is owed, but no lease.
void AgentCore::owe(Debt debt) {
  const auto is_theirs = [to = debt.to](const Debt& other) {
    return other.to == to && !is_handed_up(other);
  };
  if (!is_handed_up(debt) && std::count_if(debts_.begin(), debts_.end(), is_theirs) >= kMostOwed) {
    const auto oldest = std::find_if(debts_.begin(), debts_.end(), is_theirs);
    if (is_ack(*oldest)) ++acks_dropped_;
    debts_.erase(oldest);
  }
  debts_.push_back(std::move(debt));
}

// Each peer's in their order; one that takes nothing holds up no other. What was to go up to
// somebody who is dead goes to whoever is above that.
void AgentCore::pay_debts() {
  for (const receive::Refused& refused : receiver_->take_refused()) {
    owe({Debt::Kind::kAck,
         shm::pid_of_message(refused.id),
         {refused.id, AckStatus::kRejected, std::string(shm::to_string(refused.reason))}});
  }
  if (debts_.empty()) return;
  using Creditor = std::pair<Pid, Debt::Kind>;  // each kind has a lane of its own
  std::vector<Creditor> paid;
  std::vector<Creditor> full;
  std::vector<Message> taken;  // by who stands above
  std::vector<Message> left;
  std::erase_if(debts_, [&](Debt& debt) {
    const Creditor creditor{debt.to, debt.kind};
    if (std::find(full.begin(), full.end(), creditor) != full.end()) return false;
    const SendStatus status = pay(debt);
    if (is_put_off(status)) {
      full.push_back(creditor);
      return false;
    }
    if (status != SendStatus::kOk && is_ack(debt)) ++acks_dropped_;
    if (is_handed_up(debt)) {
      (status == SendStatus::kOk ? taken : left).push_back(std::move(debt.escalated));
    }
    if (std::find(paid.begin(), paid.end(), creditor) == paid.end()) paid.push_back(creditor);
    return true;
  });
  for (const Creditor& creditor : paid) stop_ringing(creditor.first);
  for (Message& message : taken)
    std::exchange(message.core_, nullptr)->end_escalated(message.entry_);
  for (Message& message : left) hand_up(std::move(message));
  if (armed_) set_timer();
}

// No control call: who has sent to us has a link from us, or is gone.
SendStatus AgentCore::pay(const Debt& debt) {
  if (is_handed_up(debt)) return pay_above(debt.to, debt.escalated.entry_);
  shm::Extension extension{};
  send::Envelope envelope;
  envelope.reply_to = debt.ack.id;
  if (is_ack(debt)) {
    extension.ack = static_cast<std::uint8_t>(debt.ack.status);
    envelope.flags = shm::kFlagAck | (debt.ack.is_cut ? shm::kFlagCut : 0);
    envelope.extension = &extension;
  } else {
    envelope.rank = kCritical;
    envelope.type = kCancelOrder;
    envelope.flags = shm::kFlagControl;
  }
  return pay(debt.to, std::as_bytes(std::span(debt.ack.reply)), envelope);
}

SendStatus AgentCore::pay_above(Pid to, std::uint32_t entry) {
  if (out_link(to) == nullptr && client_.closed()) return SendStatus::kFull;
  const shm::Entry& original = receiver_->entry(entry);
  const Escalation made = escalation_of(entry);
  const Letterhead head(made, &original, step_from(original));
  if (head.hops() > options_.max_hops) return SendStatus::kLoop;
  return pay(to, made.payload, head.envelope());
}

SendStatus AgentCore::pay(Pid to, std::span<const std::byte> payload,
                          const send::Envelope& envelope) {
  const auto lock = lock_send();
  send::OutLink* link = has_left() ? nullptr : out_link(to);
  if (link == nullptr) return SendStatus::kPeerDead;
  const auto attempt = [&] {
    return send_now(*link, payload, envelope, send_path_.reserve_id()).status;
  };
  const SendStatus status = attempt();
  if (status != SendStatus::kFull) return status;
  // The receiver rings us when it has taken something, wherever we wait then: in a call, or on the
  // fd outside of the library.
  send::SendPath::want_space(*link, send::SpaceFor::kDebts, true);
  return attempt();
}

void AgentCore::stop_ringing(Pid to) {
  const auto is_theirs = [to](const Debt& debt) { return debt.to == to; };
  if (std::any_of(debts_.begin(), debts_.end(), is_theirs)) return;
  const auto lock = lock_send();
  send::OutLink* link = out_link(to);
  if (link != nullptr && link->space_for != 0) {
    send::SendPath::want_space(*link, send::SpaceFor::kDebts, false);
  }
}

// Of an agent that leaves; how many there were. Leases are no loss: its next life has them.
std::size_t AgentCore::drop_debts() {
  acks_dropped_ += static_cast<std::uint64_t>(std::count_if(debts_.begin(), debts_.end(), is_ack));
  const auto kept = std::count_if(debts_.begin(), debts_.end(), is_handed_up);
  const std::size_t lost = debts_.size() - static_cast<std::size_t>(kept);
  debts_.clear();
  return lost;
}

}  // namespace beeline
