#include "src/agent/escalations.h"

#include <algorithm>
#include <string>
#include <utility>

#include "shm/check.h"
#include "src/agent/debts.h"
#include "src/agent/directory_tree.h"
#include "src/agent/family.h"
#include "src/agent/leases.h"
#include "src/agent/letterhead.h"
#include "src/agent/link_opener.h"
#include "src/agent/registration.h"
#include "src/agent/send_facts.h"
#include "src/agent/sender.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

constexpr std::chrono::nanoseconds kPatienceAbove = std::chrono::seconds(1);  // for room
constexpr std::int64_t kPause = 1'000'000'000;  // between tries where nobody rings

}  // namespace

Escalations::Escalations(const Needs& needs)
    : life_(needs.life),
      directory_(needs.directory),
      client_(needs.client),
      receiver_(needs.receiver),
      links_(needs.links),
      opener_(needs.opener),
      registration_(needs.registration),
      family_(needs.family),
      sender_(needs.sender),
      leases_(needs.leases),
      debts_(needs.debts) {}

SendResult Escalations::escalate(std::span<const std::byte> payload, const SendOptions& options) {
  if (!leases_.may_send_about(options)) return SendFacts::of_origin(0);
  Escalation made{options, payload};
  made.options.type = kEscalation;
  made.options.rank = std::min(options.rank, kHigh);
  return climb(made, leases_.origin(options), after(kPatienceAbove));
}

SendResult Escalations::escalate(shm::EntryIndex entry) {
  if (life_.is_forked()) return SendResult(SendStatus::kNoRoute);
  Escalation made = escalation_of(entry);
  const SendResult sent = climb(made, &receiver_.entry(entry), after(kPatienceAbove));
  if (sent) leases_.done(entry, {}, AckStatus::kEscalate);
  return sent;
}

// The nearest ancestor that lives takes it; the last of them is the coordinator, which logs it. One
// without a process would look at it in its next life, if there is one.
SendResult Escalations::climb(Escalation& made, const shm::Entry* about, Deadline deadline) {
  if (life_.has_left()) return SendResult(SendStatus::kNoRoute);
  const Letterhead head(made, about, about != nullptr ? sender_.step_from(*about) : 1);
  const std::vector<Pid> above = family_.superiors();  // a send may look at a new tree
  if (above.empty()) return SendResult(SendStatus::kNoRoute);
  look_who_is_gone();
  for (const Pid ancestor : above) {
    if (ancestor == control::kKingPid) break;
    if (std::find(gone_.begin(), gone_.end(), ancestor) != gone_.end()) continue;
    made.asked = ancestor;
    SendResult sent;
    if (const auto to = opener_.peer(ancestor); !to) {
      sent = SendFacts::of_error(to.error());
    } else if (is_away(ancestor)) {
      continue;
    } else {
      sent = sender_.send_under(head, *to, made.payload, deadline, 0);
    }
    if (sent) return sent;
    const bool absent = sent.status == SendStatus::kNoAgent && !opener_.is_placing();
    const bool gone = absent || sent.status == SendStatus::kPeerDead;
    if (gone) gone_.push_back(ancestor);
    // Nor does one that has ended our link take anything.
    const send::OutLink* link = links_.out_link(ancestor);
    if (gone || (link != nullptr && link->ended)) continue;
    // A task may write to its parent alone, and that is gone.
    if (sent.status == SendStatus::kDenied) break;
    return sent;
  }
  made.asked = control::kKingPid;
  return write_down(made.payload);
}

// The caller has opened a link to it.
bool Escalations::is_away(Pid ancestor) const {
  const auto lock = life_.lock_send();
  const send::OutLink* link = links_.out_link(ancestor);
  BEELINE_CHECK(link != nullptr, ancestor);
  return link->is_away();
}

// Nobody is asked for them again.
void Escalations::look_who_is_gone() {
  const std::uint64_t now = directory_.view().epoch();
  if (std::exchange(gone_epoch_, now) == now) return;
  gone_.clear();
  const control::Tree tree = read_tree(directory_.view());
  for (const Pid pid : tree.ancestors(life_.pid())) {
    const control::AgentNode* node = tree.find(pid);
    if (node != nullptr && node->state == shm::AgentState::kDead) gone_.push_back(pid);
  }
}

