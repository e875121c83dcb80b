// A successor reads its predecessor's home and receipts as if a hostile writer had made them. It
// keeps sound parts and drops the others; only a fault of its own ends the takeover.

#include <fcntl.h>
#include <unistd.h>

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

constexpr std::uint32_t kPeerPid = 100;
constexpr int kNotOpen = 1 << 20;  // no process may open so many files

// The receiver of the fixture is the predecessor, with one peer.
class SuccessorTest : public test::ReceiverTest {
 protected:
  SuccessorTest() { begin({}); }

  void begin(shm::HomeOptions options, std::uint32_t capacity = test::kCapacity) {
    start(options, capacity);
    peer_ = &join(kPeerPid);
    receiver_->home().set_ready();
    next_ = std::make_unique<Receiver>(
        must(HomeMemory::create("test", kReaderPid, kReaderLife + 1, small_inbox())));
  }
  static shm::HomeOptions small_inbox() {
    shm::HomeOptions options;
    options.capacity = test::kCapacity;
    return options;
  }
  [[nodiscard]] const shm::Home& old() const { return receiver_->home().home(); }
  [[nodiscard]] Result<OldHome> accept(std::uint32_t pid = kReaderPid) const {
    return OldHome::accept(must(os::duplicate(receiver_->home().fd())), pid, kReaderLife);
  }
  [[nodiscard]] Predecessor predecessor() const { return {must(accept()), 4}; }
  // The successor's knowledge of the peer's link before it has read anything.
  [[nodiscard]] shm::InheritedLink inherited() const {
    shm::InheritedLink link;
    link.key = peer_->own.key();
    link.owner_pid = kPeerPid;
    link.layout = shm::LinkLayout(kContract);
    return link;
  }
  // The peer's link, as the successor maps it; receipts go to a new link of its own.
  InLink& continue_peer(shm::InheritedLink& known) {
    return *must(beeline::test::add_in_link(*next_, peer_->own, kPeerPid, known.cursors));
  }
  // The predecessor's own link to the peer.
  [[nodiscard]] OldReceipts old_receipts() const {
    return {must(os::duplicate(peer_->back.memory().fd())), peer_->back.key(), kContract};
  }
  Result<OldBank> read_old(shm::InheritedLink& link) const {
    return read_receipts(old_receipts(), kReaderPid, link);
  }
  // Takes everything over from the old home to the new one.
  Result<void> take_over() {
    Predecessor before = predecessor();
    shm::InheritedLink link = inherited();
    EXPECT_TRUE(before.home.read_row(link));
    InLink& in_link = continue_peer(link);
    EXPECT_TRUE(continue_link(*next_, in_link, link));
    before.links.push_back({.link = link});
    return inherit_home(*next_, before);
  }
  [[nodiscard]] std::uint64_t next_id() {
    const shm::EntryIndex at = next_->take();
    return at == shm::kNoEntry ? 0 : next_->entry(at).header.id;
  }

  Peer* peer_ = nullptr;
  std::unique_ptr<Receiver> next_;
};

// ---- The old home -------------------------------------------------------------------------------

TEST_F(SuccessorTest, AHomeIsKnownByItsSizeAndItsHeader) {
  const auto home = accept();
  ASSERT_TRUE(home) << home.error().text;
  EXPECT_EQ(home->capacity(), test::kCapacity);
  const auto foreign = accept(kReaderPid + 1);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::kBadSegment);
  old().header().ready.publish(0);
  EXPECT_FALSE(accept()) << "a copy that was never finished is nobody's home";
}

TEST_F(SuccessorTest, AFileThatFitsNoInboxIsNoHome) {
  const auto file = [](std::uint16_t major) {
    auto made = must(segment::Owned::create("home", 3 * shm::kPage, shm::kPage));
    auto& header = *reinterpret_cast<shm::SegmentHeader*>(made.data());
    shm::init_header(header, shm::home_identity(16, kReaderPid, kReaderLife));
    header.layout_major = major;
    return made;
  };
  const auto code_of = [](const segment::Owned& memory) {
    const auto home = OldHome::accept(must(os::duplicate(memory.fd())), kReaderPid, kReaderLife);
    return std::string(home ? "accepted" : to_string(home.error().code));
  };
  EXPECT_EQ(code_of(file(shm::kLayoutMajor)), to_string(ErrorCode::kBadSegment));
  EXPECT_EQ(code_of(file(shm::kLayoutMajor + 1)), to_string(ErrorCode::kWrongVersion));
}

