// The short way of a message that waits alone, and the messages that may not take it.

#include "src/os/event_fd.h"
#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::Peer;

class AloneTest : public test::ReceiverTest {
 protected:
  // The usual way takes the messages that the short way has left.
  std::size_t take_all() {
    receiver_->drain_all();
    return finish_all();
  }
  // Nothing is taken, and the attempt leaves no trace.
  void expect_left(std::size_t messages) {
    EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
    EXPECT_EQ(shm::drained_total(receiver_->home().home()), drained_);
    EXPECT_EQ(receiver_->home().inbox().leased(), 0U);
    EXPECT_EQ(take_all(), messages);
    drained_ += messages;
  }

 private:
  std::uint64_t drained_ = 0;
};

TEST_F(AloneTest, IsLeasedAndCommittedAndItsSenderHearsOfIt) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  const char area[shm::kInlineBytes] = "alone";
  header.length = 5;
  header.rank = shm::kRankCritical;
  peer.publish(header, Lane::kNormal, area);
  const shm::EntryIndex at = receiver_->take_alone();
  ASSERT_NE(at, shm::kNoEntry);
  const shm::Inbox& inbox = receiver_->home().inbox();
  EXPECT_EQ(receiver_->entry(at).header.id, header.id);
  EXPECT_EQ(receiver_->entry(at).word().state, shm::EntryState::kLeased);
  const auto payload = receiver_->payload(at);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size()),
            "alone");
  EXPECT_EQ(peer.receipt(), 1U);
  EXPECT_EQ(shm::drained_total(receiver_->home().home()), 1U);
  EXPECT_EQ(inbox.queued(), 0U);
  EXPECT_EQ(inbox.leased(), 1U);
  EXPECT_EQ(inbox.critical(), 0U);
  EXPECT_EQ(inbox.index().count_nodes(), 0U) << "it would be taken again";
  EXPECT_EQ(peer.link->received(), 1U);
  receiver_->requeue(at);
  EXPECT_EQ(receiver_->take(), at) << "it has its place in the order from now on";
  receiver_->done(at);
  EXPECT_EQ(inbox.leased(), 0U);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
}

TEST_F(AloneTest, APayloadInASlabIsFinishedThere) {
  Peer& peer = join(100);
  constexpr char kText[] = "in a slab";
  const auto publish = [&] { return peer.publish_in_slab(peer.sound(), {kText, sizeof(kText)}); };
  const auto stamp_of = [&](const shm::SlabPool::Loan& loan) -> auto& {
    return peer.back.view().stamp(peer.link->sink().bank, loan.slab);
  };
  publish();
  expect_left(1);  // the reader has to verify the memory of its class; the usual way does that
  const shm::SlabPool::Loan lent = publish();
  const shm::EntryIndex at = receiver_->take_alone();
  ASSERT_NE(at, shm::kNoEntry);
  const auto payload = receiver_->payload(at);
  EXPECT_EQ(std::memcmp(payload.data(), kText, payload.size()), 0);
  EXPECT_EQ(payload.size(), sizeof(kText));
  EXPECT_NE(stamp_of(lent).observe(), lent.generation) << "it is being read";
  receiver_->done(at);
  EXPECT_EQ(stamp_of(lent).observe(), lent.generation);

  const shm::SlabPool::Loan old = publish();
  peer.link->note_old_stamps();  // and one of them says that this one is finished
  stamp_of(old).publish(old.generation);
  EXPECT_NE(receiver_->take_alone(), shm::kNoEntry);
  EXPECT_LT(stamp_of(old).observe(), old.generation) << "its sender would write it over";
}

// The cause lies before the payload, or beside the slab.
TEST_F(AloneTest, TheCauseOfAMessageComesWithIt) {
  constexpr std::uint64_t kCause = 4711;
  constexpr char kText[] = "sixteen bytes...";
  constexpr std::uint32_t kLength = 16;
  Peer& peer = join(100);
  shm::Extension extension{};
  extension.cause = kCause;
  std::memset(extension.trace, 7, sizeof(extension.trace));
  char area[shm::kInlineBytes];
  std::memcpy(area, &extension, sizeof(extension));
  std::memcpy(area + sizeof(extension), kText, kLength);
  shm::SlabPool::Loan lent{};
  const auto publish = [&](bool in_slab) {
    shm::MessageHeader header = peer.sound();
    header.flags = shm::kFlagExtended;
    header.length = kLength;
    if (in_slab) {
      lent = peer.publish_in_slab(header, kText, area);
    } else {
      peer.publish(header, Lane::kNormal, area);
    }
  };
  const auto expect_finished = [&] {
    EXPECT_EQ(peer.back.view().stamp(peer.link->sink().bank, lent.slab).observe(), lent.generation);
  };
  const auto expect_whole = [&](shm::EntryIndex at) {
    ASSERT_NE(at, shm::kNoEntry);
    const auto payload = receiver_->payload(at);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size()),
              kText);
    const shm::Extension found = receiver_->entry(at).extension();
    EXPECT_EQ(std::memcmp(&found, &extension, sizeof(found)), 0);
    receiver_->done(at);
  };
  publish(true);
  expect_left(1);  // the reader has to verify the memory of its class; the usual way does that
  for (const bool in_slab : {false, true}) {
    publish(in_slab);
    expect_whole(receiver_->take_alone());
    if (in_slab) expect_finished();
    publish(in_slab);
    receiver_->drain_all();
    expect_whole(receiver_->take());
    if (in_slab) expect_finished();
  }
}

