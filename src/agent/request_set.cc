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

std::vector<Result<shm::EntryIndex>> RequestSet::run(std::span<const Request> requests,
                                                     const Marking& mark) {
  all_.reserve(requests.size());
  for (const Request& request : requests) {
    all_.push_back(start(request, mark));
    if (!all_.back()->error) unsent_.push_back(all_.back().get());
  }
  send_rest();
  if (!all_.empty()) {
    const Sleeper::Blocked blocked(with_.sleeper);
    want_space(true);
    await();
    want_space(false);
    with_.sleeper.deadlines().token = Deadlines::kNever;
  }
  std::vector<Result<shm::EntryIndex>> results;
  results.reserve(all_.size());
  for (const auto& pending : all_) results.push_back(conclude(*pending));
  return results;
}

// Until all are over. The words of children about their tasks are told outside of the wait.
void RequestSet::await() {
  while (!is_over() && std::chrono::steady_clock::now() < deadline_) {
    with_.sleeper.wait_until(next_deadline().time_since_epoch().count(),
                             [this] { return is_over() || has_progress(); });
    tell_progress();
  }
}

bool RequestSet::has_progress() const {
  return std::any_of(all_.begin(), all_.end(), [](const auto& pending) {
    return Questions::has_progress(pending->question);
  });
}

void RequestSet::tell_progress() {
  for (const auto& pending : all_) {
    while (Questions::has_progress(pending->question)) {
      with_.questions.tell_progress(pending->question);
    }
  }
}

// The first deadline to come of the requests that may have no answer yet.
Deadline RequestSet::next_deadline() const {
  const auto now = std::chrono::steady_clock::now();
  Deadline next = deadline_;
  for (std::size_t i = settled_; i < all_.size(); ++i) {
    const Deadline its = all_[i]->question.deadline;
    if (its > now) next = std::min(next, its);
  }
  return next;
}

std::unique_ptr<RequestSet::Pending> RequestSet::start(const Request& request,
                                                       const Marking& mark) {
  const auto to = request.to.is_peer() ? request.to.peer() : with_.names.peer(request.to);
  auto pending = std::make_unique<Pending>(to ? *to : Peer{}, deadline_, request,
                                           with_.leases.origin(request.options));
  pending->question.since = std::chrono::steady_clock::now();
  if (!to) {
    pending->error = to.error();
    return pending;
  }
  auto marked = mark ? mark(all_.size(), pending->question) : Result<void>();
  if (!marked) {
    pending->error = std::move(marked.error());
  } else if (auto good = with_.questions.prepare(pending->question, request.options); !good) {
    pending->error = std::move(good.error());
  }
  if (pending->question.pending.is_task) pending->head.make_kind(shm::MessageKind::kTask);
  return pending;
}

// Sends to each receiver in the order of the requests: behind one that finds no room, no other to
// the same receiver is tried.
bool RequestSet::send_rest() {
  std::vector<Pid> full;
  bool is_limited = false;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(unsent_, [&](Pending* pending) {
    const Pid to = pending->question.to.pid;
    // Nobody waits for its answer any more, so the receiver must not act on it.
    if (finds_no_room(pending->sent.status) && pending->question.deadline <= now) return true;
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
  const auto now = std::chrono::steady_clock::now();
  const auto is_settled = [&](Pending& pending) {
    if (pending.error || pending.question.deadline <= now) return true;
    return pending.sent && with_.questions.is_settled(pending.question);
  };
  while (settled_ < all_.size() && is_settled(*all_[settled_])) ++settled_;
  return !has_unsent && settled_ == all_.size();
}

Result<shm::EntryIndex> RequestSet::conclude(Pending& pending) {
  if (!pending.error && !pending.sent) {
    pending.error = not_asked(pending.question, pending.sent);
    with_.questions.end(pending.question);
  }
  if (pending.error) return tl::unexpected(std::move(*pending.error));
  return with_.questions.conclude(pending.question);
}

}  // namespace beeline