TEST_F(SuccessorTest, ARowSaysHowFarItsLinkWasTaken) {
  peer_->say_often(3);
  peer_->say(Lane::kUrgent);
  receiver_->drain_all();
  shm::InheritedLink link = inherited();
  ASSERT_TRUE(must(accept()).read_row(link));
  EXPECT_EQ(link.cursors[0], 3U);
  EXPECT_EQ(link.cursors[1], 1U);
  EXPECT_GT(link.seen_empty_ns, 0);
  shm::InheritedLink unknown = inherited();
  ++unknown.key.serial;
  EXPECT_FALSE(must(accept()).read_row(unknown));
  EXPECT_EQ(unknown.cursors[0], 0U);
}

TEST_F(SuccessorTest, ATimeInARowIsNeitherNegativeNorToCome) {
  shm::InheritedLink link = inherited();
  shm::InRow& row = old().row(peer_->link->row());
  for (auto* const time : {&row.seen_empty_ns, &row.known_since_ns}) time->relaxed_store(INT64_MAX);
  ASSERT_TRUE(must(accept()).read_row(link));
  EXPECT_LE(link.seen_empty_ns, os::coarse_ns());
  EXPECT_LE(link.known_since_ns, os::coarse_ns());
  for (auto* const time : {&row.seen_empty_ns, &row.known_since_ns}) time->relaxed_store(INT64_MIN);
  ASSERT_TRUE(must(accept()).read_row(link));
  EXPECT_EQ(link.seen_empty_ns, 0);
  EXPECT_EQ(link.known_since_ns, 0);
}

// ---- Receipts -----------------------------------------------------------------------------------

TEST_F(SuccessorTest, ReceiptsAreFoundInTheOldLinkToThePeer) {
  peer_->say_often(3);
  peer_->say(Lane::kUrgent);
  receiver_->drain_all();
  shm::InheritedLink link = inherited();
  ASSERT_TRUE(read_old(link));
  EXPECT_EQ(link.receipts[0], 3U);
  EXPECT_EQ(link.receipts[1], 1U);
  EXPECT_FALSE(link.has_stamps) << "no slab was finished";
}

TEST_F(SuccessorTest, WithoutALinkWithoutABankAndFromALiarThereAreNoReceipts) {
  peer_->say();
  receiver_->drain_all();
  ASSERT_TRUE(ensure_stamps(peer_->link->sink()));
  const auto expect_none = [&](shm::InheritedLink link, OldReceipts old, const char* why) {
    EXPECT_TRUE(read_receipts(std::move(old), kReaderPid, link)) << why;
    EXPECT_EQ(link.receipts[0], 0U) << why;
    EXPECT_FALSE(link.has_stamps) << why;
  };
  expect_none(inherited(), {}, "there was no link");
  OldReceipts other = old_receipts();
  ++other.key.serial;
  expect_none(inherited(), std::move(other), "it is not what it was said to be");
  shm::InheritedLink unknown = inherited();
  ++unknown.key.serial;
  expect_none(unknown, old_receipts(), "no bank bears this name");
}

TEST_F(SuccessorTest, ReceiptsThatAnnounceStampsWithoutMemoryAreIgnored) {
  peer_->say();
  receiver_->drain_all();
  shm::InheritedLink link = inherited();
  peer_->back.view().bank(peer_->link->sink().bank).stamps_ready.publish(1);
  EXPECT_TRUE(read_old(link));
  EXPECT_FALSE(link.has_stamps);
  EXPECT_EQ(link.receipts[0], 0U);
  const auto& layout = peer_->back.view().layout();
  ASSERT_TRUE(peer_->back.memory().allocate(layout.stamps, shm::LinkLayout::kStampsBytes));
  EXPECT_TRUE(read_old(link));
  EXPECT_TRUE(link.has_stamps);
  EXPECT_EQ(link.receipts[0], 1U);
}

TEST_F(SuccessorTest, AFileThatCannotBeLookedAtIsAFaultOfOurOwn) {
  shm::InheritedLink link = inherited();
  const auto done =
      read_receipts({os::UniqueFd(kNotOpen), peer_->back.key(), kContract}, kReaderPid, link);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kSystem);
}

// ---- The peer's link ----------------------------------------------------------------------------

TEST_F(SuccessorTest, ALinkGoesOnWhereTheOldHomeHadTakenIt) {
  peer_->say_often(3);
  receiver_->drain_all();
  shm::InheritedLink link = inherited();
  ASSERT_TRUE(must(accept()).read_row(link));
  InLink& in_link = continue_peer(link);
  ASSERT_TRUE(continue_link(*next_, in_link, link));
  EXPECT_EQ(in_link.position(shm::Lane::kNormal), 3U);
  EXPECT_EQ(in_link.seen_empty_ns(), link.seen_empty_ns);
  EXPECT_EQ(link.new_row, in_link.row());
}