// A sender's time is not believed if it is earlier than the last look that found its lane empty.
TEST_F(AloneTest, AReceiverThatHasForgottenTheTimeLooksAtTheClock) {
  Peer& peer = join(100);
  const std::int64_t before = os::coarse_ns();
  const auto take_old = [&] {
    shm::MessageHeader header = peer.sound();
    header.sent_ns = 1;
    peer.publish(header);
    const shm::EntryIndex at = receiver_->take_alone();
    EXPECT_NE(at, shm::kNoEntry);
    return receiver_->entry(at).header.sent_ns;
  };
  receiver_->tell_time(before - 1'000'000'000);
  (void)take_old();
  EXPECT_LT(peer.link->seen_empty_ns(), before) << "what it was told counts";
  receiver_->forget_time();
  (void)take_old();
  EXPECT_GE(peer.link->seen_empty_ns(), before);
  EXPECT_GE(take_old(), before);
  receiver_->tell_time(before - 1'000'000'000);
  (void)take_old();
  EXPECT_GE(peer.link->seen_empty_ns(), before) << "it was seen empty, whatever is told later";
}

// Not every receipt has a fence behind it, but a sender that is seen waiting for room is rung at
// once.
TEST_F(AloneTest, ASenderThatWaitsForRoomIsRungByTheNextReceipt) {
  Peer& peer = join(100);
  shm::StatusPage page{};
  page.sleep.publish(shm::next_sleep(0, shm::Sleep::kEvent));
  const os::UniqueFd event = test::must(os::create_event_fd());
  peer.link->set_bell({&page, event.get()});
  const auto is_rung = [&] {
    peer.say();
    receiver_->done(receiver_->take_alone());
    return os::wait_readable(event.get(), std::chrono::nanoseconds::zero());
  };
  for (std::uint32_t i = 0; i < 2 * kReceiptsPerFence; ++i) EXPECT_FALSE(is_rung());
  peer.own.view().control().space.relaxed_store(1);
  EXPECT_TRUE(is_rung());
}

TEST_F(AloneTest, TheOrderDecidesBetweenTwoMessages) {
  Peer& peer = join(100);
  peer.say_often(2);
  expect_left(2);
  Peer& other = join(101);
  peer.say();
  other.say();
  expect_left(2);
  peer.say();
  peer.say(Lane::kUrgent);
  expect_left(2);
  other.say(Lane::kUrgent);
  expect_left(1);
  for (const auto& [ordinary, urgent] : {std::pair(&peer, &other), std::pair(&other, &peer)}) {
    ordinary->say();
    urgent->say(Lane::kUrgent);
    expect_left(2);
  }
}

// The traces of one message, the same for both ways.
struct Left {
  std::uint64_t id;
  std::int64_t sent_ns;
  std::int32_t rank;
  std::uint64_t arrival;
  std::uint32_t live;
  std::uint64_t received;
  std::int64_t seen_empty_ns;
  std::uint64_t next_position;
  std::uint64_t receipt;
  bool removed;
  friend bool operator==(const Left&, const Left&) = default;
};

TEST_F(AloneTest, LeavesTheSameTracesAsTheUsualWay) {
  const auto take = [this](bool usual) {
    shm::HomeOptions options;
    options.rank_rule = shm::RankRule::kByRelation;
    start(options);
    Peer& peer = join(100);
    constexpr std::int64_t kHour = 3'600'000'000'000;
    shm::MessageHeader header = peer.sound();
    header.sent_ns += kHour;
    header.rank = shm::kRankCritical;  // the sender is no superior
    peer.publish(header);
    if (usual) receiver_->drain_all();
    const shm::EntryIndex at = usual ? receiver_->take() : receiver_->take_alone();
    const shm::Entry& entry = receiver_->entry(at);
    EXPECT_LE(entry.header.sent_ns, os::coarse_ns());
    InLink& link = *peer.link;
    link.set_owner_gone(true);
    // The clock gives these times.
    return Left{entry.header.id,
                entry.header.sent_ns / kHour,
                entry.header.rank,
                entry.arrival,
                link.live(),
                link.received(),
                link.seen_empty_ns() / kHour,
                link.position(shm::Lane::kNormal),
                peer.receipt(),
                receiver_->remove(link)};
  };
  const Left usual = take(true);
  EXPECT_EQ(usual.live, 1U);
  EXPECT_FALSE(usual.removed) << "its row would be another link's while the lease is held";
  EXPECT_EQ(take(false), usual);
}

TEST_F(AloneTest, AMessageThatIsMoreThanAPayloadGoesTheUsualWay) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.ttl_ms = 60'000;
  peer.publish(header);
  expect_left(1);
  peer.show_copy();
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
}

TEST_F(AloneTest, AQuestionIsTakenAloneAndKeepsItsMark) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.flags = shm::kFlagRequiresAck;
  peer.publish(header);
  const shm::EntryIndex at = receiver_->take_alone();
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_TRUE(receiver_->entry(at).is_question());
}

