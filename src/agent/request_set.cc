#include "src/agent/request_set.h"

#include <algorithm>
#include <utility>

#include "src/agent/leases.h"
#include "src/agent/names.h"
#include "src/agent/questions.h"
#include "src/agent/send_facts.h"
#include "src/agent/sender.h"
#include "src/agent/sleeper.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

// A token comes with a tick of the clock at the earliest.
constexpr std::int64_t kTokenTick = 4'000'000;

}  // namespace

std::vector<Result<Message>> RequestSet::run(std::span<const Request> requests) {
  all_.reserve(requests.size());
  for (const Request& request : requests) {
    all_.push_back(start(request));
    if (!all_.back()->error) unsent_.push_back(all_.back().get());
  }
  send_rest();
  if (!all_.empty()) {
    const Sleeper::Blocked blocked(with_.sleeper);
    want_space(true);
    with_.sleeper.wait_until(deadline_.time_since_epoch().count(), [this] { return is_over(); });
    want_space(false);
    with_.sleeper.deadlines().token = Deadlines::kNever;
  }
  std::vector<Result<Message>> results;
  results.reserve(all_.size());
  for (const auto& pending : all_) results.push_back(conclude(*pending));
  return results;
}

std::unique_ptr<RequestSet::Pending> RequestSet::start(const Request& request) {
  const auto to = request.to.is_peer() ? request.to.peer() : with_.names.peer(request.to);
  auto pending = std::make_unique<Pending>(to ? *to : Peer{}, deadline_, request,
                                           with_.leases.origin(request.options));
  pending->question.since = std::chrono::steady_clock::now();
  if (!to) {
    pending->error = to.error();
  } else if (auto good = with_.questions.prepare(pending->question, request.options); !good) {
    pending->error = std::move(good.error());
  }
  return pending;
}

// Sends to each receiver in the order of the requests: behind one that finds no room, no other to
// the same receiver is tried.
bool RequestSet::send_rest() {
  std::vector<Pid> full;
  bool is_limited = false;
  std::erase_if(unsent_, [&](Pending* pending) {
    const Pid to = pending->question.to.pid;
    if (std::find(full.begin(), full.end(), to) != full.end()) return false;
    send(*pending);
    if (!finds_no_room(pending->sent.status)) return true;
    full.push_back(to);
    is_limited |= pending->sent.status == SendStatus::kRateLimited;
    return false;
  });
  with_.sleeper.deadlines().token =
      is_limited ? os::monotonic_ns() + kTokenTick : Deadlines::kNever;
  return !unsent_.empty();
}

void RequestSet::send(Pending& pending) {
  Question& question = pending.question;
  pending.sent =
      with_.sender.send_under(pending.head, question.to, pending.payload.bytes(), Deadline::min(),
                              question.pending.request_id, &question.place);
  question.sent_here = static_cast<bool>(pending.sent);
  if (question.sent_here || finds_no_room(pending.sent.status)) return;
  pending.error = not_asked(question, pending.sent);
  with_.questions.end(question);
}

// So that receivers ring when there is room.
void RequestSet::want_space(bool wanted) {
  const auto lock = with_.life.lock_send();
  for (const auto& pending : all_) {
    send::OutLink* link = with_.links.link_of(pending->question.to);
    if (link == nullptr) continue;
    const bool is_wanted = wanted && !pending->sent && !pending->error;
    if (is_wanted || !wanted) send::SendPath::want_space(*link, send::SpaceFor::kWait, is_wanted);
  }
}

bool RequestSet::is_over() {
  if (with_.life.is_down()) return true;
  const bool has_unsent = send_rest();
  const auto is_settled = [this](Pending& pending) {
    return pending.error || (pending.sent && with_.questions.is_settled(pending.question));
  };
  while (settled_ < all_.size() && is_settled(*all_[settled_])) ++settled_;
  return !has_unsent && settled_ == all_.size();
}

Result<Message> RequestSet::conclude(Pending& pending) {
  if (!pending.error && !pending.sent) {
    pending.error = not_asked(pending.question, pending.sent);
    with_.questions.end(pending.question);
  }
  if (pending.error) return tl::unexpected(std::move(*pending.error));
  const auto at = with_.questions.conclude(pending.question);
  if (!at) return tl::unexpected(at.error());
  return with_.leases.hand_over(*at);
}

}  // namespace beeline
