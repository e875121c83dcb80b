// The short way of an answer that waits alone: to the request that waits for it, or like any other
// message.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::Peer;

constexpr std::uint64_t kQuestion = shm::make_message_id(test::kReaderPid, 7);

class AnswerAloneTest : public test::ReceiverTest {
 protected:
  // Waits for the answer of `from` to a question of ours.
  PendingReply& expect(std::uint32_t from, std::uint64_t alias = 0) {
    pending_.push_back(std::make_unique<PendingReply>());
    PendingReply& pending = *pending_.back();
    pending.request_id = kQuestion;
    pending.alias = alias;
    pending.from = from;
    receiver_->answers().expect(pending);
    return pending;
  }
  static std::uint64_t answer(Peer& peer, std::uint64_t question = kQuestion,
                              std::uint16_t type = 0) {
    shm::MessageHeader header = peer.sound();
    header.reply_to = question;
    header.type = type;
    return peer.publish(header);
  }
  // The usual way gives the answer to the waiting request.
  void expect_the_usual_way(PendingReply& pending) {
    EXPECT_EQ(receiver_->take_alone(pending), shm::kNoEntry);
    receiver_->drain_all();
    ASSERT_TRUE(receiver_->has_reply(pending));
    receiver_->done(receiver_->take_reply(pending));
  }

  std::vector<std::unique_ptr<PendingReply>> pending_;
};

TEST_F(AnswerAloneTest, GoesToTheWaitingRequestWhateverIsQueued) {
  Peer& peer = join(100);
  peer.say_often(3);
  receiver_->drain_all();
  PendingReply& pending = expect(100);
  const std::uint64_t id = answer(peer);
  const shm::EntryIndex at = receiver_->take_alone(pending);
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_EQ(receiver_->entry(at).header.id, id);
  EXPECT_EQ(receiver_->entry(at).header.reply_to, kQuestion);
  EXPECT_EQ(receiver_->entry(at).word().state, shm::EntryState::kLeased);
  EXPECT_EQ(peer.receipt(), 4U);
  const shm::Inbox& inbox = receiver_->home().inbox();
  EXPECT_EQ(inbox.queued(), 3U);
  EXPECT_EQ(inbox.leased(), 1U);
  EXPECT_EQ(inbox.index().count_nodes(), 3U);
  receiver_->done(at);
  EXPECT_EQ(finish_all(), 3U);
}

// The same before the request has ended: an agent that counts as asleep outside of the library
// looks once more before that.
TEST_F(AnswerAloneTest, ASecondOneIsOneTooMany) {
  Peer& peer = join(100);
  PendingReply& pending = expect(100);
  answer(peer);
  const shm::EntryIndex at = receiver_->take_alone(pending);
  ASSERT_NE(at, shm::kNoEntry);
  answer(peer);
  EXPECT_EQ(receiver_->take_alone(pending), shm::kNoEntry);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  receiver_->drain_all();
  receiver_->forget(pending);
  EXPECT_EQ(counters().late_replies.relaxed_load(), 1U);
  const shm::EntryIndex late = receiver_->take_stashed_answer();
  ASSERT_NE(late, shm::kNoEntry);
  EXPECT_NE(receiver_->entry(late).header.flags & shm::kFlagUnasked, 0);
  receiver_->done(late);
  receiver_->done(at);
}

// An unfetched answer lies aside, where it blocks nothing.
TEST_F(AnswerAloneTest, ComesAloneThoughOthersLieAside) {
  Peer& peer = join(100);
  ASSERT_TRUE(receiver_->answers().open(kQuestion + 1, 0, 100));
  answer(peer, kQuestion + 1);
  receiver_->drain_all();
  PendingReply& pending = expect(100);
  answer(peer);
  EXPECT_NE(receiver_->take_alone(pending), shm::kNoEntry);
  EXPECT_NE(receiver_->take_stashed_answer(), shm::kNoEntry);
}

TEST_F(AnswerAloneTest, MayLieInASlabAndCarryItsCause) {
  constexpr char kText[] = "an answer";
  Peer& peer = join(100);
  shm::Extension extension{};
  extension.cause = 4711;
  char area[shm::kInlineBytes] = {};
  std::memcpy(area, &extension, sizeof(extension));
  const auto publish = [&] {
    shm::MessageHeader header = peer.sound();
    header.reply_to = kQuestion;
    header.flags = shm::kFlagExtended;
    peer.publish_in_slab(header, {kText, sizeof(kText)}, area);
  };
  PendingReply& first = expect(100);
  publish();
  expect_the_usual_way(first);  // the reader has to verify the memory of its class; the usual way
                                // does that
  receiver_->forget(first);
  PendingReply& pending = expect(100);
  publish();
  const shm::EntryIndex at = receiver_->take_alone(pending);
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_EQ(receiver_->entry(at).cause(), 4711U);
  EXPECT_EQ(std::memcmp(receiver_->payload(at).data(), kText, sizeof(kText)), 0);
  receiver_->done(at);
}

