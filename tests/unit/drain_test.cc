// The way from the lanes into the table: the turns of links, and the room for messages.

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::kOrdinaryRoom;
using test::Peer;

class DrainTest : public test::ReceiverTest {
 protected:
  // Takes all ordinary places of the table; the messages wait.
  void fill_table() {
    Peer& filler = join(99);
    filler.say_often(kOrdinaryRoom);
    receiver_->drain_all();
    ASSERT_EQ(filler.receipt(), kOrdinaryRoom);
    filler_ = &filler;
  }
  static std::shared_ptr<limit::TokenBucket> bucket(std::uint32_t tokens) {
    return std::make_shared<limit::TokenBucket>(limit::kMinRate, tokens);
  }
  // A sender that sleeps on an eventfd, and gets no CPU when it is rung.
  struct Sleeper {
    explicit Sleeper(Peer& peer) {
      shm::init_status(page(), peer.pid, shm::Incarnation(1000));
      peer.link->set_bell({&page(), event.get()});
    }
    void fall_asleep() {
      page().sleep.publish(shm::next_sleep(page().sleep.relaxed_load(), shm::Sleep::kEvent));
    }
    [[nodiscard]] bool was_rung() const { return os::drain_event(event.get()); }
    [[nodiscard]] shm::StatusPage& page() {
      return *reinterpret_cast<shm::StatusPage*>(memory.data());
    }
    segment::Owned memory =
        test::must(segment::Owned::create("status", shm::kStatusBytes, shm::kStatusBytes));
    os::UniqueFd event = test::must(os::create_event_fd());
  };
  Peer* filler_ = nullptr;
};

// ---- Turns --------------------------------------------------------------------------------------

TEST_F(DrainTest, OneTurnLooksAtEightActiveLinksAndAtThirtyTwoOthers) {
  start({}, 64);
  for (std::uint32_t pid = 100; pid < 145; ++pid) join(pid).say();
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(finish_all(), 40U);
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_EQ(finish_all(), 5U) << "and all of them before anybody sleeps";
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_FALSE(receiver_->drain_all());
}

TEST_F(DrainTest, ATurnIsDueForMessagesInALaneAndForLinksThatOnlySomeTurnsSee) {
  for (std::uint32_t pid = 101; pid < 108; ++pid) join(pid);
  Peer& peer = join(100);
  for (const Lane lane : {Lane::kNormal, Lane::kUrgent}) {
    EXPECT_FALSE(receiver_->calls_for_turn());
    peer.say(lane);
    EXPECT_TRUE(receiver_->calls_for_turn());
    EXPECT_TRUE(receiver_->drain_turn());
  }
  EXPECT_FALSE(receiver_->calls_for_turn());
  join(108);
  EXPECT_TRUE(receiver_->calls_for_turn());
}

TEST_F(DrainTest, ALinkThatWasQuietComesToTheFrontWithItsFirstMessage) {
  Peer& first = join(100);
  Peer& second = join(101);
  for (std::uint32_t pid = 102; pid < 112; ++pid) join(pid);
  first.say();
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(receiver_->links().all().front().get(), first.link);
  second.say();
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_EQ(receiver_->links().all().front().get(), second.link);
}

TEST_F(DrainTest, ATableIsCrowdedWhileItHasRoomForLessThanHalfOfATurn) {
  constexpr std::uint32_t kPlaces = 256 - 256 / 16;  // without the reserve
  constexpr std::uint32_t kHalf = 16;
  start({}, 256);
  Peer& peer = join(100);
  for (std::uint32_t i = 0; i < kPlaces - kHalf; ++i) {
    peer.say();
    EXPECT_TRUE(receiver_->drain_turn());
  }
  EXPECT_FALSE(receiver_->is_crowded());
  peer.say();
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_TRUE(receiver_->is_crowded());
  EXPECT_NE(finish_one(), 0U);
  EXPECT_FALSE(receiver_->is_crowded());
}

TEST_F(DrainTest, ASmallTableIsCrowdedWhenItIsFull) {
  EXPECT_FALSE(receiver_->is_crowded());
  fill_table();
  EXPECT_TRUE(receiver_->is_crowded());
}

