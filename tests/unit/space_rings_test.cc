// A sender that waits for a slab is rung, although not every stamp has a fence behind it.

#include "src/os/event_fd.h"
#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using test::Peer;

class SpaceRingsTest : public test::ReceiverTest {
 protected:
  // A sender that sleeps, and the bell that it sleeps on.
  struct Sleeper {
    Peer& peer;
    shm::StatusPage page{};
    os::UniqueFd event = test::must(os::create_event_fd());

    explicit Sleeper(Peer& of) : peer(of) {
      page.sleep.publish(shm::next_sleep(0, shm::Sleep::kEvent));
      peer.link->set_bell({&page, event.get()});
    }
    void want_space() { peer.own.view().control().space.relaxed_store(1); }
    [[nodiscard]] bool is_rung() const {
      return os::wait_readable(event.get(), std::chrono::nanoseconds::zero());
    }
  };

  void bring(Peer& peer, std::uint32_t messages, std::size_t bytes = 100) {
    const std::string payload(bytes, 'x');
    for (std::uint32_t i = 0; i < messages; ++i) peer.publish_in_slab(peer.sound(), payload);
    receiver_->drain_all();
  }
  // As the user of an agent finishes messages.
  void finish(std::uint32_t messages) {
    for (std::uint32_t i = 0; i < messages; ++i) {
      const shm::EntryIndex at = receiver_->take();
      ASSERT_NE(at, shm::kNoEntry);
      receiver_->done_of_many(at);
    }
  }
};

TEST_F(SpaceRingsTest, ASenderThatIsSeenToWaitIsRungByTheNextStamp) {
  Sleeper sender(join(100));
  bring(sender.peer, 2);
  sender.want_space();
  finish(1);
  EXPECT_TRUE(sender.is_rung());
}

// The wish is stored behind the stamp here. A sender whose wish the receiver could not see yet
// finds itself in the same place.
TEST_F(SpaceRingsTest, ASenderThatWasNotSeenIsRungBeforeTheNextDrain) {
  Sleeper one(join(100));
  Sleeper other(join(101));
  bring(one.peer, 2);
  bring(other.peer, 2);
  finish(3);
  for (Sleeper* const sender : {&one, &other}) {
    sender->want_space();
    EXPECT_FALSE(sender->is_rung());
  }
  receiver_->drain_turn();
  EXPECT_TRUE(one.is_rung());
  EXPECT_TRUE(other.is_rung());
}

TEST_F(SpaceRingsTest, NoRingIsOwedBehindTheLastMessage) {
  Sleeper sender(join(100));
  bring(sender.peer, 3);
  finish(3);
  sender.want_space();
  receiver_->drain_all();
  EXPECT_FALSE(sender.is_rung()) << "the fence behind the last stamp has shown all three";
}

TEST_F(SpaceRingsTest, NoMoreStampsThanTheLimitAreOwedARing) {
  for (const std::uint32_t finished : {kStampsPerFence - 1, kStampsPerFence}) {
    start({}, 64);
    Sleeper sender(join(100));
    bring(sender.peer, kStampsPerFence + 4);
    finish(finished);
    sender.want_space();
    receiver_->drain_all();
    EXPECT_EQ(sender.is_rung(), finished < kStampsPerFence) << finished;
  }
}

// There are few slabs for large payloads, and all of them may wait for the fence of one.
TEST_F(SpaceRingsTest, NoRingIsOwedBehindALargePayload) {
  Sleeper sender(join(100));
  bring(sender.peer, 2, 20'000);
  finish(1);
  sender.want_space();
  receiver_->drain_all();
  EXPECT_FALSE(sender.is_rung());
}

// Everything but the end of a lease by its user.
TEST_F(SpaceRingsTest, NoRingIsOwedBehindAMessageThatTheEngineFinishes) {
  Sleeper sender(join(100));
  bring(sender.peer, 2);
  EXPECT_NE(finish_one(), 0U);
  sender.want_space();
  receiver_->drain_all();
  EXPECT_FALSE(sender.is_rung());
}

TEST_F(SpaceRingsTest, ALinkThatGoesRingsItsOwnerFirst) {
  Peer& other = join(101);
  bring(other, 1);
  Sleeper sender(join(100));
  bring(sender.peer, 1);
  const shm::EntryIndex kept = receiver_->take();
  finish(1);
  sender.want_space();
  EXPECT_TRUE(receiver_->remove(*sender.peer.link));
  EXPECT_TRUE(sender.is_rung());
  receiver_->done(kept);
  receiver_->drain_all();
}

}  // namespace
}  // namespace beeline::receive
