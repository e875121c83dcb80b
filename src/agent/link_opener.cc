#include "src/agent/link_opener.h"

#include <algorithm>
#include <utility>

#include "src/agent/arrivals.h"
#include "src/agent/directory_tree.h"
#include "src/agent/ended.h"
#include "src/agent/family.h"
#include "src/agent/registration.h"
#include "src/control/quotes.h"
#include "src/control/routing.h"

namespace beeline {

namespace {

constexpr std::int64_t kPlacePause = 250'000'000;
constexpr std::int64_t kPlaceFor = 5'000'000'000;

}  // namespace

LinkOpener::LinkOpener(const Needs& needs)
    : life_(needs.life),
      directory_(needs.directory),
      client_(needs.client),
      receiver_(needs.receiver),
      links_(needs.links),
      arrivals_(needs.arrivals),
      ended_(needs.ended),
      registration_(needs.registration),
      family_(needs.family),
      deadlines_(needs.deadlines) {}

// Or may get one: a peer that has not registered with a new coordinator yet may still do so, and
// sends wait for it.
bool LinkOpener::has_place(const send::OutLink& link) const {
  return link.place != nullptr || is_placing();
}

// The handle of a peer to which the link is open; nothing if sends would fail.
std::optional<Peer> LinkOpener::open_peer(Pid pid) {
  const auto lock = life_.lock_send();
  send::OutLink* link = links_.out_link(pid);
  if (link == nullptr) return std::nullopt;
  links_.path().follow(*link);
  if (link->dead || !link->may_send || !has_place(*link)) return std::nullopt;
  return links_.peer_of(pid);
}

Result<Peer> LinkOpener::peer(Pid pid) {
  auto found = find_peer(pid);
  if (found) show_to_parent(pid);
  return found;
}

Result<Peer> LinkOpener::find_peer(Pid pid) {
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  if (auto left = leave_old_king(pid); !left) return tl::unexpected(std::move(left.error()));
  if (const auto known = links_.peer_of(pid)) {
    auto lock = life_.lock_send();
    send::OutLink& link = *links_.at(LinkSlot(known->slot));
    links_.path().follow(link);
    if (link.dead) {
      return fail(ErrorCode::kPeerDead, "receiver PID " + std::to_string(pid) + " is dead");
    }
    if (!link.may_send) {
      lock = {};  // the coordinator is asked
      // free_links() waits for no answer once the user waits outside, and this call may wait.
      if (life_.waits_outside())
        (void)ask_open(link, true);
      else
        free_links();
      if (!link.may_send) return fail(ErrorCode::kDenied, why_denied(pid));
    }
    if (has_place(link)) return *known;
  }
  auto opened = open_link(pid);
  if (opened && !links_.at(LinkSlot(opened->slot))->may_send)
    return fail(ErrorCode::kDenied, why_denied(pid));
  return opened;
}

// The fault that the reader found in our link, or the rule that forbids it, in the coordinator's
// words.
std::string LinkOpener::why_denied(Pid pid) {
  const send::OutLink* link = links_.out_link(pid);
  if (link != nullptr && link->ended) {
    const std::string fault = link->fault.empty() ? "" : ": " + control::in_quotes(link->fault);
    return "agent " + std::to_string(pid) + " has ended the link that agent " +
           std::to_string(life_.pid()) + " has to it, because of what it found there" + fault +
           "; `link_ended` in the log of the coordinator says it too; attach again";
  }
  const auto verdict = client_.route(std::to_string(life_.pid()), std::to_string(pid));
  if (verdict && !verdict->allowed) return verdict->text;
  return "agent " + std::to_string(life_.pid()) + " may not send to agent " + std::to_string(pid) +
         " in the link that this life has to it: it was opened for receipts alone; attach again";
}

// Creates the link, or asks again if the answer was lost: it is the same segment then.
Result<Peer> LinkOpener::open_link(Pid pid) {
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  if (auto left = leave_old_king(pid); !left) return tl::unexpected(std::move(left.error()));
  const bool again = links_.out_link(pid) != nullptr;
  auto made = link_to(pid);
  if (!made) return tl::unexpected(made.error());
  send::OutLink* link = *made;
  auto opened = ask_open(*link, again);
  // Registering again opens every link of ours, this one among them, unless it leads to pid 1 and
  // the hive is another one.
  if (!opened && client_.closed() && !registration_.is_unasked()) {
    auto done = registration_.resume_in_call();
    link = links_.out_link(pid);
    if (done && link == nullptr) return open_link(pid);
    if (!done) opened = tl::unexpected(std::move(done.error()));
  }
  if (link != nullptr && link->place != nullptr) return *links_.peer_of(pid);
  if (link != nullptr && !again && !client_.closed()) links_.remove(pid);  // refused
  return tl::unexpected(opened.error());
}

Result<Peer> LinkOpener::open_link_unasked(Pid pid) {
  if (life_.waits_outside()) {
    if (auto refusal = take_refusal(pid)) return tl::unexpected(std::move(*refusal));
    if (auto begun = begin_open(pid); !begun) return tl::unexpected(std::move(begun.error()));
    return fail(ErrorCode::kTimeout, "the coordinator was asked, and answers later");
  }
  const Registration::Unasked unasked(registration_);
  return open_link(pid);
}

// A link to pid 1 of an earlier hive makes room for one to its next.
Result<void> LinkOpener::leave_old_king(Pid pid) {
  const auto is_old = [&] {
    const auto lock = life_.lock_send();
    const send::OutLink* const link = links_.out_link(pid);
    return link != nullptr && link->dead;
  };
  if (pid != control::kKingPid || !is_old()) return {};
  ended_.reap_dead_links();
  if (!is_old()) return {};
  return fail(ErrorCode::kTimeout,
              "pid 1 of the last hive has ended, and a question to it or a loan for it is still "
              "open: take the answer or give the loan back, then ask again");
}

// The link that is there, or a new one.
Result<send::OutLink*> LinkOpener::link_to(Pid pid) {
  if (send::OutLink* const link = links_.out_link(pid)) return link;
  return links_.add(pid);
}

bool LinkOpener::serves_receipts_alone(Pid pid) const {
  const auto lock = life_.lock_send();
  const send::OutLink* const link = links_.out_link(pid);
  return link != nullptr && link->place != nullptr && !link->may_send;
}

control::OpenRequest LinkOpener::request_of(const send::OutLink& link, bool again) {
  control::OpenRequest request;
  request.to = link.peer();
  request.serial = link.key().serial;
  request.contract = link.view().contract();
  request.again = again;
  return request;
}

Result<control::Opened> LinkOpener::ask_open(send::OutLink& link, bool again) {
  auto opened = client_.open(request_of(link, again), link.memory().fd());
  if (!opened) return opened;
  return adopt(link, std::move(*opened));
}

Result<control::Opened> LinkOpener::adopt(send::OutLink& link, control::Opened opened) {
  if (opened.index >= shm::kMaxAgents) {
    return fail(ErrorCode::kProtocol, "open: the coordinator names place " +
                                          std::to_string(opened.index) + ", there are " +
                                          std::to_string(shm::kMaxAgents));
  }
  if (opened.process) {
    arrivals_.listen_to(opened.incarnation, std::move(opened.bell));
    (void)links_.learn_life(link.peer(), opened.incarnation, std::move(opened.status),
                            std::move(opened.event));
    receiver_.links().index().each_of(link.peer(), [&](receive::InLink& from) {
      if (from.key().incarnation == opened.incarnation) arrivals_.join_life(from);
    });
  }
  {
    const auto lock = life_.lock_send();
    link.may_send = opened.may_send;
    link.ended |= opened.ended;
    links_.path().set_place(link, opened.index, opened.incarnation);
  }
  family_.mark_sibling(link);
  return opened;
}

// ---- Without a wait -----------------------------------------------------------------------------

Result<void> LinkOpener::begin_open(Pid pid) {
  if (is_opening(pid)) return {};
  (void)take_refusal(pid);
  if (life_.has_left()) return fail(ErrorCode::kClosed, life_.why_down());
  if (client_.closed()) return fail(ErrorCode::kClosed, "the coordinator has gone; ask again");
  if (auto left = leave_old_king(pid); !left) return left;
  const bool again = links_.out_link(pid) != nullptr;
  auto made = link_to(pid);
  if (!made) return tl::unexpected(made.error());
  const send::OutLink* const link = *made;
  const auto asked = client_.ask_open(request_of(*link, again), link->memory().fd());
  if (!asked) {
    if (!again) links_.remove(pid);
    return tl::unexpected(asked.error());
  }
  const std::int64_t late_ns = os::monotonic_ns() + life_.options().control_timeout.count();
  openings_.push_back({pid, *asked, link->key().serial, again, late_ns});
  return {};
}

bool LinkOpener::is_opening(Pid pid) const {
  return std::any_of(openings_.begin(), openings_.end(), [pid](const Opening& opening) {
    return opening.pid == pid && opening.seq != 0;
  });
}

std::optional<Error> LinkOpener::take_refusal(Pid pid) {
  const auto found = std::find_if(openings_.begin(), openings_.end(), [pid](const Opening& each) {
    return each.pid == pid && each.refusal;
  });
  if (found == openings_.end()) return std::nullopt;
  std::optional<Error> refusal = std::move(found->refusal);
  openings_.erase(found);
  return refusal;
}

void LinkOpener::settle_openings() {
  std::erase_if(openings_, [this](Opening& each) {
    // Nobody may read a refusal: the search that has led to it was forgotten.
    return each.seq == 0 ? os::monotonic_ns() >= each.late_ns : settle(each);
  });
}

// True where nothing is left to say of it.
bool LinkOpener::settle(Opening& opening) {
  auto opened = client_.take_opened(opening.seq);
  if (!opened && os::monotonic_ns() < opening.late_ns) return false;
  if (!opened) {
    client_.forget_answer(opening.seq);
    opened = fail(ErrorCode::kTimeout, "the coordinator at " + client_.socket_path() +
                                           " has not answered in time; ask again");
  }
  opening.seq = 0;
  send::OutLink* link = links_.out_link(opening.pid);
  if (link == nullptr || link->key().serial != opening.serial) return true;
  Error error;
  if (*opened) {
    const auto adopted = adopt(*link, std::move(**opened));
    if (adopted) return true;
    error = adopted.error();
  } else {
    error = std::move(opened->error());
  }
  if (link->place != nullptr) return true;  // opened by others meanwhile
  const bool is_refused = error.code != ErrorCode::kClosed && error.code != ErrorCode::kTimeout;
  if (is_refused && !opening.again) links_.remove(opening.pid);
  opening.refusal = std::move(error);
  opening.late_ns = os::monotonic_ns() + life_.options().control_timeout.count();
  return false;
}

void LinkOpener::begin_placing() {
  place_until_ns_ = os::monotonic_ns() + kPlaceFor;
  deadlines_.place = 0;
}

// Opens again every link of ours whose receiver has no place in the directory yet. After the loss
// of the keeper too, the coordinator learns of a receiver only when that registers again.
void LinkOpener::place_links() {
  if (client_.closed() || os::monotonic_ns() < deadlines_.place) return;
  bool missing = false;
  for (LinkSlot slot(0); slot < links_.end_slot() && !client_.closed(); ++slot) {
    const auto is_missing = [&] {
      const auto lock = life_.lock_send();
      return links_.at(slot) != nullptr && !links_.at(slot)->dead &&
             links_.at(slot)->place == nullptr;
    };
    if (!is_missing()) continue;
    if (is_opening(links_.at(slot)->peer())) {  // and no call waits for the answer
      missing = true;
      continue;
    }
    const auto opened = ask_open(*links_.at(slot), true);
    if (opened) continue;
    const ErrorCode code = opened.error().code;
    const bool late = !is_placing();
    {
      const auto lock = life_.lock_send();
      links_.at(slot)->dead = code == ErrorCode::kPeerDead || (code == ErrorCode::kNoAgent && late);
      if (code == ErrorCode::kDenied) links_.at(slot)->may_send = false;
      missing |= !links_.at(slot)->dead && links_.at(slot)->may_send;
    }
    links_.refresh_peer(links_.at(slot)->peer());
  }
  deadlines_.place = missing ? os::monotonic_ns() + kPlacePause : Deadlines::kNever;
}

// Our links that were opened for receipts alone, since a rule forbade more, are asked for again
// once the tree allows it: a task may write to an agent that has adopted it.
void LinkOpener::free_links() {
  const auto is_bound = [](const auto& link) {
    return link != nullptr && !link->may_send && !link->ended && !link->dead;
  };
  if (client_.closed() || std::none_of(links_.all().begin(), links_.all().end(), is_bound)) return;
  const control::Tree tree = read_tree(directory_.view());
  for (LinkSlot slot(0); slot < links_.end_slot(); ++slot) {
    if (!is_bound(links_.at(slot)) ||
        !control::route(tree, life_.pid(), links_.at(slot)->peer()).allowed)
      continue;
    (void)open_link_unasked(links_.at(slot)->peer());
  }
}

bool LinkOpener::lacks_parent_link(Pid peer) const {
  const send::OutLink* link = links_.out_link(peer);
  return link != nullptr && link->copied && links_.out_link(family_.parent()) == nullptr;
}

// Tried again at most once a second: messages meanwhile are counted as not shown.
void LinkOpener::open_parent_link() {
  constexpr std::int64_t kPause = 1'000'000'000;
  family_.note_shown();
  if (family_.parent() <= control::kKingPid || client_.closed() ||
      links_.out_link(family_.parent()) != nullptr)
    return;
  const std::int64_t now = os::monotonic_ns();
  if (now < next_parent_try_ns_) return;
  next_parent_try_ns_ = now + kPause;
  (void)open_link_unasked(family_.parent());
}

}  // namespace beeline