TEST_F(DrainTest, TheLinksOfOneAgentCanBeDrainedAlone) {
  Peer& wanted = join(100);
  Peer& other = join(101);
  wanted.say();
  other.say();
  EXPECT_TRUE(receiver_->drain_from(100));
  EXPECT_EQ(wanted.receipt(), 1U);
  EXPECT_EQ(other.receipt(), 0U);
  EXPECT_FALSE(receiver_->drain_from(100));
  EXPECT_FALSE(receiver_->drain_from(77)) << "nobody";
}

TEST_F(DrainTest, ASenderThatWaitsForSpaceIsRungOnceSomethingWasTaken) {
  Peer& peer = join(100);
  Sleeper sleeper(peer);
  sleeper.fall_asleep();
  peer.say();
  receiver_->drain_all();
  EXPECT_FALSE(sleeper.was_rung()) << "it does not wait";
  peer.own.view().control().space.publish(1);
  receiver_->drain_all();
  EXPECT_FALSE(sleeper.was_rung()) << "nothing was taken";
  peer.say();
  receiver_->drain_all();
  EXPECT_TRUE(sleeper.was_rung());
  sleeper.fall_asleep();
  receiver_->ring_all_for_space();
  EXPECT_TRUE(sleeper.was_rung());
}

TEST_F(DrainTest, ASenderThatWaitsForSpaceIsRungOnceForEachSleep) {
  fill_table();
  Peer& peer = join(100);
  Sleeper sleeper(peer);
  peer.own.view().control().space.publish(1);
  peer.say_often(10);
  for (const std::uint32_t before : {0U, 5U}) {
    sleeper.fall_asleep();
    const std::int64_t start_ns = os::coarse_ns();
    for (std::uint32_t taken = before + 1; taken <= before + 5; ++taken) {
      ASSERT_NE(finish_one(), 0U);
      receiver_->drain_all();
      EXPECT_EQ(peer.receipt(), taken);
      const bool rung = sleeper.was_rung();
      const bool is_first = taken == before + 1;
      // On a slow machine the sleep may last so long that its bell is rung again.
      const bool is_due_again = os::coarse_ns() - start_ns >= wake::kAgainNs;
      EXPECT_TRUE(rung == is_first || (rung && is_due_again)) << "after message " << taken;
    }
  }
}

// ---- Rates --------------------------------------------------------------------------------------

TEST_F(DrainTest, ARateHoldsTheNormalLaneBackAndNoOther) {
  Peer& rated = join(100);
  Peer& other = join(101);
  rated.link->limit_rate(bucket(2));
  rated.say_often(5);
  other.say();
  EXPECT_EQ(receiver_->next_token_ns(), Receiver::kNever);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(rated.receipt(), 2U);
  EXPECT_EQ(other.receipt(), 1U);
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_TRUE(rated.link->is_held_back());
  const std::int64_t next = receiver_->next_token_ns();
  EXPECT_GT(next, os::coarse_ns());
  EXPECT_NE(next, Receiver::kNever);
  rated.say(Lane::kUrgent);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(rated.receipt(Lane::kUrgent), 1U);
  EXPECT_EQ(rated.receipt(), 2U);
  receiver_->quarantine(*rated.link, "a test says so");
  EXPECT_EQ(receiver_->next_token_ns(), Receiver::kNever) << "nothing comes from it any more";
}

TEST_F(DrainTest, NobodyWaitsForATokenForAnEmptyLane) {
  Peer& rated = join(100);
  rated.link->limit_rate(bucket(1));
  rated.say();
  receiver_->drain_turn();
  rated.say(Lane::kUrgent);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_TRUE(rated.link->is_held_back());
  EXPECT_EQ(receiver_->next_token_ns(), Receiver::kNever);
}

TEST_F(DrainTest, ALaneIsTakenWholeWhereTheTableIsLarge) {
  EXPECT_EQ(drain_budget(16), 32U);
  EXPECT_EQ(drain_budget(1024), 32U);
  EXPECT_EQ(drain_budget(2048), 64U);
  EXPECT_EQ(drain_budget(4096), 128U) << "by default";
  EXPECT_EQ(drain_budget(1U << 20), 128U);
}

