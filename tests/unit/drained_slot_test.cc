// A slot on its way into the table: sound slots, slots that lie, and slots without memory.

#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::Peer;

class SlotTest : public test::ReceiverTest {};

// A sound header of a message with its payload in a slab.
shm::MessageHeader in_slab(const Peer& peer, shm::SlabIndex slab) {
  shm::MessageHeader header = peer.sound();
  header.flags = shm::kFlagSlab;
  header.slab = slab.value();
  return header;
}

// ---- Sound slots --------------------------------------------------------------------------------

TEST_F(SlotTest, OnlyASuperiorGivesOrders) {
  Peer& above = join(100);
  Peer& other = join(101);
  above.link->set_relation(Relation::kChild, true);
  const std::uint64_t order = above.order(0, 0);
  const std::uint64_t forged = other.order(0, 0);
  receiver_->drain_turn();
  std::size_t count = 0;
  for (shm::EntryIndex at = receiver_->take(); at != shm::kNoEntry; at = receiver_->take()) {
    const shm::MessageHeader& header = receiver_->entry(at).header;
    EXPECT_TRUE(header.id == order || header.id == forged);
    EXPECT_EQ((header.flags & shm::kFlagControl) != 0, header.id == order);
    ++count;
  }
  EXPECT_EQ(count, 2U) << "a forged order comes too, as a message like any other";
}

TEST_F(SlotTest, TheRelationDecidesHowUrgentAMessageMayBe) {
  start({.rank_rule = shm::RankRule::kByRelation});
  Peer& child = join(100);
  const auto rank_of = [&](const shm::MessageHeader& header, const void* area = nullptr) {
    child.publish(header, Lane::kNormal, area);
    receiver_->drain_turn();
    const shm::EntryIndex at = receiver_->take();
    if (at == shm::kNoEntry) return std::int32_t{-1};
    const std::int32_t rank = receiver_->entry(at).header.rank;
    receiver_->done(at);
    return rank;
  };
  shm::MessageHeader header = child.sound();
  header.rank = -1'000'000;
  EXPECT_EQ(rank_of(header), kCritical);
  header = child.sound();
  header.rank = kLow + 5;
  EXPECT_EQ(rank_of(header), kLow) << "a child asks for less than it may";
  header = child.sound();
  header.rank = kLow;
  header.type = child.intern(kEscalation);
  EXPECT_EQ(rank_of(header), kHigh) << "an escalation is never less";
  child.show_copy();
  receiver_->drain_turn();
  const shm::EntryIndex at = receiver_->take();
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_EQ(receiver_->entry(at).header.rank, kLow) << "a copy is never more";
}

TEST_F(SlotTest, AMessageIsNeverOlderThanWhenItsLaneWasSeenEmpty) {
  Peer& known = join(100);
  Peer& fresh = join(101);
  const std::int64_t now = os::coarse_ns();
  // The last look at all links was in this tick, before the link was known.
  fresh.link->begin_at(now - 500, now);
  receiver_->note_all_empty(now);
  const auto sent_of = [&](Peer& peer, std::int64_t claimed) {
    shm::MessageHeader header = peer.sound();
    header.sent_ns = claimed;
    peer.publish(header);
    receiver_->drain_from(peer.pid);
    const shm::EntryIndex at = receiver_->take();
    if (at == shm::kNoEntry) {
      ADD_FAILURE() << "nothing came from agent " << peer.pid;
      return std::int64_t{-1};
    }
    const std::int64_t sent = receiver_->entry(at).header.sent_ns;
    receiver_->done(at);
    return sent;
  };
  EXPECT_EQ(sent_of(known, now - 1000), now);
  EXPECT_EQ(sent_of(fresh, now - 1000), now - 500);
  EXPECT_LE(sent_of(known, INT64_MAX), os::coarse_ns());
}

// ---- Bad slots and missing memory ---------------------------------------------------------------

