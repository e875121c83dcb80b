// Cancelling: orders that find their messages in every state, wait for them, and make room for one
// another.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::DeadReason;
using shm::EntryState;
using shm::Lane;
using test::Peer;

class CancelTest : public test::ReceiverTest {
 protected:
  CancelTest() { start_with({}); }

  void start_with(shm::HomeOptions options) {
    start(options, 64);
    peer_ = &join(100);
    cancel_ = peer_->intern(kCancelOrder);
  }
  void order(std::uint64_t about) {
    peer_->order(cancel_, about);
    receiver_->drain_all();
  }
  // An answer of the peer to a question of the reader.
  std::uint64_t answer(std::uint64_t to) {
    shm::MessageHeader header = peer_->sound();
    header.reply_to = to;
    const std::uint64_t id = peer_->publish(header);
    receiver_->drain_all();
    return id;
  }
  // From here on its messages wait in the normal lane, and orders overtake them.
  void hold_back() {
    peer_->link->limit_rate(std::make_shared<limit::TokenBucket>(limit::kMinRate, 1));
    peer_->say();
    peer_->say();
    receiver_->drain_all();
    ASSERT_TRUE(peer_->link->has_message(Lane::kNormal));
  }
  [[nodiscard]] bool is_dead(std::uint64_t id) const {
    const shm::EntryIndex at = receiver_->entries().find_dead(id);
    return at != shm::kNoEntry && receiver_->is_cancelled(at);
  }
  // Entries that hold something.
  [[nodiscard]] std::uint32_t taken_places() const {
    const shm::Home& home = receiver_->home().home();
    std::uint32_t count = 0;
    for (shm::EntryIndex at(0); at.value() < home.entries_allocated(); ++at) {
      if (home.entry(at).word().state != EntryState::kFree) ++count;
    }
    return count;
  }

  static constexpr std::uint64_t kAsked = 1;
  Peer* peer_ = nullptr;
  std::uint16_t cancel_ = 0;
};

TEST_F(CancelTest, AWaitingMessageBecomesADeadLetterAndTheOrderIsDone) {
  const std::uint64_t doomed = peer_->say();
  const std::uint64_t other = peer_->say();
  receiver_->drain_all();
  order(doomed);
  EXPECT_TRUE(is_dead(doomed));
  EXPECT_EQ(taken_places(), 2U);
  EXPECT_EQ(finish_one(), other);
  EXPECT_EQ(finish_one(), 0U);
}

TEST_F(CancelTest, TheHandlerOfAMessageIsToldOfTheOrder) {
  const std::uint64_t id = peer_->say();
  receiver_->drain_all();
  const shm::EntryIndex at = receiver_->take();
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_FALSE(receiver_->is_cancelled(at));
  order(id);
  EXPECT_TRUE(receiver_->is_cancelled(at));
  EXPECT_EQ(receiver_->entries().find_dead(id), shm::kNoEntry) << "its handler decides";
  receiver_->done(at);
  EXPECT_EQ(taken_places(), 0U);
}

// Otherwise the order would take the message back again when a successor finds the order.
TEST_F(CancelTest, ADeadLetterIsLeftAloneAndComesBackForGood) {
  ASSERT_NO_FATAL_FAILURE(hold_back());  // an order without a message would go on looking
  const shm::EntryIndex at = receiver_->take();
  ASSERT_NE(at, shm::kNoEntry);
  const std::uint64_t id = receiver_->entry(at).header.id;
  receiver_->bury(at, DeadReason::kRejected);
  order(id);
  EXPECT_EQ(taken_places(), 1U) << "the order is done";
  receiver_->revive(at);
  receiver_->drain_all();
  EXPECT_EQ(finish_one(), id);
}

TEST_F(CancelTest, AnAnswerThatSomebodyWaitsForIsNotTakenBack) {
  PendingReply pending{.request_id = shm::make_message_id(test::kReaderPid, kAsked), .from = 100};
  receiver_->answers().expect(pending);
  const std::uint64_t id = answer(pending.request_id);
  ASSERT_NE(pending.entry, shm::kNoEntry);
  order(id);
  EXPECT_FALSE(is_dead(id));
  EXPECT_EQ(taken_places(), 1U) << "the order is done";
  receiver_->done(receiver_->take_reply(pending));
  receiver_->forget(pending);
}