// ---- Order of a sender --------------------------------------------------------------------------

class FifoDrainTest : public DrainTest {
 protected:
  FifoDrainTest() { start({.policy = shm::OrderPolicy::kFifo}); }
};

TEST_F(FifoDrainTest, TakesBothLanesInTheOrderInWhichTheSenderSent) {
  Peer& peer = join(100);
  std::vector<std::uint64_t> sent;
  for (const Lane lane : {Lane::kNormal, Lane::kUrgent, Lane::kUrgent, Lane::kNormal}) {
    sent.push_back(peer.say(lane));
  }
  receiver_->drain_turn();
  for (const std::uint64_t id : sent) EXPECT_EQ(finish_one(), id);
}

TEST_F(FifoDrainTest, TakesSoManyInOneTurn) {
  start({.policy = shm::OrderPolicy::kFifo}, 64);
  Peer& peer = join(100);
  peer.say_often(32);
  peer.say(Lane::kUrgent);
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(), 32U);
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 0U);
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 1U);
}

TEST_F(FifoDrainTest, WithoutATokenTheUrgentLaneGoesOnAlone) {
  Peer& peer = join(100);
  peer.link->limit_rate(bucket(1));
  peer.say_often(2);
  peer.say(Lane::kUrgent);
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(), 1U);
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 1U);
}

TEST_F(FifoDrainTest, DataWithoutRoomHoldsNoOrderUp) {
  fill_table();
  Peer& above = join(100);
  above.link->set_relation(Relation::kChild, true);
  above.say();
  above.order(0, 0);
  receiver_->drain_turn();
  EXPECT_EQ(above.receipt(), 0U) << "there is no room";
  EXPECT_EQ(above.receipt(Lane::kUrgent), 1U);
}

TEST_F(FifoDrainTest, AnOrderThatLiesEndsTheLinkAlthoughDataWaitsBeforeIt) {
  fill_table();
  Peer& above = join(100);
  above.link->set_relation(Relation::kChild, true);
  above.say();
  shm::MessageHeader header = above.sound();
  header.flags = shm::kFlagControl;
  header.length = shm::kInlineBytes + 1;
  above.publish(header, Lane::kUrgent);
  receiver_->drain_turn();
  EXPECT_TRUE(above.link->quarantined());
  EXPECT_EQ(above.receipt() + above.receipt(Lane::kUrgent), 0U);
}

// ---- Room ---------------------------------------------------------------------------------------

TEST_F(DrainTest, LinksThatFoundNoRoomGetPlacesInTurnAndNobodyOvertakesThem) {
  fill_table();
  Peer& second = join(100);
  Peer& first = join(101);  // the peer that joined last is looked at first
  first.say_often(2);
  second.say();
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_TRUE(first.link->is_queued() && second.link->is_queued());
  Peer& late = join(102);
  late.say();
  const auto one_place = [&] {
    ASSERT_NE(finish_one(), 0U);
    EXPECT_TRUE(receiver_->drain_turn());
  };
  one_place();
  EXPECT_EQ(first.receipt(), 1U);
  EXPECT_EQ(second.receipt() + late.receipt(), 0U);
  one_place();
  EXPECT_EQ(second.receipt(), 1U) << "the first has had its place, and waits behind";
  one_place();
  one_place();
  EXPECT_EQ(first.receipt(), 2U);
  EXPECT_EQ(late.receipt(), 1U);
}

TEST_F(DrainTest, ALinkThatGotNoPlaceStaysTheFirst) {
  fill_table();
  Peer& second = join(100);
  Peer& first = join(101);
  first.say();
  second.say();
  receiver_->drain_turn();
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_FALSE(receiver_->drain_from(100));
  finish_one();
  receiver_->drain_turn();
  EXPECT_EQ(first.receipt(), 1U);
  EXPECT_EQ(second.receipt(), 0U);
}

