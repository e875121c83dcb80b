#include "src/agent/user_loop.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "src/agent/errands.h"
#include "src/agent/leaving.h"
#include "src/agent/open_questions.h"
#include "src/agent/send_facts.h"
#include "src/agent/sleeper.h"
#include "src/os/clock.h"

namespace beeline {

namespace {

// Answers whose handlers ask again may come without an end: the next poll() finds the others.
constexpr int kMostRounds = 16;

bool is_same(Peer a, Peer b) { return a.slot == b.slot && a.pid == b.pid; }

}  // namespace

Readiness UserLoop::poll() {
  Readiness found;
  if (with_.life.is_forked()) {
    found.ended = true;
    found.next = Deadline::max();
    return found;
  }
  with_.life.wait_outside();
  if (!with_.leaving.is_saying_goodbye()) look();
  with_.leaving.step();
  // Behind the fence of a sleeper: a receiver that takes something after this look rings.
  const Deadline token = look_for_space();
  found.messages = with_.receiver.home().inbox().index().count_nodes();
  found.tasks = with_.receiver.kept().tasks().size();
  found.answers = with_.questions.answers();
  found.spaces = spaces_.size();
  found.peers = with_.errands.peers();
  found.lists = with_.errands.lists();
  found.notices = !with_.notices.empty();
  found.ended = with_.life.is_down();
  found.next = std::min({token, with_.questions.next_deadline(), with_.errands.next_step(),
                         with_.leaving.next_step(), with_.sleeper.next_look()});
  return found;
}

// Handlers run while this agent counts as awake, because they may call it.
void UserLoop::look() {
  for (int round = 0; round < kMostRounds; ++round) {
    with_.sleeper.arm_for_poll();
    with_.errands.step();
    if (!with_.questions.is_due()) return;
    with_.sleeper.disarm();
    (void)with_.questions.call_answered();
  }
  with_.sleeper.arm_for_poll();
  with_.sleeper.call_user();
}

Result<void> UserLoop::want_space(Peer peer, bool wanted) {
  const auto is_this = [peer](Peer other) { return is_same(peer, other); };
  if (!wanted) {
    if (std::erase_if(wishes_, is_this) != 0) stop_ringing(peer);
    std::erase_if(spaces_, is_this);
    return {};
  }
  if (!peer.valid()) return fail(ErrorCode::kInvalid, "want_space: " + std::string(kNoPeer));
  if (std::none_of(wishes_.begin(), wishes_.end(), is_this)) wishes_.push_back(peer);
  const auto lock = with_.life.lock_send();
  send::OutLink* link = with_.links.link_of(peer);
  if (link != nullptr) send::SendPath::want_space(*link, send::SpaceFor::kUser, true);
  return {};
}

std::optional<Peer> UserLoop::next_space() {
  if (spaces_.empty()) return std::nullopt;
  const Peer first = spaces_.front();
  spaces_.pop_front();
  return first;
}

Deadline UserLoop::look_for_space() {
  Deadline next = Deadline::max();
  std::erase_if(wishes_, [&](Peer peer) {
    if (!has_space(peer, next)) return false;
    stop_ringing(peer);
    spaces_.push_back(peer);
    return true;
  });
  return next;
}

// Another try may go better than the last one. Nobody rings for a token: a token has a time.
bool UserLoop::has_space(Peer peer, Deadline& next) {
  const auto lock = with_.life.lock_send();
  send::OutLink* link = with_.links.link_of(peer);
  if (link == nullptr) return true;
  with_.links.path().follow(*link);
  if (link->dead || !link->may_send) return true;
  if (!link->space.lacks_token || !link->rate.on()) return link->has_more_room();
  const std::int64_t now_ns = os::coarse_ns();
  if (link->rate.available(now_ns) != 0) return true;
  next = std::min(next, after(std::chrono::nanoseconds(link->rate.ns_until(now_ns))));
  return false;
}

void UserLoop::stop_ringing(Peer peer) {
  const auto lock = with_.life.lock_send();
  send::OutLink* link = with_.links.link_of(peer);
  if (link != nullptr) send::SendPath::want_space(*link, send::SpaceFor::kUser, false);
}

}  // namespace beeline