// The usual way has more room for the answer, and ignores its hops.
TEST_F(AnswerAloneTest, WithoutAnOrdinaryPlaceOrFromAfarItGoesTheUsualWay) {
  Peer& peer = join(100);
  PendingReply& far = expect(100);
  shm::MessageHeader header = peer.sound();
  header.reply_to = kQuestion;
  header.hops = static_cast<std::uint16_t>(receiver_->home().home().control().max_hops + 1);
  peer.publish(header);
  expect_the_usual_way(far);
  receiver_->forget(far);
  peer.say_often(test::kOrdinaryRoom);
  receiver_->drain_all();
  PendingReply& pending = expect(100);
  pending.is_blocking = true;
  answer(peer);
  expect_the_usual_way(pending);
}

// An answer that is put back is of no further use to its request: it is stashed, as on any other
// way.
TEST_F(AnswerAloneTest, PutBackItIsStashed) {
  Peer& peer = join(100);
  PendingReply& pending = expect(100);
  const std::uint64_t id = answer(peer);
  const shm::EntryIndex at = receiver_->take_alone(pending);
  ASSERT_NE(at, shm::kNoEntry);
  receiver_->requeue(at);
  EXPECT_EQ(receiver_->take(), shm::kNoEntry) << "it is no ordinary message";
  const shm::EntryIndex stashed = receiver_->take_stashed_answer();
  ASSERT_EQ(stashed, at);
  EXPECT_EQ(receiver_->entry(stashed).header.id, id);
}

TEST_F(AnswerAloneTest, MayNameTheAlias) {
  Peer& peer = join(100);
  PendingReply& pending = expect(100, 4711);
  answer(peer, 4711);
  const shm::EntryIndex at = receiver_->take_alone(pending);
  EXPECT_NE(at, shm::kNoEntry);
}

TEST_F(AnswerAloneTest, AMessageOfAnotherAgentOrToAnotherQuestionIsNoAnswer) {
  Peer& peer = join(100);
  Peer& other = join(101);
  PendingReply& pending = expect(100);
  const auto expect_ordinary = [&] {
    EXPECT_EQ(receiver_->take_alone(pending), shm::kNoEntry);
    EXPECT_NE(receiver_->take_alone(), shm::kNoEntry) << "nobody has asked for it";
  };
  answer(other);
  expect_ordinary();
  answer(peer, kQuestion + 1);
  expect_ordinary();
  peer.say();
  expect_ordinary();
  answer(peer);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry) << "somebody waits for it";
  EXPECT_NE(receiver_->take_alone(pending), shm::kNoEntry);
}

TEST_F(AnswerAloneTest, TheFirstOfTwoWaitingRequestsGetsTheAnswer) {
  Peer& peer = join(100);
  PendingReply& first = expect(100);
  PendingReply& second = expect(100);
  answer(peer);
  EXPECT_EQ(receiver_->take_alone(second), shm::kNoEntry);
  EXPECT_NE(receiver_->take_alone(first), shm::kNoEntry);
}

TEST_F(AnswerAloneTest, IsNoAcknowledgement) {
  Peer& peer = join(100);
  PendingReply& pending = expect(100);
  pending.for_ack = true;
  answer(peer);
  EXPECT_EQ(receiver_->take_alone(pending), shm::kNoEntry);
}

TEST_F(AnswerAloneTest, BesideOthersOrWithATimeToLiveItGoesTheUsualWay) {
  Peer& peer = join(100);
  PendingReply& pending = expect(100);
  answer(peer);
  peer.say(Lane::kUrgent);
  expect_the_usual_way(pending);
  EXPECT_EQ(finish_all(), 1U);
  receiver_->forget(pending);
  PendingReply& next = expect(100);
  shm::MessageHeader header = peer.sound();
  header.reply_to = kQuestion;
  header.ttl_ms = 60'000;
  peer.publish(header);
  expect_the_usual_way(next);
}

TEST_F(AnswerAloneTest, ToNoQuestionItIsAMessageLikeAnyOther) {
  Peer& peer = join(100);
  const std::uint64_t id = answer(peer);
  const shm::EntryIndex at = receiver_->take_alone();
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_EQ(receiver_->entry(at).header.id, id);
  EXPECT_EQ(receiver_->entry(at).header.flags & shm::kUnindexedFlags, 0);
  receiver_->requeue(at);
  EXPECT_EQ(receiver_->take(), at);
}

TEST_F(AnswerAloneTest, ToAnOpenQuestionOrByItsTypeItIsStashed) {
  Peer& peer = join(100);
  ASSERT_TRUE(receiver_->answers().open(kQuestion, 0, 100));
  answer(peer);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  receiver_->drain_all();
  receiver_->done(receiver_->take_stashed_answer());
  const std::uint16_t type = peer.intern(kTaskResponse);
  answer(peer, 4711, type);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry) << "what the type means is not known yet";
  receiver_->drain_all();
  receiver_->done(receiver_->take_stashed_answer());
  answer(peer, 4711, type);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  receiver_->drain_all();
  EXPECT_NE(receiver_->take_stashed_answer(), shm::kNoEntry);
  EXPECT_EQ(counters().late_replies.relaxed_load(), 2U);
}

}  // namespace
}  // namespace beeline::receive
