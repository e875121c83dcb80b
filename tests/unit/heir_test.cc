// An agent inherits a link from earlier lives: the receipts that its sender counts, stamps that
// were lies, and actions of a fenced life after its end.

#include "tests/unit/heir.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::Heir;
using test::HeirTest;
using test::kContract;
using test::kHeirPeer;
using test::kReaderLife;
using test::kReaderPid;
using test::must;

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
  ASSERT_TRUE(ensure_stamps(peer_->link->sink()));
  for (shm::SlabIndex slab(0); slab.value() < shm::kMaxSlabs; ++slab) {
    peer_->back.view().stamp(peer_->link->sink().bank, slab).publish(~0ULL - slab.value());
  }
  const shm::SlabPool::Loan loan = say_in_slab();
  Heir first = heir();
  ASSERT_TRUE(first.done);
  EXPECT_EQ(first.lease_all(), ids(1, 1));
  EXPECT_EQ(first.stamp(loan.slab), loan.generation - 1);
  EXPECT_EQ(first.stamp(shm::SlabIndex(loan.slab.value() + 1)), ~0ULL - loan.slab.value() - 1)
      << "of no message: its sender's";
  // The life dies with the lease. Its successor would take the message for finished.
  Heir second(first.receiver, first.back, *peer_, kReaderLife + 2);
  ASSERT_TRUE(second.done);
  EXPECT_EQ(second.lease_all(), ids(1, 1));
}

// The lane has gone round: old messages lie at its beginning.
TEST_F(HeirTest, AnUrgentMessageOfAnEndedOwnerIsSeenBeforeTheFirstLook) {
  for (std::uint32_t i = 0; i <= kContract.urgent_slots; ++i) {
    peer_->say(Lane::kUrgent);
    receiver_->drain_all();
    ASSERT_NE(finish_one(), 0U);
  }
  const std::uint64_t id = peer_->say(Lane::kUrgent);
  receiver_->home().set_ready();
  Predecessor predecessor(
      must(OldHome::accept(must(os::duplicate(receiver_->home().fd())), kReaderPid, kReaderLife)),
      1);
  Receiver next(must(HomeMemory::create("test", kReaderPid, kReaderLife + 1, Heir::small())));
  auto link = std::make_unique<InLink>(must(beeline::test::map_link(peer_->own, peer_->pid)),
                                       kContract, LinkOwner{peer_->own.key(), peer_->pid, {}});
  link->set_owner_gone(true);
  InLink* const own =
      must(inherit_link(next, predecessor, std::move(link), test::receipts_in(peer_->back)));
  EXPECT_TRUE(own->owner_gone());
  ASSERT_TRUE(inherit_home(next, predecessor));
  EXPECT_TRUE(next.has_urgent());
  next.drain_all();
  EXPECT_EQ(next.entry(next.take()).header.id, id);
}

// ---- A life that was fenced and still runs ------------------------------------------------------

TEST_F(HeirTest, AMessageThatAFencedLifeFinishesBeforeItsEntryIsReadIsFinishedForTheSender) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  const shm::EntryIndex held = receiver_->take();
  Heir next = heir([&] { receiver_->done(held); });
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.lease_all(), ids(1, 0));
  EXPECT_EQ(next.stamp(loan.slab), loan.generation) << "nobody else tells its sender";
  expect_balance(next.receiver);
}

TEST_F(HeirTest, TheFirstStampsOfAFencedLifeAreReadAsWell) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  const shm::EntryIndex held = receiver_->take();
  old_bank().stamps_ready.publish(0);  // it has taken the message after the successor looked for
                                       // its stamps
  Heir next = heir([&] {
    old_bank().stamps_ready.publish(1);
    receiver_->done(held);
  });
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.stamp(loan.slab), loan.generation);
  EXPECT_NE(next.back.view().bank(0).stamps_ready.observe(), 0U);
}

