#include "src/agent/peer_links.h"

#include <algorithm>
#include <utility>

#include "shm/check.h"

namespace beeline {

PeerLinks::PeerLinks(OwnLife& life, receive::Receiver& receiver, const limit::TokenBucket& rate)
    : life_(life), receiver_(receiver), rate_(rate) {}

send::OutLink* PeerLinks::out_link(Pid pid) const {
  const auto found = slot_of_.find(pid);
  return found == slot_of_.end() ? nullptr : at(found->second);
}

std::optional<Peer> PeerLinks::peer_of(Pid pid) const {
  const auto found = slot_of_.find(pid);
  if (found == slot_of_.end()) return std::nullopt;
  return Peer{found->second.value(), pid};
}

Result<send::OutLink*> PeerLinks::add(Pid pid) {
  BEELINE_CHECK(out_link(pid) == nullptr, pid);
  auto made = send::OutLink::create(life_.hive(), life_.pid(), pid,
                                    {life_.incarnation(), next_serial_}, life_.contract());
  if (!made) return tl::unexpected(made.error());
  ++next_serial_;
  made->rate = rate_;
  const auto lock = life_.lock_send();
  LinkSlot slot(0);
  while (slot < end_slot() && at(slot) != nullptr) ++slot;
  if (slot == end_slot()) out_.emplace_back();
  out_[slot.value()] = std::make_unique<send::OutLink>(std::move(*made));
  slot_of_[pid] = slot;
  return at(slot);
}

void PeerLinks::remove(Pid pid) {
  const auto lock = life_.lock_send();
  const auto found = slot_of_.find(pid);
  BEELINE_CHECK(found != slot_of_.end(), pid);
  out_[found->second.value()].reset();
  slot_of_.erase(found);
}

bool PeerLinks::forget(Pid pid) {
  BEELINE_DCHECK(life_.holds_send());
  const auto found = slot_of_.find(pid);
  if (found == slot_of_.end() || at(found->second) != nullptr) return false;
  slot_of_.erase(found);
  received_before_.erase(pid);
  return true;
}

Result<void> PeerLinks::learn_life(Pid pid, shm::Incarnation incarnation, os::UniqueFd status,
                                   os::UniqueFd event) {
  const auto lock = life_.lock_send();
  const auto bell = lives_.learn(pid, incarnation, std::move(status), std::move(event));
  if (!bell) return tl::unexpected(bell.error());
  return {};
}

// Looks up again which receipts of this peer count: something was learnt of it.
void PeerLinks::refresh_peer(Pid pid) {
  const auto lock = life_.lock_send();
  send::OutLink* own = out_link(pid);
  if (own == nullptr) return;
  if (!own->dead || own->place != nullptr) return path_.refresh(*own);
  // SUBTLE: not the newest of the links that are left. Messages that its last life took stay taken
  // when that one's link has gone.
  shm::Incarnation last_life = shm::AgentWord::unpack(own->known_word).incarnation;
  receiver_.links().index().each_of(pid, [&](const receive::InLink& link) {
    last_life = std::max(last_life, link.key().incarnation);
  });
  path_.bury(*own, last_life);
}

// Follows every receiver through the directory, also those to which nothing is sent just now.
void PeerLinks::watch_peers() {
  const auto lock = life_.lock_send();
  for (const auto& link : out_) {
    if (link == nullptr || link->dead) continue;
    if (link->needs_peer) {
      path_.refresh(*link);
    } else {
      path_.follow(*link);
    }
  }
}

void PeerLinks::make_path(const shm::DirectoryView& directory) {
  path_ = send::SendPath(
      life_.pid(), receiver_.home().home().control().reserved_ids,
      [this](Pid pid, shm::Incarnation incarnation) { return lives_.find(pid, incarnation); });
  path_.set_directory(directory);
}

void PeerLinks::leave_directory() {
  for (const auto& link : out_) {
    if (link == nullptr) continue;
    link->place = nullptr;   // it lies in the old one
    link->stop_listening();  // until its word in the new one says whose receipts count
  }
}

void PeerLinks::count_received(Pid pid, std::uint64_t count) {
  if (out_link(pid) != nullptr) received_before_[pid] += count;
}

std::vector<LinkCounters> PeerLinks::counters() {
  std::vector<LinkCounters> result;
  const auto lock = life_.lock_send();
  for (const auto& link : out_) {
    if (link == nullptr) continue;
    path_.follow(*link);
    LinkCounters counts{
        link->peer(),   link->counts.sent, link->not_taken(), 0, link->counts.copies_dropped,
        link->is_away()};
    if (const auto before = received_before_.find(link->peer()); before != received_before_.end()) {
      counts.received = before->second;
    }
    receiver_.links().index().each_of(
        link->peer(), [&](const receive::InLink& from) { counts.received += from.received(); });
    result.push_back(counts);
  }
  return result;
}

std::uint64_t PeerLinks::not_taken() {
  const auto lock = life_.lock_send();
  std::uint64_t count = 0;
  for (const auto& link : out_) {
    if (link != nullptr && !link->dead && !link->ended) count += link->still_awaited();
  }
  return count;
}

void PeerLinks::want_all_space(bool wanted) {
  const auto lock = life_.lock_send();
  for (const auto& link : out_) {
    if (link != nullptr) send::SendPath::want_space(*link, send::SpaceFor::kWait, wanted);
  }
}

std::vector<std::uint32_t> PeerLinks::unused() {
  std::vector<std::uint32_t> serials;
  const auto lock = life_.lock_send();
  for (const auto& link : out_) {
    if (link != nullptr && link->is_unused()) serials.push_back(link->key().serial);
  }
  return serials;
}

void PeerLinks::become_a_copy() {
  for (const auto& link : out_) {
    if (link != nullptr) link->memory().hold_addresses_in_child();
  }
}

}  // namespace beeline
