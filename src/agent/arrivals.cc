#include "src/agent/arrivals.h"

#include <algorithm>
#include <utility>

#include "src/agent/ended.h"
#include "src/agent/escalations.h"
#include "src/agent/family.h"
#include "src/agent/link_opener.h"
#include "src/agent/reports.h"
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

Arrivals::Arrivals(const Needs& needs, const limit::TokenBucket& rate)
    : life_(needs.life),
      directory_(needs.directory),
      client_(needs.client),
      receiver_(needs.receiver),
      bells_(needs.bells),
      links_(needs.links),
      opener_(needs.opener),
      family_(needs.family),
      ended_(needs.ended),
      reports_(needs.reports),
      escalations_(needs.escalations),
      deadlines_(needs.deadlines),
      rates_(rate) {}

// Before the link of an owner is added: where to ring the owner, and its eventfd for us.
void Arrivals::learn_owner(control::AnnouncedLink& announced) {
  if (!announced.process) return;
  listen_to(announced.incarnation, std::move(announced.bell));
  (void)links_.learn_life(announced.pid, announced.incarnation, std::move(announced.status),
                          std::move(announced.event));
}

void Arrivals::handle(control::AnnouncedLink announced) {
  if (links_to_come_ > 0) --links_to_come_;
  const shm::LinkKey key{announced.incarnation, announced.serial};
  const Pid pid = announced.pid;
  const std::uint32_t index = announced.index;
  receive::InLink* known = receiver_.links().index().find(key);
  if (announced.released && known == nullptr) {
    postponed_.remove(key);
    return gone_.push_back(key);
  }
  if (known != nullptr) {
    learn_owner(announced);
    // Its owner may have become a child of ours.
    known->set_may_send(known->may_send() || announced.may_send);
    // A new coordinator has a new directory.
    place_owner(links_.records().of(*known), index);
    join_life(*known);
    if (known->owner_gone()) ended_.end_owner(*known);
    receiver_.links().arrange(*known);
  } else if (postponed_.has_older(pid, key.incarnation)) {
    postponed_.add(pid, key);
    return;
  } else if (auto accepted = accept_link(announced); !accepted) {
    // Its sender cannot know that it waits: the coordinator's log says so, once.
    if (!postponed_.add(pid, key)) return;
    reports_.note_waiting(pid, key, std::move(accepted.error().text));
    return;
  }
  postponed_.remove(key);
  if (all_known_of_ != shm::kNoIncarnation) find_lost_owners(pid, index);
  deadlines_.place = 0;  // it may have been this peer that was missing
  escalations_.try_again_now();
  links_.refresh_peer(pid);
}

void Arrivals::expect(std::uint32_t count, shm::Incarnation all_known_of) {
  links_to_come_ = count;
  postponed_.ask_anew();
  all_known_of_ = all_known_of;
  asks_for_owners_ = true;
}

// A new coordinator, with which we have registered again, does not know the links of a life that it
// has fenced.
void Arrivals::find_lost_owners(Pid pid, std::uint32_t index) {
  receiver_.links().index().each_of(pid, [&](receive::InLink& link) {
    PeerRecord& owner = links_.records().of(link);
    if (owner.has_place() || link.owner_gone()) return;
    place_owner(owner, index);
    receiver_.links().arrange(link);
  });
}

void Arrivals::listen_to(shm::Incarnation incarnation, os::UniqueFd bell) {
  if (bell.valid()) bells_.add(incarnation, std::move(bell));
}

void Arrivals::place_owner(PeerRecord& owner, std::uint32_t index) {
  owner.place(directory_.view(), index);
  family_.set_relation(owner);
}

// Joins a link to the life of its owner, which says where to ring. And the receipts of our
// own link to the owner lie in this one.
void Arrivals::join_life(receive::InLink& link) {
  const auto lock = life_.lock_send();
  link.set_bell(links_.lives().find(link.owner_pid(), link.key().incarnation).bell);
  const shm::LinkView* early =
      links_.lives().set_link(link.owner_pid(), link.key().incarnation, &link.view());
  send::OutLink* own = links_.out_link(link.owner_pid());
  if (early == nullptr || own == nullptr) return;
  if (own->receipts.opposite == early) own->receipts.opposite = &link.view();  // the same memory
}

// As many as there is room for: whatever they bring with them, the last descriptors are our own.
void Arrivals::ask_for_postponed() {
  // While all links are announced again, one that was asked for would be counted among them.
  if (postponed_.empty() || links_to_come_ > 0 || client_.closed()) return;
  const int next = os::next_fd(client_.fd());
  const int room = next < 0 ? 0 : os::first_own_fd() - next;
  if (room < kFdsOfLink || !receiver_.home().vacant_row()) return;
  const auto most = std::min<std::size_t>(kAskedPerTurn, room / kFdsOfLink);
  postponed_.ask_for(most, os::coarse_ns(), [this](const shm::LinkKey& key) {
    return client_.tell(key.incarnation, key.serial).has_value();
  });
}