TEST_F(HeirTest, AMessageThatAFencedLifeFinishesButItsSuccessorHoldsIsNotFinished) {
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  ASSERT_NE(receiver_->take(), shm::kNoEntry);
  Heir next = heir([&] {
    peer_->back.view().stamp(peer_->link->sink().bank, loan.slab).publish(loan.generation);
  });
  ASSERT_TRUE(next.done);
  EXPECT_LT(next.stamp(loan.slab), loan.generation) << "its payload is still to be read";
  ASSERT_EQ(next.lease_all(), ids(1, 1));
  next.receiver.done(shm::EntryIndex(0));
  EXPECT_EQ(next.stamp(loan.slab), loan.generation);
}

TEST_F(HeirTest, AMessageThatAFencedLifeTakesAndFinishesMeanwhileIsTakenOnceMore) {
  const shm::SlabPool::Loan loan = say_in_slab();
  Heir next = heir([&] {
    receiver_->drain_all();
    receiver_->done(receiver_->take());
  });
  ASSERT_TRUE(next.done);
  EXPECT_EQ(next.lease_all(), ids(1, 1));
  EXPECT_LT(next.stamp(loan.slab), loan.generation) << "whoever inherits from it would believe it";
  next.receiver.done(shm::EntryIndex(0));
  EXPECT_EQ(next.stamp(loan.slab), loan.generation);
}

TEST_F(HeirTest, AMessageThatAFencedLifeTookAndTheSenderOverwroteCountsAsDone) {
  constexpr std::uint64_t kTaken = 3;  // by the fenced life, after the takeover
  peer_->say_often(kContract.normal_slots);
  Heir next = heir();
  ASSERT_TRUE(next.done);
  peer_->say_often(kTaken);  // the sender has seen the receipts
  EXPECT_FALSE(next.receiver.drain_all()) << "the message that it waits for is gone";
  next.receiver.audit().look_at_living();
  EXPECT_FALSE(next.link->quarantined()) << "the sender is honest";
  EXPECT_EQ(next.lease_all(), ids(kTaken + 1, kContract.normal_slots));
  EXPECT_EQ(next.back.view().bank(0).cursors[0].observe(), kContract.normal_slots + kTaken);
  expect_balance(next.receiver);
}

// The commit that the owner of a lane stores into the slot of the next message, and whether the
// owner is blamed for it.
class HeirLaneTest : public HeirTest {
 protected:
  // `turned`: the owner rings the heir, and ignores earlier lives.
  bool is_blamed(std::uint64_t commit, bool turned = false, std::uint32_t messages = 1) {
    start({}, 4 * test::kCapacity);
    peer_ = &join(kHeirPeer);
    peer_->say_often(messages);
    Heir next = heir();
    if (turned) peer_->own.view().control().watching.publish(kReaderLife.value() + 1);
    next.receiver.audit().look_at_living();
    peer_->own.view().slot(Lane::kNormal, 0).commit.publish(commit);
    next.receiver.audit().look_at_living();
    return next.link->quarantined();
  }
};

TEST_F(HeirLaneTest, AnOwnerThatMayHearAFencedLifeOverwritesMessagesThatThisLifeTook) {
  EXPECT_FALSE(is_blamed(1 + kContract.normal_slots));
  EXPECT_FALSE(is_blamed(1 + 1'000'000ULL * kContract.normal_slots)) << "it may hear it for long";
  EXPECT_TRUE(is_blamed(1 + kContract.normal_slots + (1ULL << 40))) << "it has not so many ids";
}

// Before it turned, the owner can have learned that its one message was taken, and no more.
TEST_F(HeirLaneTest, AnOwnerThatHasTurnedToUsOverwritesOnlyMessagesThatItSentBefore) {
  EXPECT_FALSE(is_blamed(1 + kContract.normal_slots, true));
  EXPECT_TRUE(is_blamed(1 + 2 * kContract.normal_slots, true));
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
  receiver_->audit().look_at_living();
  EXPECT_TRUE(peer_->link->quarantined());
}

// The fenced life took all. Its receipts count for the sender until ours do.
TEST_F(HeirTest, AMessageThatTheSenderOverwritesAfterItTurnedToTheSuccessorCountsAsDone) {
  peer_->say_often(kContract.normal_slots);
  Heir next = heir();
  peer_->own.view().control().watching.publish(kReaderLife.value() + 1);
  next.receiver.audit().look_at_living();
  peer_->say_often(kContract.normal_slots);
  next.receiver.audit().look_at_living();
  EXPECT_FALSE(next.link->quarantined()) << "the sender is honest";
  EXPECT_EQ(next.lease_all(), ids(kContract.normal_slots + 1, kContract.normal_slots));
  expect_balance(next.receiver);
}

