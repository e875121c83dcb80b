// What an agent takes from a link that lives before its own took from: the receipts that its sender
// hears, stamps that were a lie, and what a life that was fenced has done after its end.

#include "src/receive/successor.h"
#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::kContract;
using test::kReaderLife;
using test::kReaderPid;
using test::must;
using test::Peer;

constexpr std::uint32_t kHeirPeer = 100;
constexpr std::uint32_t kSlabBytes = 500;

// What a successor is given of a peer: the link that it reads, and where its predecessor's receipts
// for that lie.
std::unique_ptr<InLink> link_of(const Peer& peer, const send::OutLink& back) {
  auto link =
      std::make_unique<InLink>(must(beeline::test::map_link(peer.own, peer.pid)), kContract);
  link->key = peer.own.key();
  link->owner_pid = peer.pid;
  link->sink = {&back.view(), &back.memory(), shm::vacant_bank(back.view())};
  return link;
}
OldReceipts receipts_in(const send::OutLink& old) {
  return {must(os::duplicate(old.memory().fd())), old.key(), kContract};
}

// A life that has taken over from another, with one peer.
struct Heir {
  Heir(Receiver& before, const send::OutLink& old_receipts, Peer& peer, std::uint64_t life)
      : receiver(must(HomeMemory::create("test", kReaderPid, life, small()))),
        back(test::make_link(kReaderPid, peer.pid, {life, 1})) {
    before.home().set_ready();
    const std::uint64_t old_life = before.home().home().header().owner_incarnation;
    auto old = must(OldHome::accept(must(os::duplicate(before.home().fd())), kReaderPid, old_life));
    Predecessor predecessor(std::move(old), 1);
    link =
        must(inherit_link(receiver, predecessor, link_of(peer, back), receipts_in(old_receipts)));
    done = inherit_home(receiver, predecessor.home, predecessor.links).has_value();
    receiver.settle_adopted();
  }
  static shm::HomeOptions small() {
    shm::HomeOptions options;
    options.capacity = 4 * test::kCapacity;
    return options;
  }
  // The ids of all that can be taken now; they stay leased.
  std::vector<std::uint64_t> lease_all() {
    receiver.drain_all();
    std::vector<std::uint64_t> ids;
    for (std::uint32_t at = receiver.take(); at != shm::kNoEntry; at = receiver.take()) {
      ids.push_back(receiver.entry(at).header.id);
    }
    return ids;
  }
  [[nodiscard]] std::uint64_t stamp(std::uint32_t slab) const {
    return back.view().stamp(link->sink.bank, slab).observe();
  }

  Receiver receiver;
  send::OutLink back;  // to the peer: its receipts
  InLink* link = nullptr;
  bool done = false;
};

class HeirTest : public test::ReceiverTest {
 protected:
  HeirTest() {
    start({}, 4 * test::kCapacity);
    peer_ = &join(kHeirPeer);
  }
  [[nodiscard]] Heir heir() { return {*receiver_, peer_->back, *peer_, kReaderLife + 1}; }
  [[nodiscard]] shm::InRow& old_row() const {
    return receiver_->home().home().row(peer_->link->row);
  }
  [[nodiscard]] shm::ReceiptBank& old_bank() const {
    return peer_->back.view().bank(peer_->link->sink.bank);
  }
  shm::SlabPool::Loan say_in_slab() {
    const auto loan = peer_->own.take_slab(kSlabBytes);
    EXPECT_TRUE(loan);
    shm::MessageHeader header = peer_->sound();
    header.flags = shm::kFlagSlab;
    header.slab = loan->slab;
    header.length = kSlabBytes;
    peer_->publish(header, Lane::kNormal, nullptr, loan->generation);
    return *loan;
  }
  [[nodiscard]] std::vector<std::uint64_t> ids(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      all.push_back(shm::make_message_id(kHeirPeer, first + i));
    }
    return all;
  }
  static void expect_balance(const Receiver& receiver) {
    const shm::Inbox& inbox = receiver.home().inbox();
    const shm::InboxCounters& counters = receiver.home().home().control().counters;
    EXPECT_EQ(shm::drained_total(receiver.home().home()),
              inbox.queued() + inbox.leased() + inbox.dead() + counters.done.observe() +
                  counters.purged.observe());
  }
  Peer* peer_ = nullptr;
};

