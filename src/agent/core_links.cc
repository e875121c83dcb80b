// The links of an agent: announced ones, own ones, and what joins them to the lives of their
// owners.

#include <algorithm>

#include "src/agent/core.h"
#include "src/agent/ended.h"
#include "src/agent/unasked.h"
#include "src/control/quotes.h"
#include "src/os/process.h"

namespace beeline {

namespace {

// A turn asks for so many of the links that wait for room: about as many as a call hears. A turn
// comes with each tick of a clock, so with fewer thousands of links would wait for ticks. Each link
// may bring so many descriptors, our own link to its owner included.
constexpr std::size_t kAskedPerTurn = 128;
constexpr int kFdsOfLink = 5;

// Before that nothing was sent in it, and after that for as long as nobody knew of it.
std::int64_t opened_at(const control::AnnouncedLink& announced) {
  return std::clamp<std::int64_t>(announced.opened_ns, 0, os::coarse_ns());
}

}  // namespace

// Before its link is added: where it is rung, and what it rings us with.
void AgentCore::learn_owner(control::AnnouncedLink& announced) {
  if (!announced.process) return;
  listen_to(announced.incarnation, std::move(announced.bell));
  static_cast<void>(learn_life(announced.pid, announced.incarnation, std::move(announced.status),
                               std::move(announced.event)));
}

void AgentCore::handle(control::AnnouncedLink announced) {
  if (links_to_come_ > 0) --links_to_come_;
  const shm::LinkKey key{announced.incarnation, announced.serial};
  const Pid pid = announced.pid;
  const std::uint32_t index = announced.index;
  receive::InLink* known = receiver_->links().index().find(key);
  if (announced.released && known == nullptr) {
    postponed_.remove(key);
    return gone_.push_back(key);
  }
  if (known != nullptr) {
    learn_owner(announced);
    known->may_send |= announced.may_send;  // its owner may have become a child of ours
    set_owner_place(*known, index);         // a new coordinator has a new directory
    join_life(*known);
    if (known->owner_gone) Ended(*this).end_owner(*known);
    receiver_->links().arrange(*known);
  } else if (postponed_.has_older(pid, key.incarnation)) {
    postponed_.add(pid, key);
    return;
  } else if (auto accepted = accept_link(announced); !accepted) {
    // Its sender cannot know that it waits: the coordinator's log says so, once.
    if (!postponed_.add(pid, key)) return;
    refused_.push_back({std::move(accepted.error().text), pid, key.incarnation, key.serial,
                        /*unread=*/false, /*waits=*/true});
    return;
  }
  postponed_.remove(key);
  if (all_known_of_ != 0) find_lost_owners(pid, index);
  next_place_ns_ = 0;  // it may have been this peer that was missing
  escalations_.try_again_now();
  refresh_peer(pid);
}

// A new coordinator, with which we have registered again, does not know the links of a life that it
// has fenced.
void AgentCore::find_lost_owners(Pid pid, std::uint32_t index) {
  receiver_->links().index().each_of(pid, [&](receive::InLink& link) {
    if (link.owner_place != nullptr || link.owner_gone) return;
    set_owner_place(link, index);
    receiver_->links().arrange(link);
  });
}

void AgentCore::listen_to(std::uint64_t incarnation, os::UniqueFd bell) {
  if (bell.valid()) bells_.add(incarnation, std::move(bell));
}

// One that has no place any more is finally dead.
void AgentCore::set_owner_place(receive::InLink& link, std::uint32_t index) {
  link.owner_gone = index >= shm::kMaxAgents;
  link.owner_place = link.owner_gone ? nullptr : &directory_view_.word(index);
  link.owner_index = index;
  set_relation(link);
}

Result<void> AgentCore::learn_life(Pid pid, std::uint64_t incarnation, os::UniqueFd status,
                                   os::UniqueFd event) {
  const auto lock = lock_send();
  const auto bell = lives_.learn(pid, incarnation, std::move(status), std::move(event));
  if (!bell) return tl::unexpected(bell.error());
  return {};
}

// Joins a link to what is known of its owner's life: where that is rung. And the receipts of our
// own link to the owner lie in this one.
void AgentCore::join_life(receive::InLink& link) {
  const auto lock = lock_send();
  link.bell = lives_.find(link.owner_pid, link.key.incarnation).bell;
  const shm::LinkView* early = lives_.set_link(link.owner_pid, link.key.incarnation, &link.view);
  send::OutLink* own = out_link(link.owner_pid);
  if (early == nullptr || own == nullptr) return;
  if (own->receipts.opposite == early) own->receipts.opposite = &link.view;  // the same memory
}

// As many as there is room for: whatever they bring with them, the last descriptors are our own.
void AgentCore::ask_for_postponed() {
  // While all links are announced again, one that was asked for would be counted among them.
  if (postponed_.empty() || links_to_come_ > 0 || client_.closed()) return;
  const int next = os::next_fd(client_.fd());
  const int room = next < 0 ? 0 : os::first_own_fd() - next;
  if (room < kFdsOfLink || !receiver_->home().vacant_row()) return;
  const auto most = std::min<std::size_t>(kAskedPerTurn, room / kFdsOfLink);
  postponed_.ask_for(most, os::coarse_ns(), [this](const shm::LinkKey& key) {
    return client_.tell(key.incarnation, key.serial).has_value();
  });
}

// Adds it or refuses it. Error: this agent lacks what it needs now, and the link waits.
Result<void> AgentCore::accept_link(control::AnnouncedLink& announced) {
  const shm::LinkKey key{announced.incarnation, announced.serial};
  if (const char* wrong = shm::contract_error(announced.contract); wrong != nullptr) {
    refuse(announced, wrong);
    return {};
  }
  if (!announced.link.valid()) {
    return fail(ErrorCode::kFull, "the reader has no room for its file descriptors (ulimit -n)");
  }
  const auto row = receiver_->home().vacant_row();
  if (!row) return fail(ErrorCode::kFull, "all rows of the reader for links of others are taken");
  auto memory = map_link(announced);
  if (!memory && !segment::is_lie(memory.error())) return tl::unexpected(memory.error());
  if (!memory) {
    refuse(announced, memory.error().text);
    return {};
  }
  learn_owner(announced);
  auto link = make_in_link(std::move(*memory), announced);
  shm::open_row(receiver_->home().home().row(*row), key, announced.pid, 0, 0, link->seen_empty_ns,
                link->known_since_ns);
  link->row = *row;
  if (postponed_.is_shared(key)) link->allow_for_others();
  link->watch_owner();
  receive::InLink& added = receiver_->add(std::move(link));
  join_life(added);
  if (added.owner_gone) Ended(*this).end_owner(added);
  connect_receipts(added);
  refresh_peer(added.owner_pid);  // its receipts may lie in it
  return {};
}

// Takes the descriptor, but from one that cannot be mapped.
Result<segment::Foreign> AgentCore::map_link(control::AnnouncedLink& announced) {
  const shm::LinkKey key{announced.incarnation, announced.serial};
  return segment::Foreign::accept_link(std::move(announced.link), announced.contract, announced.pid,
                                       pid_, key);
}

// Without a row.
std::unique_ptr<receive::InLink> AgentCore::make_in_link(segment::Foreign memory,
                                                         const control::AnnouncedLink& announced) {
  auto link = std::make_unique<receive::InLink>(std::move(memory), announced.contract);
  link->key = {announced.incarnation, announced.serial};
  link->owner_pid = announced.pid;
  link->owner_name = announced.name;
  set_owner_place(*link, announced.index);
  link->may_send = announced.may_send;
  link->rate = receive_rates_.of(announced.name, os::coarse_ns());
  link->seen_empty_ns = opened_at(announced);
  link->known_since_ns = os::coarse_ns();
  return link;
}

// Finds a bank for the receipts of an in-link, opening our own link to its owner first where there
// is none. Without one the link is not drained; the next look tries again. Nobody reads receipts
// for the finally dead.
void AgentCore::connect_receipts(receive::InLink& link) {
  if (Ended(*this).is_finally_dead(link)) return;
  send::OutLink* own = out_link(link.owner_pid);
  if (own == nullptr || own->place == nullptr) {
    // Without a coordinator later, after it was found again: not while messages wait.
    if (client_.closed()) return;
    const auto opened = open_link_unasked(link.owner_pid);
    if (!opened && opened.error().code == ErrorCode::kPeerDead) link.owner_gone = true;
    own = out_link(link.owner_pid);
  }
  if (own == nullptr || own->place == nullptr || link.owner_gone) return;
  const std::size_t bank = shm::vacant_bank(own->view());
  if (bank == shm::kBanks) return;
  link.sink = {&own->view(), &own->memory(), bank};
  shm::open_bank(own->view().bank(bank), link.key, link.position[0], link.position[1]);
}

send::OutLink* AgentCore::out_link(Pid pid) {
  const auto found = slot_of_.find(pid);
  return found == slot_of_.end() ? nullptr : out_[found->second].get();
}

// Whose receipts count, of a peer of which something was learnt.
void AgentCore::refresh_peer(Pid pid) {
  const auto lock = lock_send();
  send::OutLink* own = out_link(pid);
  if (own == nullptr) return;
  if (!own->dead || own->place != nullptr) return send_path_.refresh(*own);
  // SUBTLE: not the newest of the links that are left. What its last life took stays taken when
  // that one's link has gone.
  std::uint64_t last_life = shm::AgentWord::unpack(own->known_word).incarnation;
  receiver_->links().index().each_of(pid, [&](const receive::InLink& link) {
    last_life = std::max(last_life, link.key.incarnation);
  });
  send_path_.bury(*own, last_life);
}

// Follows every receiver through the directory, also those to which nothing is sent just now.
void AgentCore::watch_peers() {
  const auto lock = lock_send();
  for (const auto& link : out_) {
    if (link == nullptr || link->dead) continue;
    if (link->needs_peer) {
      send_path_.refresh(*link);
    } else {
      send_path_.follow(*link);
    }
  }
}

// ---- Opening links ------------------------------------------------------------------------------

// Or may get one: who has not registered with a new coordinator yet may still do so, and sends wait
// for it.
bool AgentCore::has_place(const send::OutLink& link) const {
  return link.place != nullptr || is_placing();
}

// The handle of a peer to which the link is open; nothing if sends would fail.
std::optional<Peer> AgentCore::open_peer(Pid pid) {
  const auto lock = lock_send();
  send::OutLink* link = out_link(pid);
  if (link == nullptr) return std::nullopt;
  send_path_.follow(*link);
  if (link->dead || !link->may_send || !has_place(*link)) return std::nullopt;
  return Peer{slot_of_[pid], pid};
}

Result<Peer> AgentCore::peer(Pid pid) {
  auto found = find_peer(pid);
  if (found && lacks_parent_link(pid)) open_parent_link();
  return found;
}

Result<Peer> AgentCore::find_peer(Pid pid) {
  if (has_left()) return fail(ErrorCode::kClosed, why_down());
  if (const auto known = slot_of_.find(pid); known != slot_of_.end()) {
    auto lock = lock_send();
    send::OutLink& link = *out_[known->second];
    send_path_.follow(link);
    if (link.dead) {
      return fail(ErrorCode::kPeerDead, "receiver PID " + std::to_string(pid) + " is dead");
    }
    if (!link.may_send) {
      lock = {};  // the coordinator is asked
      free_links();
      if (!link.may_send) return fail(ErrorCode::kDenied, why_denied(pid));
    }
    if (has_place(link)) return Peer{known->second, pid};
  }
  auto opened = open_link(pid);
  if (opened && !out_[opened->slot]->may_send) return fail(ErrorCode::kDenied, why_denied(pid));
  return opened;
}

// What its reader has found in our link, or the rule that forbids it, in the coordinator's words.
std::string AgentCore::why_denied(Pid pid) {
  const send::OutLink* link = out_link(pid);
  if (link != nullptr && link->ended) {
    const std::string fault = link->fault.empty() ? "" : ": " + control::in_quotes(link->fault);
    return "agent " + std::to_string(pid) + " has ended the link that agent " +
           std::to_string(pid_) + " has to it, because of what it found there" + fault +
           "; `link_ended` in the log of the coordinator says it too; attach again";
  }
  const auto verdict = client_.route(std::to_string(pid_), std::to_string(pid));
  if (verdict && !verdict->allowed) return verdict->text;
  return "agent " + std::to_string(pid_) + " may not send to agent " + std::to_string(pid) +
         " in the link that this life has to it: it was opened for receipts alone; attach again";
}

Result<send::OutLink*> AgentCore::add_out_link(Pid pid) {
  auto made = send::OutLink::create(hive_, pid_, pid, {incarnation_, next_serial_}, contract_);
  if (!made) return tl::unexpected(made.error());
  ++next_serial_;
  made->rate = send_rate_;
  const auto lock = lock_send();
  std::size_t slot = 0;
  while (slot < out_.size() && out_[slot] != nullptr) ++slot;
  if (slot == out_.size()) out_.emplace_back();
  out_[slot] = std::make_unique<send::OutLink>(std::move(*made));
  slot_of_[pid] = static_cast<std::uint32_t>(slot);
  return out_[slot].get();
}

// Creates the link, or asks again for one whose answer was lost: it is the same segment then.
Result<Peer> AgentCore::open_link(Pid pid) {
  if (has_left()) return fail(ErrorCode::kClosed, why_down());
  send::OutLink* link = out_link(pid);
  const bool again = link != nullptr;
  if (!again) {
    auto made = add_out_link(pid);
    if (!made) return tl::unexpected(made.error());
    link = *made;
  }
  auto opened = ask_open(*link, again);
  // Registering again opens every link of ours, this one among them.
  if (!opened && client_.closed() && !unasked_) {
    if (auto done = resume_in_call(); !done) opened = tl::unexpected(std::move(done.error()));
  }
  if (link->place != nullptr) return Peer{slot_of_[pid], pid};
  if (!again && !client_.closed()) {  // refused
    const auto lock = lock_send();
    out_[slot_of_[pid]].reset();
    slot_of_.erase(pid);
  }
  return tl::unexpected(opened.error());
}

Result<Peer> AgentCore::open_link_unasked(Pid pid) {
  const Unasked unasked(*this);
  return open_link(pid);
}

Result<control::Opened> AgentCore::ask_open(send::OutLink& link, bool again) {
  control::OpenRequest request;
  request.to = link.peer();
  request.serial = link.key().serial;
  request.contract = link.view().contract();
  request.again = again;
  auto opened = client_.open(request, link.memory().fd());
  if (!opened) return opened;
  if (opened->index >= shm::kMaxAgents) {
    return fail(ErrorCode::kProtocol, "open: the coordinator names place " +
                                          std::to_string(opened->index) + ", there are " +
                                          std::to_string(shm::kMaxAgents));
  }
  if (opened->process) {
    listen_to(opened->incarnation, std::move(opened->bell));
    static_cast<void>(learn_life(link.peer(), opened->incarnation, std::move(opened->status),
                                 std::move(opened->event)));
    receiver_->links().index().each_of(link.peer(), [&](receive::InLink& from) {
      if (from.key.incarnation == opened->incarnation) join_life(from);
    });
  }
  {
    const auto lock = lock_send();
    link.may_send = opened->may_send;
    link.ended |= opened->ended;
    send_path_.set_place(link, opened->index, opened->incarnation);
  }
  mark_sibling(link);
  return opened;
}

}  // namespace beeline