// Adds it or refuses it. Error: this agent lacks memory, a row or descriptors now, and the link
// waits.
Result<void> Arrivals::accept_link(control::AnnouncedLink& announced) {
  const shm::LinkKey key{announced.incarnation, announced.serial};
  if (const char* wrong = shm::contract_error(announced.contract); wrong != nullptr) {
    reports_.refuse(announced, wrong);
    return {};
  }
  if (!announced.link.valid()) {
    return fail(ErrorCode::kFull, "the reader has no room for its file descriptors (ulimit -n)");
  }
  const auto row = receiver_.home().vacant_row();
  if (!row) return fail(ErrorCode::kFull, "all rows of the reader for links of others are taken");
  auto memory = map_link(announced);
  if (!memory && !segment::is_lie(memory.error())) return tl::unexpected(memory.error());
  if (!memory) {
    reports_.refuse(announced, memory.error().text);
    return {};
  }
  learn_owner(announced);
  auto link = make_in_link(std::move(*memory), announced);
  shm::open_row(receiver_.home().home().row(*row), key, announced.pid, 0, 0, link->seen_empty_ns(),
                link->known_since_ns());
  link->place_in_row(*row);
  if (postponed_.is_shared(key)) link->allow_for_others();
  PeerRecord owner(*link);
  place_owner(owner, announced.index);
  owner.watch_owner();
  receive::InLink& added = receiver_.add(std::move(link));
  links_.records().add(owner);
  join_life(added);
  if (added.owner_gone()) ended_.end_owner(added);
  connect_receipts(added);
  links_.refresh_peer(added.owner_pid());  // its receipts may lie in it
  return {};
}

// Takes the descriptor, but from one that cannot be mapped.
Result<segment::Foreign> Arrivals::map_link(control::AnnouncedLink& announced) const {
  const shm::LinkKey key{announced.incarnation, announced.serial};
  return segment::Foreign::accept_link(std::move(announced.link), announced.contract, announced.pid,
                                       life_.pid(), key);
}

// Without a row.
std::unique_ptr<receive::InLink> Arrivals::make_in_link(segment::Foreign memory,
                                                        const control::AnnouncedLink& announced) {
  auto link = std::make_unique<receive::InLink>(
      std::move(memory), announced.contract,
      receive::LinkOwner{{announced.incarnation, announced.serial}, announced.pid, announced.name});
  link->set_may_send(announced.may_send);
  link->limit_rate(rates_.of(announced.name, os::coarse_ns()));
  link->begin_at(opened_at(announced), os::coarse_ns());
  return link;
}

// Finds a bank for the receipts of an in-link, opening our own link to its owner first where there
// is none. Without one the link is not drained; the next look tries again. Nobody reads receipts
// for the finally dead.
void Arrivals::connect_receipts(receive::InLink& link) {
  if (ended_.is_finally_dead(links_.records().of(link))) return;
  send::OutLink* own = links_.out_link(link.owner_pid());
  if (own == nullptr || own->place == nullptr) {
    // Without a coordinator later, after it was found again: not while messages wait.
    if (client_.closed()) return;
    const auto opened = opener_.open_link_unasked(link.owner_pid());
    if (!opened && opened.error().code == ErrorCode::kPeerDead) link.set_owner_gone(true);
    own = links_.out_link(link.owner_pid());
  }
  if (own == nullptr || own->place == nullptr || link.owner_gone()) return;
  const std::size_t bank = shm::vacant_bank(own->view());
  if (bank == shm::kBanks) return;
  link.show_receipts_in({&own->view(), &own->memory(), bank});
  shm::open_bank(own->view().bank(bank), link.key(), link.position(shm::Lane::kNormal),
                 link.position(shm::Lane::kUrgent));
}

// In-links that a new coordinator did not announce: their owners are finally dead, and we missed it
// in the old directory. It is asked for each, and its answer says that the owner is gone. Not for
// lives that are older than the keeper: they may still come back, with what we have taken already.
void Arrivals::ask_for_owners() {
  if (!asks_for_owners_ || links_to_come_ > 0 || client_.closed()) return;
  bool asked = true;
  for (const auto& link : receiver_.links().all()) {
    const bool lost = !links_.records().of(*link).has_place() && !link->owner_gone();
    if (!lost || link->key().incarnation < all_known_of_) continue;
    asked = asked && client_.fade(link->key().incarnation, link->key().serial).has_value();
  }
  asks_for_owners_ = !asked;
}

}  // namespace beeline
