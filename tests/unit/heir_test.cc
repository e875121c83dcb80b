// What an agent takes from a link that lives before its own took from: the receipts that its sender
// hears, stamps that were a lie, and what a life that was fenced has done after its end.

#include <functional>
#include <map>
#include <optional>

#include "src/receive/successor.h"
#include "src/send/send_path.h"
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
// Between the links and the entries the predecessor does `meanwhile`: it was fenced and still runs.
struct Heir {
  Heir(Receiver& before, const send::OutLink& old_receipts, Peer& peer, std::uint64_t life,
       const std::function<void()>& meanwhile = {})
      : receiver(must(HomeMemory::create("test", kReaderPid, life, small()))),
        back(test::make_link(kReaderPid, peer.pid, {life, 1})) {
    before.home().set_ready();
    const std::uint64_t old_life = before.home().home().header().owner_incarnation;
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
  [[nodiscard]] Heir heir(const std::function<void()>& meanwhile = {}) {
    return {*receiver_, peer_->back, *peer_, kReaderLife + 1, meanwhile};
  }
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
  // The sender's own half of what it says.
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
  // What it leaves to its heir says nothing of it.
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

// ---- A life that was fenced and still runs ------------------------------------------------------

TEST_F(HeirTest, WhatAFencedLifeFinishesBeforeItsEntryIsReadIsFinishedForItsSender) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  const std::uint32_t held = receiver_->take();
  Heir next = heir([&] { receiver_->done(held); });
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.lease_all(), ids(1, 0));
  EXPECT_EQ(next.stamp(loan.slab), loan.generation) << "nobody else tells its sender";
  expect_balance(next.receiver);
}

TEST_F(HeirTest, TheFirstStampsOfAFencedLifeAreReadAsWell) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  const std::uint32_t held = receiver_->take();
  old_bank().stamps_ready.publish(0);  // it has taken the message after its stamps were looked for
  Heir next = heir([&] {
    old_bank().stamps_ready.publish(1);
    receiver_->done(held);
  });
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.stamp(loan.slab), loan.generation);
  EXPECT_NE(next.back.view().bank(0).stamps_ready.observe(), 0U);
}

TEST_F(HeirTest, WhatAFencedLifeFinishesAndItsSuccessorHasAsWellIsNotFinished) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  ASSERT_NE(receiver_->take(), shm::kNoEntry);
  Heir next = heir([&] {
    peer_->back.view().stamp(peer_->link->sink.bank, loan.slab).publish(loan.generation);
  });
  ASSERT_TRUE(next.done);
  EXPECT_LT(next.stamp(loan.slab), loan.generation) << "its payload is still to be read";
  ASSERT_EQ(next.lease_all(), ids(1, 1));
  next.receiver.done(0);
  EXPECT_EQ(next.stamp(loan.slab), loan.generation);
}

TEST_F(HeirTest, WhatAFencedLifeTakesAndFinishesMeanwhileIsTakenOnceMore) {
  const shm::SlabPool::Loan loan = say_in_slab();
  Heir next = heir([&] {
    receiver_->drain_all();
    receiver_->done(receiver_->take());
  });
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.lease_all(), ids(1, 1));
  EXPECT_LT(next.stamp(loan.slab), loan.generation) << "whoever inherits from it would believe it";
  next.receiver.done(0);
  EXPECT_EQ(next.stamp(loan.slab), loan.generation);
}

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

// What the owner of the lane stores where the next message waits, and whether it is blamed for it.
class HeirLaneTest : public HeirTest {
 protected:
  // `turned`: it rings the heir, and hears no life before it.
  bool is_blamed(std::uint64_t commit, bool turned = false, std::uint32_t messages = 1) {
    start({}, 4 * test::kCapacity);
    peer_ = &join(kHeirPeer);
    peer_->say_often(messages);
    Heir next = heir();
    if (turned) peer_->own.view().control().watching.publish(kReaderLife + 1);
    next.receiver.audit_lanes();
    peer_->own.view().slot(Lane::kNormal, 0).commit.publish(commit);
    next.receiver.audit_lanes();
    return next.link->quarantined();
  }
};

TEST_F(HeirLaneTest, AnOwnerThatMayHearAFencedLifeWritesOverWhatThatHasTaken) {
  EXPECT_FALSE(is_blamed(1 + kContract.normal_slots));
  EXPECT_FALSE(is_blamed(1 + 1'000'000ULL * kContract.normal_slots)) << "it may hear it for long";
  EXPECT_TRUE(is_blamed(1 + (1ULL << 40))) << "it has not so many ids";
}

TEST_F(HeirLaneTest, AnOwnerThatHasTurnedToUsWritesOverNothing) {
  EXPECT_TRUE(is_blamed(1 + kContract.normal_slots, true));
}