TEST_F(CancelTest, AnAnswerThatWasKeptAsideIsTakenBack) {
  const std::uint64_t asked = shm::make_message_id(test::kReaderPid, kAsked);
  ASSERT_TRUE(receiver_->answers().open(asked, 0, 100));
  const std::uint64_t id = answer(asked);
  ASSERT_EQ(receiver_->kept().stash().size(), 1U);
  order(id);
  EXPECT_TRUE(is_dead(id));
  EXPECT_EQ(receiver_->kept().stash().size(), 0U);
  EXPECT_EQ(receiver_->take_stashed_answer(), shm::kNoEntry);
}

TEST_F(CancelTest, NobodyTakesBackTheWordsOfOthersOrAnOrder) {
  Peer& other = join(101);
  const std::uint64_t theirs = other.say();
  receiver_->drain_all();
  ASSERT_NO_FATAL_FAILURE(hold_back());  // so that an order stays
  const std::uint64_t first = peer_->order(cancel_, shm::make_message_id(100, 77));
  const std::uint32_t before = taken_places() + 1;
  order(theirs);
  EXPECT_EQ(taken_places(), before) << "the first order stands, the second is void";
  EXPECT_FALSE(is_dead(theirs));
  order(first);
  EXPECT_EQ(taken_places(), before + 1) << "both look for a message";
  EXPECT_FALSE(is_dead(first));
  order(shm::make_message_id(100, peer_->counter + 2));
  order(shm::make_message_id(100, 78));
  EXPECT_EQ(taken_places(), before + 2) << "the one that was about the other is done";
}

TEST_F(CancelTest, ACopyOfAnOrderTakesNothingBack) {
  const std::uint64_t id = peer_->say();
  receiver_->drain_all();
  shm::MessageHeader header = peer_->sound();
  header.flags = shm::kFlagControl | shm::kFlagCopy | shm::kFlagExtended;
  header.type = cancel_;
  header.reply_to = id;
  peer_->publish(header, Lane::kUrgent);
  receiver_->drain_all();
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 1U);
  EXPECT_FALSE(is_dead(id));
  EXPECT_EQ(finish_one(), id);
}

TEST_F(CancelTest, AMessageThatComesAfterItsOrderIsTakenBackOnArrival) {
  ASSERT_NO_FATAL_FAILURE(hold_back());
  const std::uint64_t doomed = peer_->say();
  order(doomed);
  EXPECT_EQ(receiver_->entries().find_dead(doomed), shm::kNoEntry);
  peer_->link->limit_rate(nullptr);
  receiver_->drain_all();
  EXPECT_TRUE(is_dead(doomed));
}

TEST_F(CancelTest, TheOldestOrderThatHasFoundNothingGivesWayToTheSeventeenth) {
  ASSERT_NO_FATAL_FAILURE(hold_back());
  const std::uint64_t given_up = peer_->say();
  const std::uint64_t doomed = peer_->say();
  order(given_up);
  for (std::uint64_t i = 0; i < 15; ++i) order(shm::make_message_id(100, 900 + i));
  const std::uint32_t before = taken_places();
  order(doomed);
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 17U);
  EXPECT_EQ(taken_places(), before);
  peer_->link->limit_rate(nullptr);
  receiver_->drain_all();
  EXPECT_TRUE(is_dead(doomed));
  EXPECT_FALSE(is_dead(given_up));
}

TEST_F(CancelTest, TheOrdersOfOtherLinksGiveWayToNone) {
  ASSERT_NO_FATAL_FAILURE(hold_back());
  Peer& other = join(101);
  other.link->limit_rate(peer_->link->rate());  // the bucket is empty
  const std::uint64_t doomed = other.say();
  other.order(other.intern(kCancelOrder), doomed);  // the oldest of all
  receiver_->drain_all();
  const std::uint32_t before = taken_places();
  for (std::uint64_t i = 0; i < 17; ++i) order(shm::make_message_id(100, 900 + i));
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 17U);
  EXPECT_EQ(taken_places(), before + 16);
  other.link->limit_rate(nullptr);
  receiver_->drain_all();
  EXPECT_TRUE(is_dead(doomed));
}