// A message that waits in a link is younger than the last look at all links, if that look included
// its link.
TEST_F(SuccessorTest, AMessageKeepsItsTimeWhereThePredecessorKnewItsLinkTooLate) {
  const std::int64_t now = os::coarse_ns();
  receiver_->note_all_empty(now);
  const auto time_of = [&](std::int64_t known_since_ns, std::int64_t said_ns) {
    shm::MessageHeader header = peer_->sound();
    header.sent_ns = said_ns;
    peer_->publish(header);
    old().row(peer_->link->row()).known_since_ns.relaxed_store(known_since_ns);
    next_ = std::make_unique<Receiver>(
        must(HomeMemory::create("test", kReaderPid, kReaderLife + 1, small_inbox())));
    EXPECT_TRUE(take_over());
    next_->links().all()[0]->set_owner_gone(true);  // nobody needs receipts
    next_->drain_all();
    return next_->entry(next_->take()).header.sent_ns;
  };
  EXPECT_EQ(time_of(now, now - 1000), now - 1000);
  EXPECT_EQ(time_of(now - 1, now - 1000), now);
}

TEST_F(SuccessorTest, AnOwnerThatLiesAboutItsMemoryIsQuarantinedAndTheRestGoesOn) {
  peer_->own.view().control().slabs_allocated[0].publish(8);
  shm::InheritedLink link = inherited();
  InLink& in_link = continue_peer(link);
  EXPECT_TRUE(continue_link(*next_, in_link, link));
  EXPECT_TRUE(in_link.quarantined());
  EXPECT_STREQ(in_link.fault(), kLieAboutMemory);
}

TEST_F(SuccessorTest, WithoutAnAnswerOfTheKernelTheTakeOverEnds) {
  (void)peer_->intern("a type");
  shm::InheritedLink link = inherited();
  InLink& in_link = continue_peer(link);
  const int fd = in_link.memory().fd();
  const os::UniqueFd kept = must(os::duplicate(fd));
  ASSERT_EQ(::close(fd), 0);
  const auto done = continue_link(*next_, in_link, link);
  ASSERT_EQ(::dup3(kept.get(), fd, O_CLOEXEC), fd);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kNoMemory);
  EXPECT_FALSE(in_link.quarantined()) << "that is no fault of the peer";
}

TEST_F(SuccessorTest, NewReceiptsStartFromTheOldOnes) {
  peer_->say_often(2);
  receiver_->drain_all();
  ASSERT_TRUE(ensure_stamps(peer_->link->sink()));
  peer_->back.view().stamp(peer_->link->sink().bank, shm::SlabIndex(5)).publish(9);
  shm::InheritedLink link = inherited();
  ASSERT_TRUE(read_old(link));
  ASSERT_TRUE(must(accept()).read_row(link));
  EXPECT_TRUE(continue_receipts({}, link)) << "no link to the peer yet: nothing to do";
  const send::OutLink fresh = test::make_link(kReaderPid, kPeerPid, {kReaderLife + 1, 1});
  const ReceiptSink sink{&fresh.view(), &fresh.memory(), 0};
  ASSERT_TRUE(continue_receipts(sink, link));
  EXPECT_EQ(fresh.view().find_bank(link.key), 0U);
  EXPECT_EQ(fresh.view().bank(0).cursors[0].observe(), 2U);
  EXPECT_EQ(fresh.view().stamp(0, shm::SlabIndex(5)).observe(), 9U);
  const segment::Owned small = must(segment::Owned::create("small", shm::kPage, shm::kPage));
  const ReceiptSink elsewhere{&fresh.view(), &small, 1};
  const auto done = continue_receipts(elsewhere, link);
  ASSERT_FALSE(done) << "there is no memory for its stamps";
  EXPECT_EQ(done.error().code, ErrorCode::kNoMemory);
  link.has_stamps = false;
  EXPECT_TRUE(continue_receipts(elsewhere, link)) << "without old stamps it needs none";
}