// ---- Cursors and stamps that were lies ----------------------------------------------------------

TEST_F(HeirTest, CursorsThatCannotBeLoseNothingThatLiesInTheLane) {
  peer_->say_often(5);
  for (auto& cursor : old_row().cursors) cursor.publish(~0ULL);
  for (auto& cursor : old_bank().cursors) cursor.publish(~0ULL);
  Heir next = heir();
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.lease_all(), ids(1, 5));
  EXPECT_EQ(shm::drained_total(next.receiver.home().home()), 5U) << "the lie is not counted";
  expect_balance(next.receiver);
}

TEST_F(HeirTest, AMessageInASlabThatALiarHasStampedOutlivesEveryHeir) {
  ASSERT_TRUE(ensure_stamps(peer_->link->sink));
  for (std::uint32_t slab = 0; slab < shm::kMaxSlabs; ++slab) {
    peer_->back.view().stamp(peer_->link->sink.bank, slab).publish(~0ULL - slab);
  }
  const shm::SlabPool::Loan loan = say_in_slab();
  Heir first = heir();
  ASSERT_TRUE(first.done);
  EXPECT_EQ(first.lease_all(), ids(1, 1));
  EXPECT_EQ(first.stamp(loan.slab), loan.generation - 1);
  EXPECT_EQ(first.stamp(loan.slab + 1), ~0ULL - loan.slab - 1) << "of no message: its sender's";
  // It dies with the lease. Who comes after it would take the message for finished.
  Heir second(first.receiver, first.back, *peer_, kReaderLife + 2);
  ASSERT_TRUE(second.done);
  EXPECT_EQ(second.lease_all(), ids(1, 1));
}

TEST_F(HeirTest, StampsThatALivingPredecessorChangesMeanwhileAreReadOnce) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  ASSERT_NE(receiver_->take(), shm::kNoEntry);
  receiver_->home().set_ready();
  Predecessor before(
      must(OldHome::accept(must(os::duplicate(receiver_->home().fd())), kReaderPid, kReaderLife)),
      1);
  Receiver next(must(HomeMemory::create("test", kReaderPid, kReaderLife + 1, Heir::small())));
  const send::OutLink back = test::make_link(kReaderPid, kHeirPeer, {kReaderLife + 1, 1});
  const InLink* link =
      must(inherit_link(next, before, link_of(*peer_, back), receipts_in(peer_->back)));
  peer_->back.view().stamp(peer_->link->sink.bank, loan.slab).publish(loan.generation);
  ASSERT_TRUE(inherit_home(next, before.home, before.links));
  // Else it would be finished here, and never for its sender.
  ASSERT_EQ(next.home().inbox().queued(), 1U);
  next.done(next.take());
  EXPECT_EQ(link->sink.own->stamp(0, loan.slab).observe(), loan.generation);
}

// ---- A life that was fenced and still runs ------------------------------------------------------

TEST_F(HeirTest, WhatAFencedLifeTookAndItsSenderWroteOverCountsAsDone) {
  constexpr std::uint64_t kTaken = 3;  // by the fenced one, after the hand-over
  peer_->say_often(kContract.normal_slots);
  Heir next = heir();
  ASSERT_TRUE(next.done);
  peer_->say_often(kTaken);  // the sender has heard of it
  EXPECT_FALSE(next.receiver.drain_all()) << "the message that it waits for is gone";
  next.receiver.audit_lanes();
  EXPECT_FALSE(next.link->quarantined()) << "the sender is honest";
  EXPECT_EQ(next.lease_all(), ids(kTaken + 1, kContract.normal_slots));
  EXPECT_EQ(next.back.view().bank(0).cursors[0].observe(), kContract.normal_slots + kTaken);
  expect_balance(next.receiver);
}

