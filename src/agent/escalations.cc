#include "src/agent/escalations.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/directory_tree.h"
#include "src/agent/letterhead.h"
#include "src/agent/send_facts.h"
#include "src/agent/status.h"
#include "src/agent/unasked.h"

namespace beeline {

namespace {

constexpr std::chrono::nanoseconds kPatienceAbove = std::chrono::seconds(1);  // for room
constexpr std::int64_t kPause = 1'000'000'000;  // between tries where nobody rings

}  // namespace

SendResult Escalations::escalate(std::span<const std::byte> payload, const SendOptions& options) {
  Escalation made{options, payload};
  made.options.type = kEscalation;
  made.options.rank = std::min(options.rank, kHigh);
  return climb(made, core_.handled(), after(kPatienceAbove));
}

SendResult Escalations::escalate(std::uint32_t entry) {
  if (core_.is_forked_) return SendResult(SendStatus::kNoRoute);
  Escalation made = escalation_of(entry);
  const SendResult sent = climb(made, &core_.receiver_->entry(entry), after(kPatienceAbove));
  if (sent) core_.done(entry, {}, AckStatus::kEscalate);
  return sent;
}

// The nearest ancestor that lives takes it; the last of them is the coordinator, which logs it. One
// without a process would look at it in its next life, if there is one.
SendResult Escalations::climb(Escalation& made, const shm::Entry* about, Deadline deadline) {
  if (core_.has_left()) return SendResult(SendStatus::kNoRoute);
  const Letterhead head(made, about, about != nullptr ? core_.step_from(*about) : 1);
  const std::vector<Pid> above = core_.superiors();  // a send may look at a new tree
  if (above.empty()) return SendResult(SendStatus::kNoRoute);
  look_who_is_gone();
  for (const Pid ancestor : above) {
    if (ancestor == control::kKingPid) break;
    if (std::find(gone_.begin(), gone_.end(), ancestor) != gone_.end()) continue;
    made.asked = ancestor;
    SendResult sent;
    if (const auto to = core_.peer(ancestor); !to) {
      sent = SendFacts::of_error(to.error());
    } else if (is_away(ancestor)) {
      continue;
    } else {
      sent = core_.send_as(head, *to, made.payload, deadline, 0);
    }
    if (sent) return sent;
    const bool absent = sent.status == SendStatus::kNoAgent && !core_.is_placing();
    const bool gone = absent || sent.status == SendStatus::kPeerDead;
    if (gone) gone_.push_back(ancestor);
    // Nor does one that has ended our link take anything.
    const send::OutLink* link = core_.out_link(ancestor);
    if (gone || (link != nullptr && link->ended)) continue;
    // A task may write to its parent alone, and that is gone.
    if (sent.status == SendStatus::kDenied) break;
    return sent;
  }
  made.asked = control::kKingPid;
  return write_down(made.payload);
}

// REQUIRES: a link to it is open.
bool Escalations::is_away(Pid ancestor) const {
  const auto lock = core_.lock_send();
  const send::OutLink* link = core_.out_link(ancestor);
  return link != nullptr && link->is_away();
}

// Nobody is asked for them again.
void Escalations::look_who_is_gone() {
  const std::uint64_t now = core_.directory_view_.epoch();
  if (std::exchange(gone_epoch_, now) == now) return;
  gone_.clear();
  const control::Tree tree = read_tree(core_.directory_view_);
  for (const Pid pid : tree.ancestors(core_.pid_)) {
    const control::AgentNode* node = tree.find(pid);
    if (node != nullptr && node->state == shm::AgentState::kDead) gone_.push_back(pid);
  }
}

// A coordinator that did not answer may have written it down already: then it is there again.
SendResult Escalations::write_down(std::span<const std::byte> payload) {
  constexpr std::size_t kMost = 2000;
  const std::string text(reinterpret_cast<const char*>(payload.data()),
                         std::min(payload.size(), kMost));
  auto done = core_.client_.escalate(text);
  if (core_.client_.closed() && !core_.unasked_ && core_.resume_in_call()) {
    done = core_.client_.escalate(text);
  }
  if (done) return SendResult(SendStatus::kOk);
  SendResult refused = SendFacts::of_error(done.error());
  if (!may_be_sent_later(refused.status)) refused.status = SendStatus::kNoRoute;
  return refused;
}

// What no message of ours can carry is cut.
Escalation Escalations::escalation_of(std::uint32_t entry) const {
  const shm::Entry& original = core_.receiver_->entry(entry);
  const auto whole = core_.receiver_->payload(entry);
  const std::size_t length = std::min<std::size_t>(whole.size(), core_.contract_.max_payload_bytes);
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

// ---- What handlers want to go up ----------------------------------------------------------------

void Escalations::hand_up(Message message, std::string reply) {
  if (core_.is_forked_ || core_.has_left()) return;
  std::erase(core_.leases_, message.entry_);  // nobody handles it any more
  waiting_.push_back({std::move(message), std::move(reply)});
  core_.pay_debts();
}

// Put back, it ends.
void Escalations::drop_cancelled() {
  const auto gone = std::erase_if(waiting_, [this](const Waiting& each) {
    return core_.receiver_->is_cancelled(each.message.entry_);
  });
  if (gone == 0) return;
  next_try_ns_ = 0;
  if (waiting_.empty()) core_.stop_ringing(std::exchange(awaited_, 0));
}

// A send may look at the control socket, and so come here again.
void Escalations::send_waiting() {
  if (waiting_.empty() || core_.has_left() || core_.unasked_) return;
  if (awaited_ == 0 && os::monotonic_ns() < next_try_ns_) return;
  const AgentCore::Unasked unasked(core_);
  while (!waiting_.empty() && send_first()) {
  }
  if (!waiting_.empty()) return;
  next_try_ns_ = 0;
  core_.stop_ringing(std::exchange(awaited_, 0));
}

// False when it has to wait.
bool Escalations::send_first() {
  const std::uint32_t at = waiting_.front().message.entry_;
  Escalation made = escalation_of(at);
  SendStatus status = SendStatus::kOk;
  do {
    status = climb(made, &core_.receiver_->entry(at), Deadline::min()).status;
  } while (ask_for_room(status, made.asked));
  if (status != SendStatus::kOk && core_.has_left()) return false;
  if (may_go_later(status, made.asked)) {
    wait_for(status, made.asked);
    return false;
  }
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  if (status == SendStatus::kOk) {
    core_.done(first.message.release(), first.reply, AckStatus::kEscalate);
  } else {
    first.message.reject("it could not be escalated: " + std::string(to_string(status)));
  }
  return true;
}

// What asks the coordinator goes when there is one again, and when its log has room.
bool Escalations::may_go_later(SendStatus status, Pid asked) const {
  if (status == SendStatus::kOk) return false;
  const bool away = core_.client_.closed();
  if (asked == control::kKingPid) return away || status == SendStatus::kNoMemory;
  const send::OutLink* link = core_.out_link(asked);
  if (link == nullptr || !core_.has_place(*link)) return away || core_.is_placing();
  return may_be_sent_later(status);
}

// True when somebody is to ring who was not before: there may be room by now.
bool Escalations::ask_for_room(SendStatus status, Pid asked) {
  if (status != SendStatus::kFull || asked == awaited_ || !core_.ask_to_ring(asked)) return false;
  core_.stop_ringing(std::exchange(awaited_, asked));
  return true;
}

void Escalations::wait_for(SendStatus status, Pid asked) {
  const bool awaited = status == SendStatus::kFull && asked == awaited_;
  if (awaited && core_.ask_to_ring(asked)) return;
  core_.stop_ringing(std::exchange(awaited_, 0));
  const auto lock = core_.lock_send();
  const send::OutLink* link = core_.out_link(asked);
  const bool limited = status == SendStatus::kRateLimited && link != nullptr;
  const std::int64_t token_in = limited ? link->rate.ns_until(os::coarse_ns()) : kPause;
  next_try_ns_ = os::monotonic_ns() + std::min(token_in, kPause);  // it may die meanwhile
}

}  // namespace beeline