// The sender followed a fenced life for long, and turns to us before we look.
TEST_F(HeirTest, AMessageOverwrittenBeforeTheSenderTurnedToTheSuccessorCountsAsDone) {
  constexpr std::uint32_t kTaken = 5 * kContract.normal_slots + 3;
  peer_->say();
  Heir next = heir();
  peer_->say_often(kTaken);
  peer_->own.view().control().watching.publish(kReaderLife.value() + 1);
  next.receiver.audit().look_at_living();
  EXPECT_FALSE(next.link->quarantined());
  EXPECT_EQ(next.lease_all(), ids(kTaken + 2 - kContract.normal_slots, kContract.normal_slots));
  expect_balance(next.receiver);
}

// The owner may overwrite for ever, so looks end, and other links get their turn.
TEST_F(HeirTest, ALongRunThatWasWrittenOverIsPassedInLooksThatEnd) {
  constexpr shm::LinkContract kLong{4096, 16, shm::kMinMaxPayload};
  const auto own =
      must(send::OutLink::create("test", 101, kReaderPid, {shm::Incarnation(1000), 1}, kLong));
  InLink& link = *must(beeline::test::add_in_link(*receiver_, own, 101));
  link.allow_for_others();
  for (std::uint64_t at = 0; at < kLong.normal_slots; ++at) {
    own.view().slot(Lane::kNormal, at).commit.publish(at + kLong.normal_slots + 1);
  }
  receiver_->audit().look_at_living();
  EXPECT_GT(link.position(shm::Lane::kNormal), 0U);
  EXPECT_LT(link.position(shm::Lane::kNormal), kLong.normal_slots);
  EXPECT_TRUE(receiver_->audit().is_skipping());
  while (receiver_->audit().is_skipping()) receiver_->audit().look_at_living();
  EXPECT_EQ(link.position(shm::Lane::kNormal), kLong.normal_slots);
  EXPECT_TRUE(link.has_message());
  EXPECT_FALSE(link.quarantined());
  expect_balance(*receiver_);
}

TEST_F(HeirTest, ALinkWhoseOwnerRingsALaterLifeOfOursIsThatLifes) {
  peer_->say();
  auto& watching = peer_->own.view().control().watching;
  watching.publish(kReaderLife.value() + 1);
  EXPECT_FALSE(receiver_->drain_all());
  EXPECT_FALSE(receiver_->drain_from(kHeirPeer));
  EXPECT_TRUE(receiver_->all_empty()) << "there is nothing for us";
  peer_->link->set_owner_gone(true);  // our own directory shows its end
  EXPECT_FALSE(peer_->link->faded());
  peer_->link->set_owner_gone(false);
  watching.publish(kReaderLife.value());
  EXPECT_TRUE(receiver_->drain_all());
  peer_->say();
  watching.publish(kReaderLife.value() - 1);  // it has not found us yet
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
  old_bank().cursors[0].publish(7);  // the fenced life was stopped, and goes on
  own.turn_to(next_view, kReaderLife + 1);
  EXPECT_EQ(own.not_taken(), 6U);
  EXPECT_EQ(own.lanes[0].cursor(), 2U) << "the next life waits for what lies there";
}

TEST_F(HeirTest, MessagesThatALiarClaimedToHaveTakenAreKeptForItsSuccessor) {
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
  ASSERT_TRUE(ensure_stamps(peer_->link->sink()));
  const auto say_finished = [&](const shm::SlabPool::Loan& loan, std::uint64_t generation) {
    peer_->back.view().stamp(peer_->link->sink().bank, loan.slab).publish(generation);
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
  for (shm::EntryIndex at(0); at.value() < 3; ++at) next.receiver.done(at);
  EXPECT_TRUE(own.collect_slabs(0));
  EXPECT_EQ(own.slabs.out(), 0U);
  EXPECT_FALSE(own.was_lied_to());
}

}  // namespace
}  // namespace beeline::receive