// In a fifo inbox both come in one look: the message of the first order, and a message without a
// place.
TEST_F(CancelTest, AnOrderWhoseMessageHasJustComeGivesWayToNone) {
  start_with({.policy = shm::OrderPolicy::kFifo});
  ASSERT_NO_FATAL_FAILURE(hold_back());
  const std::uint64_t doomed = peer_->say();
  order(doomed);
  for (std::uint64_t i = 0; i < 15; ++i) order(shm::make_message_id(100, 900 + i));
  ASSERT_EQ(peer_->receipt(Lane::kUrgent), 16U);
  peer_->link->limit_rate(nullptr);
  order(shm::make_message_id(100, 950));
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 17U);
  EXPECT_TRUE(is_dead(doomed));
}

TEST_F(CancelTest, OrdersOfALinkThatHasLiedAreDone) {
  ASSERT_NO_FATAL_FAILURE(hold_back());
  const std::uint32_t before = taken_places();
  order(shm::make_message_id(100, 900));
  EXPECT_EQ(taken_places(), before + 1);
  receiver_->quarantine(*peer_->link, "a test says so");
  receiver_->drain_all();
  EXPECT_EQ(taken_places(), before) << "nothing comes from it any more";
}

// Only a stranger's order to cancel overtakes, together with the messages before it in its lane.
TEST_F(CancelTest, InAFifoInboxAnOrderToCancelOvertakesDataWithoutRoomAndOtherUrgentDataDoesNot) {
  start_with({.policy = shm::OrderPolicy::kFifo});
  Peer& filler = join(99);
  filler.say_often(test::kContract.normal_slots);
  receiver_->drain_all();
  filler.say_often(test::kContract.normal_slots);
  receiver_->drain_all();
  const std::uint64_t doomed = peer_->say();
  receiver_->drain_all();
  ASSERT_EQ(peer_->receipt(), 0U) << "the table is full";
  peer_->say(Lane::kUrgent);
  peer_->order(static_cast<std::uint16_t>(cancel_ + 1), 0);  // there is no such string yet
  receiver_->drain_all();
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 0U) << "both wait behind what was sent before them";
  EXPECT_EQ(peer_->intern("later"), cancel_ + 1);
  receiver_->drain_all();
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 0U) << "it takes nothing back";
  peer_->order(cancel_, doomed);
  receiver_->drain_all();
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 3U);
  EXPECT_EQ(peer_->receipt(), 0U);
  while (peer_->positions[1] < 3 + test::kContract.urgent_slots) peer_->say(Lane::kUrgent);
  receiver_->drain_all();
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 3U) << "a lane full of data holds no order";
  while (!is_dead(doomed)) {
    ASSERT_NE(finish_one(), 0U);
    receiver_->drain_all();
  }
}

// Its slab can go back to its sender only with an entry.
TEST_F(CancelTest, AnOrderInASlabThatFindsNoRoomWaitsForItsPlace) {
  constexpr std::uint32_t kLength = 500;
  Peer& filler = join(99);
  filler.say_often(test::kContract.normal_slots);
  receiver_->drain_all();
  const std::uint64_t doomed = peer_->say();
  receiver_->drain_all();
  filler.say_often(test::kContract.normal_slots);
  receiver_->drain_all();
  for (std::uint32_t i = 0; i < test::kContract.urgent_slots; ++i) filler.say(Lane::kUrgent);
  receiver_->drain_all();
  ASSERT_LT(filler.receipt(Lane::kUrgent), filler.positions[1]) << "the table is full";
  const auto loan = peer_->own.take_slab(kLength);
  ASSERT_TRUE(loan);
  shm::MessageHeader header = peer_->sound();
  header.flags = shm::kFlagControl | shm::kFlagSlab;
  header.type = cancel_;
  header.reply_to = doomed;
  header.slab = loan->slab.value();
  header.length = kLength;
  peer_->publish(header, Lane::kUrgent, nullptr, loan->generation);
  receiver_->drain_all();
  receiver_->drain_all();
  EXPECT_EQ(peer_->receipt(Lane::kUrgent), 0U);
  EXPECT_FALSE(is_dead(doomed));
  while (!is_dead(doomed)) {
    ASSERT_NE(finish_one(), 0U);
    receiver_->drain_all();
  }
  const auto stamp = peer_->back.view().stamp(peer_->link->sink().bank, loan->slab).observe();
  EXPECT_EQ(stamp, loan->generation);
}

}  // namespace
}  // namespace beeline::receive