// A coordinator that did not answer may have written it down already: then it is there again.
SendResult Escalations::write_down(std::span<const std::byte> payload) {
  constexpr std::size_t kMost = 2000;
  const std::string text(reinterpret_cast<const char*>(payload.data()),
                         std::min(payload.size(), kMost));
  auto done = client_.escalate(text);
  if (client_.closed() && !registration_.is_unasked() && registration_.resume_in_call()) {
    done = client_.escalate(text);
  }
  if (done) return SendResult(SendStatus::kOk);
  SendResult refused = SendFacts::of_error(done.error());
  if (!is_transient(refused.status)) refused.status = SendStatus::kNoRoute;
  return refused;
}

// A payload that is too long for a message of this agent is cut.
Escalation Escalations::escalation_of(shm::EntryIndex entry) const {
  const shm::Entry& original = receiver_.entry(entry);
  const auto whole = receiver_.payload(entry);
  const std::size_t length =
      std::min<std::size_t>(whole.size(), life_.contract().max_payload_bytes);
  Escalation made{{}, whole.first(length)};
  made.options.rank = kHigh;
  made.options.type = kEscalation;
  made.options.reply_to = original.header.reply_to;
  if ((original.header.flags & shm::kFlagCut) != 0) {
    made.full_length = original.extension().full_length;
  } else if (made.payload.size() < whole.size()) {
    made.full_length = static_cast<std::uint32_t>(whole.size());
  }
  return made;
}

void Escalations::hand_up(Message message, std::string reply) {
  if (life_.is_forked() || life_.has_left()) return;
  leases_.lay_down(Leases::entry_of(message));
  waiting_.push_back({std::move(message), std::move(reply)});
  debts_.pay_debts();
}

// Put back, it ends.
void Escalations::drop_cancelled() {
  const auto gone = std::erase_if(waiting_, [this](const Waiting& each) {
    return receiver_.is_cancelled(Leases::entry_of(each.message));
  });
  if (gone == 0) return;
  next_try_ns_ = 0;
  if (waiting_.empty()) debts_.stop_ringing(std::exchange(awaited_, 0));
}

// A send may look at the control socket, and so come here again.
void Escalations::send_waiting() {
  if (waiting_.empty() || life_.has_left() || registration_.is_unasked()) return;
  if (awaited_ == 0 && os::monotonic_ns() < next_try_ns_) return;
  const Registration::Unasked unasked(registration_);
  while (!waiting_.empty() && send_first()) {
  }
  if (!waiting_.empty()) return;
  next_try_ns_ = 0;
  debts_.stop_ringing(std::exchange(awaited_, 0));
}

// False when it has to wait.
bool Escalations::send_first() {
  const shm::EntryIndex at = Leases::entry_of(waiting_.front().message);
  Escalation made = escalation_of(at);
  SendStatus status = SendStatus::kOk;
  do {
    status = climb(made, &receiver_.entry(at), Deadline::min()).status;
  } while (ask_for_room(status, made.asked));
  if (status != SendStatus::kOk && life_.has_left()) return false;
  if (may_go_later(status, made.asked)) {
    wait_for(status, made.asked);
    return false;
  }
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  if (status == SendStatus::kOk) {
    leases_.done(Leases::release(first.message), first.reply, AckStatus::kEscalate);
  } else {
    first.message.reject("it could not be escalated: " + std::string(to_string(status)));
  }
  return true;
}

// An escalation to the coordinator waits until there is one again, and until its log has room.
bool Escalations::may_go_later(SendStatus status, Pid asked) const {
  if (status == SendStatus::kOk) return false;
  const bool away = client_.closed();
  if (asked == control::kKingPid) return away || status == SendStatus::kNoMemory;
  const send::OutLink* link = links_.out_link(asked);
  if (link == nullptr || !opener_.has_place(*link)) return away || opener_.is_placing();
  return is_transient(status);
}

// True when a peer is asked to ring that was not before: there may be room by now.
bool Escalations::ask_for_room(SendStatus status, Pid asked) {
  if (status != SendStatus::kFull || asked == awaited_ || !debts_.ask_to_ring(asked)) return false;
  debts_.stop_ringing(std::exchange(awaited_, asked));
  return true;
}

void Escalations::wait_for(SendStatus status, Pid asked) {
  const bool awaited = status == SendStatus::kFull && asked == awaited_;
  if (awaited && debts_.ask_to_ring(asked)) return;
  debts_.stop_ringing(std::exchange(awaited_, 0));
  const auto lock = life_.lock_send();
  const send::OutLink* link = links_.out_link(asked);
  const bool limited = status == SendStatus::kRateLimited && link != nullptr;
  const std::int64_t token_in = limited ? link->rate.ns_until(os::coarse_ns()) : kPause;
  next_try_ns_ = os::monotonic_ns() + std::min(token_in, kPause);  // it may die meanwhile
}

}  // namespace beeline