TEST_F(AloneTest, AMessageWithTooManyHopsBecomesADeadLetterTheUsualWay) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.hops = static_cast<std::uint16_t>(receiver_->home().home().control().max_hops + 1);
  peer.publish(header);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  receiver_->drain_all();
  EXPECT_EQ(receiver_->take(), shm::kNoEntry);
  EXPECT_EQ(receiver_->home().inbox().dead(), 1U);
}

TEST_F(AloneTest, ASlabThatCannotBeIsJudgedTheUsualWay) {
  const auto lie = [this](std::uint32_t slab, std::uint32_t length, std::uint64_t generation) {
    start({});
    Peer& peer = join(100);
    const send::TakenSlab known = peer.own.take_slab(1);  // its class is allocated
    ASSERT_TRUE(known);
    shm::MessageHeader header = peer.sound();
    header.flags = shm::kFlagSlab;
    header.slab = slab;
    header.length = length;
    peer.publish(header, Lane::kNormal, nullptr, generation);
    EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
    receiver_->drain_all();
    EXPECT_TRUE(peer.link->quarantined());
  };
  const shm::LinkLayout layout(test::kContract);
  lie(layout.total_slabs(), 1, 1);
  lie(shm::kNoSlab.value(), 1, 1);
  lie(layout.classes[0].count - 1, 1, 1);  // not allocated
  lie(0, 1, 0);
  lie(0, static_cast<std::uint32_t>(layout.classes[0].slab_bytes + 1), 1);
}

TEST_F(AloneTest, AnImpossibleMessageIsJudgedTheUsualWay) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.length = shm::kInlineBytes + 1;
  peer.publish(header);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  EXPECT_FALSE(peer.link->quarantined());
  receiver_->drain_all();
  EXPECT_TRUE(peer.link->quarantined());
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  Peer& other = join(101);
  other.say();
  EXPECT_NE(receiver_->take_alone(), shm::kNoEntry)
      << "what lies there for ever is in nobody's way";
}

TEST_F(AloneTest, NothingIsTakenFromALinkThatIsNotOpen) {
  Peer& peer = join(100);
  peer.say();
  InLink& link = *peer.link;
  const auto expect_closed = [this] { EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry); };
  link.set_may_send(false);
  expect_closed();
  link.set_may_send(true);
  const ReceiptSink sink = link.sink();
  link.show_receipts_in({});
  expect_closed();
  link.show_receipts_in(sink);
  link.begin_life(shm::kNoIncarnation);  // its owner rings a later life of ours
  peer.own.view().control().watching.publish(test::kReaderLife.value());
  expect_closed();
  link.begin_life(shm::Incarnation(~0ULL));
  EXPECT_NE(receiver_->take_alone(), shm::kNoEntry);
  peer.say();
  receiver_->quarantine(link, "a lie");
  expect_closed();
}

TEST_F(AloneTest, ALinkWithARateIsCountedTheUsualWay) {
  Peer& peer = join(100);
  peer.link->limit_rate(std::make_shared<limit::TokenBucket>(limit::kMinRate, 1));
  peer.say();
  expect_left(1);
}

TEST_F(AloneTest, WithoutAnOrdinaryPlaceItWaits) {
  Peer& peer = join(100);
  peer.say_often(test::kOrdinaryRoom);
  receiver_->drain_all();
  for (std::uint32_t i = 0; i < test::kOrdinaryRoom; ++i) {
    ASSERT_NE(receiver_->take(), shm::kNoEntry);
  }
  peer.say();
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  EXPECT_EQ(receiver_->home().inbox().leased(), test::kOrdinaryRoom);
}

TEST_F(AloneTest, AmongManyLinksTheTurnsDecide) {
  for (std::uint32_t pid = 101; pid <= 100 + kActiveLinks; ++pid) join(pid);
  join(100).say();
  expect_left(1);
}

}  // namespace
}  // namespace beeline::receive
