#include "src/agent/ended.h"

#include <algorithm>
#include <vector>

#include "shm/check.h"
#include "src/agent/arrivals.h"
#include "src/agent/family.h"
#include "src/agent/names.h"
#include "src/agent/questions.h"

namespace beeline {

namespace {

// A turn looks after at most so many links to which something has happened, and tells the
// coordinator of at most so many that this agent has forgotten.
constexpr std::size_t kCalledPerTurn = 128;
// A turn looks after so many of the other links of the ended, one after the other, because a life
// that was fenced may still write into them.
constexpr std::size_t kEndedPerTurn = 16;

}  // namespace

Ended::Ended(const Needs& needs)
    : life_(needs.life),
      directory_(needs.directory),
      client_(needs.client),
      receiver_(needs.receiver),
      bells_(needs.bells),
      links_(needs.links),
      arrivals_(needs.arrivals),
      family_(needs.family),
      names_(needs.names),
      questions_(needs.questions) {}

// Its place may belong to another agent by now.
bool Ended::is_finally_dead(const PeerRecord& owner) const {
  const receive::InLink& link = owner.link();
  if (!link.owner_gone()) return false;
  if (!owner.has_place()) return true;
  const shm::AgentState state = owner.word().state;
  if (state == shm::AgentState::kDead || state == shm::AgentState::kVacant) return true;
  shm::AgentRecord record;
  return directory_.view().read_record(owner.index(), record) && record.pid != link.owner_pid();
}

void Ended::end_owner(receive::InLink& link) {
  BEELINE_CHECK(link.owner_gone(), link.owner_pid(), link.key().incarnation);
  const auto lock = life_.lock_send();
  send::OutLink* own = links_.out_link(link.owner_pid());
  if (own != nullptr) links_.path().follow(*own);
  const wake::Bell bell = links_.lives().find(link.owner_pid(), link.key().incarnation).bell;
  link.set_bell({});
  bells_.forget(link.key().incarnation);
  if (own != nullptr && bell.page != nullptr && own->bell.page == bell.page) return;
  links_.lives().end(link.owner_pid(), link.key().incarnation);
}

// From the back: those that go from among the living leave no gap there.
void Ended::watch_owners() {
  receive::OwnerWatch& owners = receiver_.links().owners();
  receiver_.links().count_visits(owners.living().size());
  for (std::size_t i = owners.living().size(); i-- > 0;) {
    receive::InLink& link = *owners.living()[i];
    links_.records().of(link).watch_owner();
    if (!link.sink().valid() && !link.owner_gone()) arrivals_.connect_receipts(link);
    if (!link.owner_gone()) continue;
    end_owner(link);
    receiver_.links().arrange(link);
  }
}

void Ended::fade_links() {
  std::vector<shm::LinkKey>& gone = arrivals_.gone();
  const std::size_t most = std::min(gone.size(), kCalledPerTurn);
  std::size_t said = 0;
  while (said < most && client_.fade(gone[said].incarnation, gone[said].serial, true)) ++said;
  gone.erase(gone.begin(), gone.begin() + static_cast<std::ptrdiff_t>(said));
  look_after_all();
  reap_dead_links();
}

void Ended::look_after_all() {
  receive::OwnerWatch& owners = receiver_.links().owners();
  const std::size_t called = std::min(owners.called(), kCalledPerTurn);
  const std::size_t others = std::min(owners.ended(), kEndedPerTurn);
  receiver_.links().count_visits(called + others);
  std::vector<receive::InLink*> unsaid;
  for (std::size_t i = 0; i < called; ++i) {
    receive::InLink& link = *owners.next_called();
    if (!look_after(link)) unsaid.push_back(&link);
  }
  for (receive::InLink* link : unsaid) owners.call(*link);
  for (std::size_t i = 0; i < others; ++i) {
    receive::InLink* link = owners.next_ended();
    if (link != nullptr && !look_after(*link)) owners.call(*link);
  }
}

// Asks the coordinator to let go of a link that is drained and of a life that has ended. Until it
// has said that it may be forgotten, link and row stay: one that was restarted meanwhile announces
// the link again, and without its cursor everything in it would be taken twice. Until it was told
// that the row is closed it keeps the link: the next life needs it for messages of it that this
// one may hold. False: it is to be looked after again, since the coordinator could not be asked
// now, or more is to be passed over.
bool Ended::look_after(receive::InLink& link) {
  receive::Receiver& receiver = receiver_;
  PeerRecord& owner = links_.records().of(link);
  if (owner.tree_epoch() != family_.tree_epoch()) family_.set_relation(owner);
  const bool goes_on = receiver.audit().look_at(link);
  // Nobody reads receipts for the dead any more, and the next lives of their names need banks.
  if (!link.holds_messages()) receive::close_receipts(link);
  receiver.links().arrange(link);
  if (goes_on) return false;
  if (link.is_fading() || !link.faded()) return true;
  if (link.quarantined() && !owner.is_reported())
    return true;  // while the coordinator knows the link
  if (client_.fade(link.key().incarnation, link.key().serial)) link.begin_fading();
  return link.is_fading() || client_.closed();
}

void Ended::forget_link(const control::FadedAnnouncement& faded) {
  receive::Receiver& receiver = receiver_;
  receive::InLink* link = receiver.links().index().find({faded.incarnation, faded.serial});
  if (link == nullptr) return arrivals_.postponed().remove({faded.incarnation, faded.serial});
  // After a resume, or its owner published after its end: its messages are still to be drained,
  // and then the coordinator is asked, once more.
  if (!link->is_fading() || !link->faded()) {
    link->set_owner_gone(true);
    link->stop_fading();
    receiver.links().arrange(*link);
    receiver.links().owners().call(*link);
    return;
  }
  const Pid pid = link->owner_pid();
  {
    const auto lock = life_.lock_send();
    send::OutLink* own = links_.out_link(pid);
    if (own != nullptr && own->receipts.opposite == &link->view()) {
      links_.path().follow(*own);  // its next life may be taking over by now
      if (own->receipts.opposite == &link->view()) own->drop_receipts();
    }
    links_.lives().set_link(pid, link->key().incarnation, nullptr);
  }
  const std::uint64_t received = link->received();
  const shm::RowIndex row = link->row();
  if (receiver.remove(*link)) {
    links_.records().remove(row);
    links_.count_received(pid, received);
    arrivals_.gone().push_back({faded.incarnation, faded.serial});
  }
  links_.refresh_peer(pid);
  forget_life(pid, faded.incarnation);
}

// Receipts of an in-link lie in it, or a question is about it.
bool Ended::is_linked(const send::OutLink& own) const {
  bool linked = questions_.has_one_to(own.peer());
  receiver_.links().index().each_of(
      own.peer(), [&](const receive::InLink& link) { linked |= link.sink().own == &own.view(); });
  return linked;
}

// Our links to the finally dead: the coordinator has taken over their messages, nobody reads them
// any more.
void Ended::reap_dead_links() {
  const auto lock = life_.lock_send();
  for (LinkSlot slot(0); slot < links_.end_slot(); ++slot) {
    const send::OutLink* own = links_.at(slot);
    if (own == nullptr || !own->dead || own->slabs.loaned() != 0 || is_linked(*own)) continue;
    const Pid pid = own->peer();
    links_.let_go(slot);
    forget_unused(pid);
    receiver_.answers().forget(pid);
    if (links_.forget(pid)) names_.forget(pid);
  }
}

// Under the send lock.
bool Ended::is_used(Pid pid, shm::Incarnation incarnation, const shm::LinkView* shown) const {
  BEELINE_DCHECK(life_.holds_send());
  if (receiver_.links().index().has_life(pid, incarnation)) return true;
  if (arrivals_.postponed().has_life(pid, incarnation)) return true;
  const send::OutLink* own = links_.out_link(pid);
  if (own == nullptr) return false;
  if (shown != nullptr && own->receipts.opposite == shown) return true;
  return shm::AgentWord::unpack(own->known_word).incarnation <= incarnation;
}

void Ended::end_old_king(shm::Incarnation first_known) {
  std::vector<receive::InLink*> from_king;
  receiver_.links().index().each_of(control::kKingPid, [&](receive::InLink& link) {
    if (link.key().incarnation < first_known) from_king.push_back(&link);
  });
  for (receive::InLink* link : from_king) {
    link->set_owner_gone(true);
    end_owner(*link);
    receive::close_receipts(*link);
    receiver_.links().arrange(*link);
    receiver_.links().owners().call(*link);
  }
  {
    const auto lock = life_.lock_send();
    send::OutLink* const own = links_.out_link(control::kKingPid);
    if (own == nullptr) return;
    own->dead = true;
  }
  links_.refresh_peer(control::kKingPid);
  reap_dead_links();
}

void Ended::forget_life(Pid pid, shm::Incarnation incarnation) {
  const auto lock = life_.lock_send();
  forget_unused(pid);
  if (is_used(pid, incarnation, links_.lives().find(pid, incarnation).link)) return;
  links_.lives().forget(pid, incarnation);
  bells_.forget(incarnation);
}

// The oldest, up to one that is used. Under the send lock.
void Ended::forget_unused(Pid pid) {
  BEELINE_DCHECK(life_.holds_send());
  links_.lives().forget_oldest(
      pid,
      [&](shm::Incarnation incarnation, const shm::LinkView* shown) {
        return is_used(pid, incarnation, shown);
      },
      [&](shm::Incarnation incarnation) { bells_.forget(incarnation); });
}

}  // namespace beeline