// The coordinator allowed the predecessor to forget the link, and it may have done so.
TEST_F(SuccessorTest, TheRowOfALinkSaysWhetherThePredecessorForgotIt) {
  peer_->say();
  receiver_->drain_all();
  const send::OutLink fresh = test::make_link(kReaderPid, kPeerPid, {kReaderLife + 1, 1});
  const auto inherit = [&](Predecessor& before, bool released) {
    auto link = std::make_unique<InLink>(must(beeline::test::map_link(peer_->own, kPeerPid)),
                                         kContract, LinkOwner{peer_->own.key(), kPeerPid, {}});
    link->show_receipts_in({&fresh.view(), &fresh.memory(), shm::vacant_bank(fresh.view())});
    link->begin_at(0, 77);
    return must(inherit_link(*next_, before, std::move(link), old_receipts(), released));
  };
  Predecessor before = predecessor();
  const InLink* kept = inherit(before, true);
  ASSERT_NE(kept, nullptr) << "what it holds of the link is left";
  EXPECT_EQ(kept->position(shm::Lane::kNormal), 1U);
  EXPECT_EQ(kept->known_since_ns(), 0) << "as its row says";
  EXPECT_EQ(before.links.size(), 1U);

  shm::close_row(old().control(), old().row(peer_->link->row()));
  Predecessor later = predecessor();
  EXPECT_EQ(inherit(later, true), nullptr) << "all of it was taken, nothing is taken again";
  EXPECT_TRUE(later.links.empty());
  EXPECT_EQ(shm::vacant_bank(fresh.view()), 1U) << "only the first has receipts";
  const InLink* unknown = inherit(later, false);
  ASSERT_NE(unknown, nullptr) << "it may never have heard of the link";
  EXPECT_EQ(unknown->position(shm::Lane::kNormal), 1U) << "the receipts say it";
  EXPECT_EQ(unknown->known_since_ns(), 77);
  EXPECT_EQ(next_->home().home().row(unknown->row()).known_since_ns.relaxed_load(), 77);
}

// ---- The inbox ----------------------------------------------------------------------------------

TEST_F(SuccessorTest, EntriesThatLeadNowhereAreLeftBehind) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(peer_->say());
  receiver_->drain_all();
  std::vector<shm::EntryIndex> entries(5);
  for (shm::EntryIndex at(0); at.value() < test::kCapacity; ++at) {
    const std::uint64_t id = old().entry(at).header.id;
    if (id != 0) entries[shm::counter_of_message(id) - 1] = at;
  }
  const auto change = [&](std::size_t message, auto&& how) {
    shm::Entry& entry = old().entry(entries[message]);
    shm::EntryWord word = entry.word();
    how(word);
    entry.state.publish(word.pack());
  };
  change(0, [](shm::EntryWord& word) { word.row = shm::RowIndex(5); });  // a vacant row
  change(1, [](shm::EntryWord& word) {
    word.row = shm::RowIndex(shm::kNoRow.value() - 1);
  });                                                                        // beyond all rows
  change(2, [](shm::EntryWord& word) { word.position += 1000; });            // was never committed
  change(3, [](shm::EntryWord& word) { word.state = shm::EntryState(7); });  // no state
  const auto done = take_over();
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(next_id(), ids[4]);
  EXPECT_EQ(next_id(), 0U);
}

TEST_F(SuccessorTest, AMessageThatItsSenderTookBackMeanwhileIsADeadLetterAndTheSenderIsTold) {
  shm::MessageHeader header = peer_->sound();
  header.flags = shm::kFlagRequiresAck;
  const std::uint64_t id = peer_->publish(header);
  const std::uint64_t leased = peer_->say();
  Peer& other = join(kPeerPid + 1);
  const std::uint64_t forgotten = other.say();  // the successor is not told of this link
  receiver_->drain_all();
  for (shm::EntryIndex at = receiver_->take(); at != shm::kNoEntry; at = receiver_->take()) {
    if (receiver_->entry(at).header.id == id) receiver_->home().inbox().mark_cancelled(at);
  }
  ASSERT_NE(forgotten, 0U);
  const auto done = take_over();
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_NE(next_->entries().find_dead(id), shm::kNoEntry);
  const auto refused = next_->kept().take_refused();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].id, id);
  EXPECT_EQ(refused[0].why, shm::to_string(shm::DeadReason::kCancelled));
  EXPECT_EQ(next_id(), leased) << "what was being handled comes again";
  EXPECT_EQ(next_id(), 0U);
}

TEST_F(SuccessorTest, AnInboxThatIsTooSmallForTheOldOneEndsTheTakeOver) {
  begin({}, 4 * test::kCapacity);
  peer_->say_often(test::kCapacity + 1);
  receiver_->drain_all();
  const auto done = take_over();
  ASSERT_FALSE(done);
  EXPECT_EQ(to_string(done.error().code), to_string(ErrorCode::kFull));
}

}  // namespace
}  // namespace beeline::receive