TEST_F(HeirLaneTest, ANumberOfAnotherSlotIsNoLaterMessage) {
  for (const std::uint64_t commit :
       {std::uint64_t{3}, std::uint64_t{kContract.normal_slots}, ~std::uint64_t{0}}) {
    EXPECT_TRUE(is_blamed(commit, false, 2)) << commit << ": there is one to go on with";
  }
}

TEST_F(HeirTest, ALaneThatNobodyElseTookFromIsNotWrittenOver) {
  peer_->say();
  peer_->own.view().slot(Lane::kNormal, 0).commit.publish(1 + kContract.normal_slots);
  receiver_->audit_lanes();
  EXPECT_TRUE(peer_->link->quarantined());
}

// The fenced life took all; what it said of that counts for its sender until our receipts do.
TEST_F(HeirTest, WhatItsSenderWritesOverAfterItsTurnCountsAsDoneToo) {
  peer_->say_often(kContract.normal_slots);
  Heir next = heir();
  peer_->own.view().control().watching.publish(kReaderLife + 1);
  next.receiver.audit_lanes();
  peer_->say_often(kContract.normal_slots);
  next.receiver.audit_lanes();
  EXPECT_FALSE(next.link->quarantined()) << "the sender is honest";
  EXPECT_EQ(next.lease_all(), ids(kContract.normal_slots + 1, kContract.normal_slots));
  expect_balance(next.receiver);
}

// It heard a fenced life for long, and turns to us before we look.
TEST_F(HeirTest, WhatWasWrittenOverBeforeItsSenderTurnedCountsAsDone) {
  constexpr std::uint32_t kTaken = 5 * kContract.normal_slots + 3;
  peer_->say();
  Heir next = heir();
  peer_->say_often(kTaken);
  peer_->own.view().control().watching.publish(kReaderLife + 1);
  next.receiver.audit_lanes();
  EXPECT_FALSE(next.link->quarantined());
  EXPECT_EQ(next.lease_all(), ids(kTaken + 2 - kContract.normal_slots, kContract.normal_slots));
  expect_balance(next.receiver);
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
  const shm::LinkView next_view(next.memory().data(), kContract);
  for (int i = 0; i < 8; ++i) own.lanes[0].advance();
  tell(2);
  old_bank().cursors[0].publish(7);  // it was stopped, and goes on
  own.turn_to(next_view, kReaderLife + 1);
  EXPECT_EQ(own.not_taken(), 6U);
  EXPECT_EQ(own.lanes[0].cursor(), 2U) << "the next life waits for what lies there";
}

TEST_F(HeirTest, WhatALiarSaidThatItTookIsKeptForItsHeir) {
  send::OutLink& own = peer_->own;
  say_knowingly(kContract.normal_slots);
  tell(kContract.normal_slots);
  lie();
  Heir next = heir();
  ASSERT_TRUE(next.done);
  const shm::LinkView next_view(next.back.memory().data(), kContract);
  own.turn_to(next_view, kReaderLife + 1);
  EXPECT_FALSE(own.has_space(Lane::kNormal, false)) << "the heir begins with what lies there";
  EXPECT_EQ(next.lease_all(), ids(1, kContract.normal_slots));
  EXPECT_EQ(own.not_taken(), 0U);
  EXPECT_FALSE(own.was_lied_to());
}

TEST_F(HeirTest, ASlabThatALiarFinishedIsOutAgainWhereItsHeirTakesTheMessage) {
  send::OutLink& own = peer_->own;
  const shm::SlabPool::Loan collected = say_in_slab();
  const shm::SlabPool::Loan stamped = say_in_slab();
  const shm::SlabPool::Loan beyond = say_in_slab();
  ASSERT_TRUE(ensure_stamps(peer_->link->sink));
  const auto say_finished = [&](const shm::SlabPool::Loan& loan, std::uint64_t generation) {
    peer_->back.view().stamp(peer_->link->sink.bank, loan.slab).publish(generation);
  };
  say_finished(collected, collected.generation);
  tell(3);
  EXPECT_TRUE(own.collect_slabs(0));
  say_finished(stamped, stamped.generation);
  say_finished(beyond, ~0ULL);
  lie();
  Heir next = heir();
  ASSERT_TRUE(next.done);
  const shm::LinkView next_view(next.back.memory().data(), kContract);
  own.turn_to(next_view, kReaderLife + 1);
  EXPECT_EQ(own.slabs.out(), 3U);
  EXPECT_FALSE(own.collect_slabs(0)) << "the heir reads them";
  EXPECT_EQ(next.lease_all(), ids(1, 3));
  EXPECT_FALSE(own.collect_slabs(0)) << "it has not finished them";
  for (std::uint32_t at = 0; at < 3; ++at) next.receiver.done(at);
  EXPECT_TRUE(own.collect_slabs(0));
  EXPECT_EQ(own.slabs.out(), 0U);
  EXPECT_FALSE(own.was_lied_to());
}

