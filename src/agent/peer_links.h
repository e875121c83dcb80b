#pragma once
// The links that this agent owns, one for each peer, and what it knows of the lives of the peers
// and of the owners of in-links.

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <beeline/agent.h>

#include "shm/check.h"
#include "src/agent/link_slot.h"
#include "src/agent/lives.h"
#include "src/agent/own_life.h"
#include "src/agent/peer_records.h"
#include "src/receive/receiver.h"
#include "src/send/send_path.h"

namespace beeline {

// Under the send lock once other threads send: they look up links and lives. The records belong to
// the agent's own thread.
class PeerLinks {
 public:
  // `rate`: of each link that is added, full.
  PeerLinks(OwnLife& life, receive::Receiver& receiver, const limit::TokenBucket& rate);

  // ---- Links ----
  // The link behind the handle of a peer; null where there is none any more.
  [[gnu::always_inline]] [[nodiscard]] send::OutLink* find(Peer peer) const {
    if (peer.slot >= out_.size() || out_[peer.slot] == nullptr) return nullptr;
    return out_[peer.slot]->peer() == peer.pid ? out_[peer.slot].get() : nullptr;
  }
  // The same for a call that may send: null once this agent has left.
  [[gnu::always_inline]] [[nodiscard]] send::OutLink* link_of(Peer peer) const {
    return life_.has_left() ? nullptr : find(peer);
  }
  [[nodiscard]] send::OutLink* out_link(Pid pid) const;
  // By LinkSlot; null = vacant.
  [[nodiscard]] const std::vector<std::unique_ptr<send::OutLink>>& all() const { return out_; }
  [[nodiscard]] send::OutLink* at(LinkSlot slot) const {
    BEELINE_DCHECK(slot < end_slot(), slot, out_.size());
    return out_[slot.value()].get();
  }
  // Behind the last one.
  [[nodiscard]] LinkSlot end_slot() const {
    return LinkSlot(static_cast<std::uint32_t>(out_.size()));
  }
  // The handle of a peer that has a link.
  [[nodiscard]] std::optional<Peer> peer_of(Pid pid) const;
  // Creates a link. Errors: kNoMemory, kSystem.
  [[nodiscard]] Result<send::OutLink*> add(Pid pid);
  // The coordinator has refused the link.
  void remove(Pid pid);
  // Under the send lock. Lets go of the link in this slot; its peer is known until forget().
  void let_go(LinkSlot slot) {
    BEELINE_DCHECK(life_.holds_send());
    BEELINE_CHECK(slot < end_slot() && at(slot) != nullptr, slot, out_.size());
    BEELINE_CHECK(at(slot)->slabs.loaned() == 0, at(slot)->peer());
    out_[slot.value()].reset();
  }
  // Under the send lock. False where the peer has another link by now.
  bool forget(Pid pid);

  // ---- Lives ----
  [[nodiscard]] Lives& lives() { return lives_; }
  Result<void> learn_life(Pid pid, shm::Incarnation incarnation, os::UniqueFd status,
                          os::UniqueFd event);
  void refresh_peer(Pid pid);
  void watch_peers();

  // ---- The owners of in-links ----
  [[nodiscard]] PeerRecords& records() { return records_; }

  // ---- The send path ----
  // Under the send lock.
  [[nodiscard]] send::SendPath& path() {
    BEELINE_DCHECK(life_.holds_send());
    return path_;
  }
  // Anew when the home has other ids, after a take-over.
  void make_path(const shm::DirectoryView& directory);
  // The directory is another one: every place in the old one is forgotten, and the new one
  // decides which receipts count.
  void leave_directory();

  // ---- Counts ----
  [[nodiscard]] std::vector<LinkCounters> counters();
  // Messages were received through a link that has faded.
  void count_received(Pid pid, std::uint64_t count);
  [[nodiscard]] std::uint64_t not_taken();
  // Serials of the links in which nothing was ever sent.
  [[nodiscard]] std::vector<std::uint32_t> unused();
  void want_all_space(bool wanted);
  // Runs inside fork().
  void become_a_copy();

 private:
  OwnLife& life_;
  receive::Receiver& receiver_;
  limit::TokenBucket rate_;
  std::vector<std::unique_ptr<send::OutLink>> out_;
  Lives lives_;
  PeerRecords records_;
  send::SendPath path_;
  std::unordered_map<Pid, LinkSlot> slot_of_;
  std::uint32_t next_serial_ = 1;
  std::unordered_map<Pid, std::uint64_t> received_before_;  // through links that have faded
};

}  // namespace beeline