TEST_F(HeirTest, ASenderThatWritesOverMoreThanAnyLifeCanHaveTakenIsQuarantined) {
  const auto jump = [&](std::uint64_t rounds, bool inherited) {
    start({}, 4 * test::kCapacity);
    peer_ = &join(kHeirPeer);
    peer_->say();
    Heir next = heir();
    next.link->is_inherited = inherited;
    peer_->own.view().slot(Lane::kNormal, 0).commit.publish(1 + rounds * kContract.normal_slots);
    next.receiver.audit_lanes();
    return next.link->quarantined();
  };
  EXPECT_FALSE(jump(1, true));
  EXPECT_FALSE(jump(3, true)) << "two turns of a lane, and what lies in it";
  EXPECT_TRUE(jump(4, true));
  EXPECT_TRUE(jump(std::uint64_t{1} << 50, true));
  EXPECT_TRUE(jump(1, false)) << "nobody else took from it";
}

TEST_F(HeirTest, ALinkWhoseOwnerRingsALaterLifeOfOursIsThatLifes) {
  peer_->say();
  auto& watching = peer_->own.view().control().watching;
  watching.publish(kReaderLife + 1);
  EXPECT_FALSE(receiver_->drain_all());
  EXPECT_FALSE(receiver_->drain_from(kHeirPeer));
  EXPECT_TRUE(receiver_->all_empty()) << "there is nothing for us";
  peer_->link->owner_gone = true;  // what we know of its end is of our own directory
  EXPECT_FALSE(peer_->link->faded());
  peer_->link->owner_gone = false;
  watching.publish(kReaderLife);
  EXPECT_TRUE(receiver_->drain_all());
  peer_->say();
  watching.publish(kReaderLife - 1);  // it has not found us yet
  EXPECT_TRUE(receiver_->drain_all());
}

// ---- The sender that turns to the next life -----------------------------------------------------

TEST_F(HeirTest, ASenderHearsOfNoReceiptThatTheOldLifeGivesAfterItsEnd) {
  send::OutLink& own = peer_->own;
  const send::OutLink next = test::make_link(kReaderPid, kHeirPeer, {kReaderLife + 1, 1});
  shm::open_bank(next.view().bank(0), own.key(), 2, 0);
  const shm::LinkView old_view(peer_->back.memory().data(), kContract);
  const shm::LinkView next_view(next.memory().data(), kContract);
  own.first_life = kReaderLife;
  own.turn_to(old_view, kReaderLife);
  for (int i = 0; i < 8; ++i) own.lanes[0].advance();
  old_bank().cursors[0].publish(2);
  EXPECT_EQ(own.not_taken(), 6U);
  old_bank().cursors[0].publish(7);  // it was stopped, and goes on
  own.turn_to(next_view, kReaderLife + 1);
  EXPECT_EQ(own.not_taken(), 6U);
  EXPECT_EQ(own.lanes[0].cursor(), 2U) << "the next life waits for what lies there";
}

TEST_F(HeirTest, ASlabWhoseMessageTheNewLifeHasNotTakenIsHeldWhateverTheOldOneSaid) {
  send::OutLink& own = peer_->own;
  const auto loan = own.take_slab(kSlabBytes);
  ASSERT_TRUE(loan);
  shm::MessageHeader header = peer_->sound();
  header.flags = shm::kFlagSlab;
  header.slab = loan->slab;
  peer_->publish(header, Lane::kNormal, nullptr, loan->generation);
  own.lanes[0].advance();
  own.slabs.mark_out(*loan);
  const send::OutLink next = test::make_link(kReaderPid, kHeirPeer, {kReaderLife + 1, 1});
  const ReceiptSink sink{&next.view(), &next.memory(), 0};
  ASSERT_TRUE(ensure_stamps(sink));
  next.view().stamp(0, loan->slab).publish(~0ULL);  // inherited
  shm::open_bank(next.view().bank(0), own.key(), 0, 0);
  const shm::LinkView old_view(peer_->back.memory().data(), kContract);
  const shm::LinkView next_view(next.memory().data(), kContract);
  own.first_life = kReaderLife;
  own.turn_to(old_view, kReaderLife);
  old_bank().cursors[0].publish(1);  // it says that it has taken it; its home does not
  own.turn_to(next_view, kReaderLife + 1);
  EXPECT_EQ(own.slabs.out(), 1U);
}

}  // namespace
}  // namespace beeline::receive