TEST_F(DrainTest, CopiesGiveWayToMessages) {
  Peer& child = join(100);
  for (std::uint32_t i = 0; i < kOrdinaryRoom; ++i) child.show_copy();
  receiver_->drain_turn();
  ASSERT_EQ(child.receipt(), kOrdinaryRoom);
  Peer& peer = join(101);
  const std::uint64_t id = peer.say();
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(), 1U);
  EXPECT_EQ(counters().copies_dropped.observe(), kOrdinaryRoom);
  EXPECT_EQ(finish_one(), id);
  EXPECT_EQ(finish_one(), 0U);
}

TEST_F(DrainTest, CopiesThatAreBeingReadStay) {
  Peer& child = join(100);
  for (std::uint32_t i = 0; i < kOrdinaryRoom; ++i) child.show_copy();
  receiver_->drain_turn();
  for (std::uint32_t i = 0; i < kOrdinaryRoom; ++i) ASSERT_NE(receiver_->take(), shm::kNoEntry);
  Peer& peer = join(101);
  peer.say();
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_EQ(counters().copies_dropped.observe(), 0U);
}

TEST_F(DrainTest, CopiesThatMakeNotEnoughRoomGoAllTheSame) {
  Peer& child = join(100);
  child.say_often(kOrdinaryRoom - 1);
  child.show_copy();
  child.say(Lane::kUrgent);
  receiver_->drain_turn();
  ASSERT_EQ(child.receipt(), kOrdinaryRoom - 1) << "the urgent one went first and left no room";
  ASSERT_NE(finish_one(), 0U);
  receiver_->drain_turn();
  ASSERT_EQ(child.receipt(), kOrdinaryRoom);
  child.say(Lane::kUrgent);
  child.say(Lane::kUrgent);
  receiver_->drain_turn();  // one place is left
  Peer& peer = join(101);
  peer.say();
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_EQ(counters().copies_dropped.observe(), 1U);
  EXPECT_EQ(peer.receipt(), 0U);
}

// Only a child may show copies. Others' copies are dropped at the end of the turn, not before.
TEST_F(DrainTest, CopiesOfAStrangerAreNeverShownAndGiveTheirRoomBack) {
  Peer& stranger = join(100);
  stranger.link->set_relation(Relation::kOther, false);
  for (std::uint32_t i = 0; i < kOrdinaryRoom; ++i) stranger.show_copy();
  const std::uint64_t id = stranger.say();
  receiver_->drain_turn();
  EXPECT_EQ(stranger.receipt(), kOrdinaryRoom);
  EXPECT_EQ(counters().copies_dropped.observe(), kOrdinaryRoom);
  receiver_->drain_turn();
  EXPECT_EQ(finish_one(), id);
}

TEST_F(DrainTest, AnUrgentMessageWithoutRoomWaitsInItsLaneAndInNoQueue) {
  fill_table();
  Peer& peer = join(100);
  peer.say(Lane::kUrgent);
  peer.say(Lane::kUrgent);
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 1U) << "the last place is for orders";
  EXPECT_FALSE(peer.link->is_queued());
  ASSERT_NE(finish_one(), 0U);
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 2U);
}

TEST_F(DrainTest, AFullLaneWithoutTheAnswerIsNotLetIn) {
  fill_table();
  Peer& peer = join(100);
  PendingReply pending{.request_id = shm::make_message_id(test::kReaderPid, 1), .from = 100};
  receiver_->answers().expect(pending);
  peer.say_often(test::kContract.normal_slots);
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_EQ(peer.receipt(), 0U);
  receiver_->forget(pending);
}

TEST_F(DrainTest, AnAwaitedAnswerIsLetInWithTheMessagesBeforeIt) {
  fill_table();
  Peer& peer = join(100);
  PendingReply pending{.request_id = shm::make_message_id(test::kReaderPid, 1), .from = 100};
  pending.is_blocking = true;
  receiver_->answers().expect(pending);
  peer.say();
  shm::MessageHeader answer = peer.sound();
  answer.reply_to = pending.request_id;
  peer.publish(answer);
  peer.say();
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(), 2U) << "both, and not what lies behind the answer";
  ASSERT_NE(pending.entry, shm::kNoEntry);
  const shm::EntryIndex at = receiver_->take_reply(pending);
  EXPECT_EQ(receiver_->entry(at).header.id, answer.id);
  receiver_->done(at);
  receiver_->forget(pending);
}

