// A sender follows its receiver through the directory from one life to the next, and counts the
// receipts of the right life.

#include <functional>
#include <map>
#include <utility>

#include "src/send/send_path.h"
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

// The links of a sender to one peer; the lives of that peer are known as soon as they open a link.
class HeirPathTest : public HeirTest {
 protected:
  HeirPathTest()
      : memory_(must(segment::Owned::create("directory", shm::DirectoryLayout::kBytes,
                                            shm::DirectoryLayout::kBytes))),
        directory_(memory_.data(), 1, shm::kMinMaxPayload, 1),
        path_(kHeirPeer, ids_, [this](std::uint32_t /*pid*/, shm::Incarnation life) {
          if (on_look_) std::exchange(on_look_, nullptr)();
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
  void say(shm::Incarnation life, shm::AgentState state) { directory_.set_word(0, {life, state}); }
  // The life opens its link to the sender.
  void show(const Heir& heir, shm::Incarnation life) {
    views_.emplace(life, shm::LinkView(heir.back.memory().data(), kContract));
  }
  void follow(shm::Incarnation life, shm::AgentState state) {
    say(life, state);
    path_.follow(peer_->own);
  }

  std::map<shm::Incarnation, shm::LinkView> views_;
  std::function<void()> on_look_;  // runs once, while the sender looks up a life
  segment::Owned memory_;
  shm::DirectoryWriter directory_;
  shm::Atomic<std::uint64_t> ids_{0};
  send::SendPath path_;
};

TEST_F(HeirPathTest, TheNextSlotIsBehindTheLastOne) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  for (std::uint32_t i = 0; i < 2 * kContract.normal_slots; ++i) {
    for (const std::int32_t rank : {shm::kRankNormal, shm::kRankCritical}) {
      const auto sent = path_.write(own, {{}, {.rank = rank}, path_.reserve_id()});
      ASSERT_EQ(sent, SendStatus::kOk);
      const auto [lane, position] = path_.last_place();
      EXPECT_EQ(path_.next_slot(), &own.view().slot(lane, position + 1));
    }
    receiver_->drain_all();
    EXPECT_EQ(finish_all(), 2U);
  }
}

TEST_F(HeirPathTest, AMessageIsOrphanedIfItsReceiverIsSeenDeadOnlyAfterThePublish) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  say(kReaderLife + 1, shm::AgentState::kRunning);
  on_look_ = [this] { say(kReaderLife + 1, shm::AgentState::kDead); };
  const auto send = [&] { return path_.write(own, {.id = path_.reserve_id()}); };
  EXPECT_EQ(send(), SendStatus::kPeerDead);
  EXPECT_EQ(own.counts.sent, 1U);
  EXPECT_EQ(own.counts.orphaned, 1U);
  EXPECT_EQ(send(), SendStatus::kPeerDead);
  EXPECT_EQ(own.counts.sent, 1U) << "to a receiver that is known to be dead nothing is published";
  EXPECT_EQ(own.counts.orphaned, 1U);
}

TEST_F(HeirPathTest, ReceiptsOfAFencedLifeDuringTheLookOfItsSuccessorAreIgnored) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  const shm::SlabPool::Loan loan = say_in_slab();
  receiver_->drain_all();
  const shm::EntryIndex held = receiver_->take();
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
  next.receiver.done(shm::EntryIndex(0));
  EXPECT_TRUE(own.collect_slabs(0));
  EXPECT_EQ(own.slabs.out(), 0U);
  EXPECT_EQ(loan.generation, next.stamp(loan.slab));
}

// The sender stands still between its look at the directory and its look at the receipts.
TEST_F(HeirPathTest, ReceiptsOfAFencedLifeAfterTheLookOfTheSenderAreIgnored) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  (void)say_in_slab();
  say_knowingly(kContract.normal_slots - 1);
  say(kReaderLife, shm::AgentState::kStarting);
  receiver_->drain_all();
  receiver_->done(receiver_->take());
  EXPECT_FALSE(own.has_space(Lane::kNormal, false)) << "its successor waits for what lies there";
  EXPECT_EQ(own.not_taken(), kContract.normal_slots);
  EXPECT_FALSE(own.collect_slabs(0)) << "its successor has the message as well";
  own.find_receipts();
  EXPECT_EQ(own.not_taken(), kContract.normal_slots);
  EXPECT_FALSE(own.was_lied_to());
  follow(kReaderLife, shm::AgentState::kAway);
  EXPECT_EQ(own.not_taken(), 0U) << "it broke off";
  EXPECT_TRUE(own.has_space(Lane::kNormal, false));
  EXPECT_TRUE(own.collect_slabs(0));
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

TEST_F(HeirPathTest, ReceiptsOfTheLastLifeCountAfterItsEnd) {
  send::OutLink& own = peer_->own;
  path_.set_place(own, 0, kReaderLife);
  say_knowingly(3);
  receiver_->drain_all();
  follow(kReaderLife + 1, shm::AgentState::kDead);  // the last life never showed a link
  EXPECT_TRUE(own.dead);
  EXPECT_EQ(own.not_taken(), 0U);
}

// The receiver had no process when the link was opened, so every later life may have inherited.
TEST_F(HeirPathTest, EachLifeMayHaveInheritedIfNoneWasNamed) {
  path_.set_place(peer_->own, 0, shm::kNoIncarnation);
  path_.set_place(peer_->own, 0, kReaderLife);
  EXPECT_EQ(peer_->own.first_life, shm::kNoIncarnation);
}

// The first life was named in the answer, and has gone before the sender looks.
TEST_F(HeirPathTest, TheFirstLifeIsTheOneThatTheCoordinatorNamed) {
  say(kReaderLife + 1, shm::AgentState::kRunning);
  path_.set_place(peer_->own, 0, kReaderLife);
  EXPECT_EQ(peer_->own.first_life, kReaderLife);
}

}  // namespace
}  // namespace beeline::receive
