#pragma once
// A life that takes over from another, and the peer with the link that both take from.

#include <functional>
#include <optional>

#include "src/receive/successor.h"
#include "tests/unit/receiver_peers.h"

namespace beeline::receive::test {

using shm::Lane;

inline constexpr std::uint32_t kHeirPeer = 100;
inline constexpr std::uint32_t kSlabBytes = 500;

// The successor's view of a peer: the link that it reads, and the place of its predecessor's
// receipts.
inline std::unique_ptr<InLink> link_of(const Peer& peer, const send::OutLink& back) {
  auto link = std::make_unique<InLink>(must(beeline::test::map_link(peer.own, peer.pid)), kContract,
                                       LinkOwner{peer.own.key(), peer.pid, {}});
  link->show_receipts_in({&back.view(), &back.memory(), shm::vacant_bank(back.view())});
  return link;
}
inline OldReceipts receipts_in(const send::OutLink& old) {
  return {must(os::duplicate(old.memory().fd())), old.key(), kContract};
}

// A life that has taken over from another, with one peer. Between the links and the entries the
// predecessor, which was fenced and still runs, does `meanwhile`.
struct Heir {
  Heir(Receiver& before, const send::OutLink& old_receipts, Peer& peer, shm::Incarnation life,
       const std::function<void()>& meanwhile = {})
      : receiver(must(HomeMemory::create("test", kReaderPid, life, small()))),
        back(make_link(kReaderPid, peer.pid, {life, 1})) {
    before.home().set_ready();
    const shm::Incarnation old_life(before.home().home().header().owner_incarnation);
    auto old = must(OldHome::accept(must(os::duplicate(before.home().fd())), kReaderPid, old_life));
    Predecessor predecessor(std::move(old), 1);
    link =
        must(inherit_link(receiver, predecessor, link_of(peer, back), receipts_in(old_receipts)));
    if (meanwhile) meanwhile();
    done = inherit_home(receiver, predecessor).has_value();
    receiver.settle_adopted();
  }
  static shm::HomeOptions small() {
    shm::HomeOptions options;
    options.capacity = 4 * kCapacity;
    return options;
  }
  // The ids of all messages that can be taken now; they stay leased.
  std::vector<std::uint64_t> lease_all() {
    receiver.drain_all();
    std::vector<std::uint64_t> ids;
    for (shm::EntryIndex at = receiver.take(); at != shm::kNoEntry; at = receiver.take()) {
      ids.push_back(receiver.entry(at).header.id);
    }
    return ids;
  }
  [[nodiscard]] std::uint64_t stamp(shm::SlabIndex slab) const {
    return back.view().stamp(link->sink().bank, slab).observe();
  }

  Receiver receiver;
  send::OutLink back;  // to the peer, for receipts
  InLink* link = nullptr;
  bool done = false;
};

class HeirTest : public ReceiverTest {
 protected:
  HeirTest() {
    start({}, 4 * kCapacity);
    peer_ = &join(kHeirPeer);
  }
  [[nodiscard]] Heir heir(const std::function<void()>& meanwhile = {}) {
    return {*receiver_, peer_->back, *peer_, kReaderLife + 1, meanwhile};
  }
  [[nodiscard]] shm::InRow& old_row() const {
    return receiver_->home().home().row(peer_->link->row());
  }
  [[nodiscard]] shm::ReceiptBank& old_bank() const {
    return peer_->back.view().bank(peer_->link->sink().bank);
  }
  shm::SlabPool::Loan say_in_slab() {
    const auto loan = peer_->own.take_slab(kSlabBytes);
    EXPECT_TRUE(loan);
    shm::MessageHeader header = peer_->sound();
    header.flags = shm::kFlagSlab;
    header.slab = loan->slab.value();
    header.length = kSlabBytes;
    peer_->publish(header, Lane::kNormal, nullptr, loan->generation);
    peer_->own.slabs.mark_out(*loan);
    peer_->own.lanes[0].advance();
    return *loan;
  }
  [[nodiscard]] std::vector<std::uint64_t> ids(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      all.push_back(shm::make_message_id(kHeirPeer, first + i));
    }
    return all;
  }
  // The sender's own record of its sends.
  void say_knowingly(std::uint32_t times) {
    peer_->say_often(times);
    for (std::uint32_t i = 0; i < times; ++i) peer_->own.lanes[0].advance();
  }
  // The life of the fixture says that it has taken this much, and the sender hears it.
  void tell(std::uint64_t taken) {
    send::OutLink& own = peer_->own;
    if (!old_view_) old_view_.emplace(peer_->back.memory().data(), kContract);
    own.first_life = kReaderLife;
    if (own.receipts.opposite == nullptr) own.turn_to(*old_view_, kReaderLife);
    old_bank().cursors[0].publish(taken);
    ASSERT_EQ(own.not_taken(), own.lanes[0].tail() - taken);
  }
  // The successor learns nothing of the lie.
  void lie() {
    for (auto& cursor : old_row().cursors) cursor.publish(~0ULL);
    for (auto& cursor : old_bank().cursors) cursor.publish(~0ULL);
  }
  static void expect_balance(const Receiver& receiver) {
    const shm::Inbox& inbox = receiver.home().inbox();
    const shm::InboxCounters& counters = receiver.home().home().control().counters;
    EXPECT_EQ(shm::drained_total(receiver.home().home()),
              inbox.queued() + inbox.leased() + inbox.dead() + counters.done.observe() +
                  counters.purged.observe());
  }
  Peer* peer_ = nullptr;
  std::optional<shm::LinkView> old_view_;  // the receipts, as the sender maps them
};

}  // namespace beeline::receive::test