TEST_F(DrainTest, AnAnswerThatNobodyIsBlockedByLeavesTheLastPlaceToOrders) {
  fill_table();
  Peer& peer = join(100);
  PendingReply pending{.request_id = shm::make_message_id(test::kReaderPid, 1), .from = 100};
  receiver_->answers().expect(pending);
  peer.say();
  shm::MessageHeader answer = peer.sound();
  answer.reply_to = pending.request_id;
  peer.publish(answer);
  receiver_->drain_turn();
  EXPECT_EQ(peer.receipt(), 1U);
  EXPECT_EQ(pending.entry, shm::kNoEntry);
  Peer& above = join(101);
  above.link->set_relation(Relation::kChild, true);
  above.order(0, 0);
  receiver_->drain_turn();
  EXPECT_EQ(above.receipt(Lane::kUrgent), 1U) << "the last place was for this";
  receiver_->forget(pending);
}

// ---- Orders to cancel ---------------------------------------------------------------------------

// The orders hold places that their own messages need; they are obeyed all the same.
TEST_F(DrainTest, OrdersGiveTheirPlacesToTheMessagesThatTheyWaitFor) {
  fill_table();
  ASSERT_NE(finish_one(), 0U);  // one ordinary place: 3 are free
  Peer& peer = join(100);
  const std::uint16_t cancel = peer.intern(kCancelOrder);
  const std::uint64_t doomed = shm::make_message_id(100, 3);
  peer.order(cancel, doomed);
  peer.order(cancel, shm::make_message_id(100, 77));
  ASSERT_EQ(peer.say(), doomed);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 2U);
  EXPECT_EQ(peer.receipt(), 0U) << "the orders have the places";
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(peer.receipt(), 1U);
  EXPECT_NE(receiver_->entries().find_dead(doomed), shm::kNoEntry);
}

TEST_F(DrainTest, AnOrderGivesItsPlaceToAnAnswerThatSomebodyIsBlockedBy) {
  fill_table();
  filler_->say(Lane::kUrgent);
  receiver_->drain_turn();  // one place is left, for orders
  PendingReply pending{.request_id = shm::make_message_id(test::kReaderPid, 1), .from = 100};
  pending.is_blocking = true;
  receiver_->answers().expect(pending);
  Peer& above = join(100);
  above.link->set_relation(Relation::kChild, true);
  above.order(above.intern(kCancelOrder), shm::make_message_id(100, 77));
  shm::MessageHeader answer = above.sound();
  answer.reply_to = pending.request_id;
  above.publish(answer);
  receiver_->drain_turn();
  ASSERT_EQ(above.receipt(Lane::kUrgent), 1U);
  ASSERT_EQ(pending.entry, shm::kNoEntry) << "the table is full";
  receiver_->drain_turn();
  EXPECT_NE(pending.entry, shm::kNoEntry);
  receiver_->forget(pending);
}

TEST_F(DrainTest, SixteenOrdersOfALinkSearchAtATime) {
  start({}, 64);
  Peer& peer = join(100);
  const std::uint16_t cancel = peer.intern(kCancelOrder);
  for (std::uint64_t i = 0; i < 16; ++i) peer.order(cancel, shm::make_message_id(100, 100 + i));
  receiver_->drain_from(100);
  ASSERT_EQ(peer.receipt(Lane::kUrgent), 16U);
  EXPECT_TRUE(receiver_->is_searching());
  peer.order(cancel, shm::make_message_id(100, 200));
  EXPECT_FALSE(receiver_->drain_from(100)) << "it waits in its lane";
  receiver_->drain_all();  // the orders have found nothing, and nothing can come
  EXPECT_FALSE(receiver_->is_searching());
  EXPECT_TRUE(receiver_->drain_from(100));
  EXPECT_EQ(peer.receipt(Lane::kUrgent), 17U);
}

}  // namespace
}  // namespace beeline::receive