TEST_F(SlotTest, ALieInTheUrgentLaneEndsTheNormalOneToo) {
  Peer& liar = join(100);
  Peer& honest = join(101);
  shm::MessageHeader header = liar.sound();
  header.id = shm::make_message_id(101, 1);
  liar.publish(header, Lane::kUrgent);
  liar.say();
  honest.say();
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_TRUE(liar.link->quarantined());
  EXPECT_STREQ(liar.link->fault(), shm::to_string(shm::SlotFault::kForeignId));
  EXPECT_EQ(liar.receipt(), 0U);
  EXPECT_EQ(honest.receipt(), 1U);
  EXPECT_EQ(counters().bad_slots.observe(), 1U);
}

TEST_F(SlotTest, MemoryThatWasAnnouncedAfterTheLastLookIsFound) {
  Peer& peer = join(100);
  const auto loan = peer.own.take_slab(500);
  ASSERT_TRUE(loan);
  std::memset(peer.own.slab_bytes(*loan), 'x', 500);
  shm::MessageHeader header = in_slab(peer, loan->slab);
  header.length = 500;
  header.type = peer.intern("a type");
  const std::uint64_t id = peer.publish(header, Lane::kNormal, nullptr, loan->generation);
  EXPECT_TRUE(receiver_->drain_turn());
  const shm::EntryIndex at = receiver_->take();
  ASSERT_NE(at, shm::kNoEntry);
  EXPECT_EQ(receiver_->entry(at).header.id, id);
  EXPECT_EQ(receiver_->entries().type(at).view(), "a type");
  EXPECT_EQ(receiver_->payload(at)[499], std::byte{'x'});
  receiver_->done(at);
  EXPECT_EQ(peer.back.view().stamp(peer.link->sink().bank, loan->slab).observe(), loan->generation);
}

TEST_F(SlotTest, AMessageInASlabOfADeadSenderNeedsNoStamp) {
  Peer& peer = join(100);
  const auto loan = peer.own.take_slab(500);
  ASSERT_TRUE(loan);
  shm::MessageHeader header = in_slab(peer, loan->slab);
  header.length = 500;
  const std::uint64_t id = peer.publish(header, Lane::kNormal, nullptr, loan->generation);
  close_receipts(*peer.link);
  peer.link->set_owner_gone(true);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(finish_one(), id);
  EXPECT_TRUE(peer.link->faded());
}

TEST_F(SlotTest, MemoryThatIsAnnouncedAndNotThereEndsTheLink) {
  Peer& peer = join(100);
  peer.own.view().control().slabs_allocated[0].publish(8);
  shm::MessageHeader header = in_slab(peer, shm::SlabIndex(0));
  peer.publish(header, Lane::kNormal, nullptr, 1);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_TRUE(peer.link->quarantined());
  EXPECT_STREQ(peer.link->fault(), kLieAboutMemory);
}

// If the kernel refuses us something, the peer is not to blame: the message waits.
TEST_F(SlotTest, AFaultOfOurOwnIsNotBlamedOnThePeer) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.type = peer.intern("a type");
  peer.publish(header);
  const int fd = peer.link->memory().fd();
  const os::UniqueFd kept = test::must(os::duplicate(fd));
  ASSERT_EQ(::close(fd), 0);
  EXPECT_FALSE(receiver_->drain_turn());
  EXPECT_FALSE(peer.link->quarantined());
  EXPECT_EQ(peer.receipt(), 0U);
  ASSERT_EQ(::dup3(kept.get(), fd, O_CLOEXEC), fd);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(peer.receipt(), 1U);
}

// No slab is taken that could not be given back.
TEST_F(SlotTest, AMessageInASlabWaitsUntilThereIsMemoryForItsStamp) {
  Peer& peer = join(100);
  const auto loan = peer.own.take_slab(500);
  ASSERT_TRUE(loan);
  shm::MessageHeader header = in_slab(peer, loan->slab);
  peer.publish(header, Lane::kNormal, nullptr, loan->generation);
  const segment::Owned small = test::must(segment::Owned::create("small", shm::kPage, shm::kPage));
  const ReceiptSink whole = peer.link->sink();
  peer.link->show_receipts_in({whole.own, &small, whole.bank});
  EXPECT_FALSE(receiver_->drain_turn()) << "the stamps lie beyond what can be allocated";
  EXPECT_FALSE(peer.link->quarantined());
  peer.link->show_receipts_in(whole);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(peer.receipt(), 1U);
}

}  // namespace
}  // namespace beeline::receive