// ---- The sender that follows the directory ------------------------------------------------------

// As AgentCore has it, of one peer whose lives are known as soon as they open a link.
class HeirPathTest : public HeirTest {
 protected:
  HeirPathTest()
      : memory_(must(segment::Owned::create("directory", shm::DirectoryLayout::kBytes,
                                            shm::DirectoryLayout::kBytes))),
        directory_(memory_.data(), 1, shm::kMinMaxPayload, 1),
        path_(kHeirPeer, ids_, [this](std::uint32_t /*pid*/, std::uint64_t life) {
          const auto found = views_.find(life);
          return send::PeerLife{{}, found == views_.end() ? nullptr : &found->second, false};
        }) {
    shm::AgentRecord record{};
    record.pid = kReaderPid;
    directory_.publish(&record, 1);
    views_.emplace(kReaderLife, shm::LinkView(peer_->back.memory().data(), kContract));
    say(kReaderLife, shm::AgentState::kRunning);
    path_.set_directory(directory_.view());
  }
  void say(std::uint64_t life, shm::AgentState state) { directory_.set_word(0, {life, state}); }
  // It opens its link to the sender.
  void show(const Heir& heir, std::uint64_t life) {
    views_.emplace(life, shm::LinkView(heir.back.memory().data(), kContract));
  }
  void follow(std::uint64_t life, shm::AgentState state) {
    say(life, state);
    path_.follow(peer_->own);
  }

  std::map<std::uint64_t, shm::LinkView> views_;
  segment::Owned memory_;
  shm::DirectoryWriter directory_;
  shm::Atomic<std::uint64_t> ids_{0};
  send::SendPath path_;
};

TEST_F(HeirPathTest, WhatAFencedLifeFinishesWhileItsSuccessorLooksIsNotHeard) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  const std::uint32_t held = receiver_->take();
  follow(kReaderLife, shm::AgentState::kAway);
  EXPECT_EQ(own.not_taken(), 0U) << "what it took before its successor came is taken";
  follow(kReaderLife, shm::AgentState::kStarting);
  Heir next = heir();
  ASSERT_TRUE(next.done);
  receiver_->done(held);
  peer_->say();
  own.lanes[0].advance();
  receiver_->drain_all();
  EXPECT_FALSE(own.collect_slabs(0)) << "its successor has the message as well";
  EXPECT_EQ(own.not_taken(), 1U);
  follow(kReaderLife + 1, shm::AgentState::kRunning);
  EXPECT_FALSE(own.collect_slabs(0)) << "nobody knows yet where the successor says it";
  show(next, kReaderLife + 1);
  path_.refresh(own);
  EXPECT_FALSE(own.collect_slabs(0));
  EXPECT_EQ(next.lease_all(), ids(1, 2));
  EXPECT_EQ(own.not_taken(), 0U);
  next.receiver.done(0);
  EXPECT_TRUE(own.collect_slabs(0));
  EXPECT_EQ(own.slabs.out(), 0U);
  EXPECT_EQ(loan.generation, next.stamp(loan.slab));
}

TEST_F(HeirPathTest, ALifeWhoseSuccessorBrokeOffIsHeardAgain) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  say_knowingly(4);
  follow(kReaderLife, shm::AgentState::kStarting);
  receiver_->drain_all();
  EXPECT_EQ(own.not_taken(), 4U);
  follow(kReaderLife, shm::AgentState::kAway);
  EXPECT_EQ(own.not_taken(), 0U) << "whoever comes next reads it";
}

TEST_F(HeirPathTest, WhatTheLastLifeHasTakenIsHeardAfterItsEnd) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  say_knowingly(3);
  receiver_->drain_all();
  follow(kReaderLife + 1, shm::AgentState::kDead);  // the last life never showed a link
  EXPECT_TRUE(own.dead);
  EXPECT_EQ(own.not_taken(), 0U);
}

// Nobody had a process when the link was opened: whoever comes may have inherited.
TEST_F(HeirPathTest, WhereNoLifeWasNamedAllAreHeirs) {
  path_.set_place(peer_->own, 0, 0);
  path_.set_place(peer_->own, 0, kReaderLife);
  EXPECT_EQ(peer_->own.first_life, 0U);
}

// The first life was asked for the link and is gone before its sender looks.
TEST_F(HeirPathTest, TheFirstLifeIsTheOneThatTheCoordinatorNamed) {
  say(kReaderLife + 1, shm::AgentState::kRunning);
  path_.set_place(peer_->own, 0, kReaderLife);
  EXPECT_EQ(peer_->own.first_life, kReaderLife);
}

}  // namespace
}  // namespace beeline::receive
