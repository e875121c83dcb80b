// A sender's half of a link: slabs, strings, and its judgement of receipts that another process
// writes.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::must;
using test::Peer;

constexpr std::uint32_t kFarPid = 100;

class OutLinkTest : public test::ReceiverTest {
 protected:
  OutLinkTest() {
    peer_ = &join(kFarPid);
    link_ = &peer_->own;
    shown_.emplace(peer_->back.memory().data(), test::kContract);
    link_->receipts.opposite = &*shown_;
    link_->find_receipts();
  }
  // Publishes through the link itself.
  void send(std::uint16_t flags = 0) {
    shm::MessageHeader header = peer_->sound();
    header.flags = flags;
    if (flags == shm::kFlagSlab) {
      const auto loan = link_->take_slab(100);
      ASSERT_TRUE(loan);
      header.slab = loan->slab.value();
      header.length = 100;
      link_->slabs.mark_out(*loan);
      peer_->publish(header, Lane::kNormal, nullptr, loan->generation);
    } else {
      peer_->publish(header);
    }
    link_->lanes[0].advance();
  }
  // The bank in which the reader writes its receipts for this link.
  [[nodiscard]] shm::ReceiptBank& bank() {
    return peer_->back.view().bank(peer_->link->sink().bank);
  }
  void show_stamp(shm::SlabIndex slab, std::uint64_t generation) {
    ASSERT_TRUE(ensure_stamps(peer_->link->sink()));
    peer_->back.view().stamp(peer_->link->sink().bank, slab).publish(generation);
  }

  Peer* peer_ = nullptr;
  std::optional<shm::LinkView> shown_;  // the reader's link, as the sender maps it
  send::OutLink* link_ = nullptr;
};

TEST_F(OutLinkTest, ANameThatIsTooLongIsNoSegment) {
  EXPECT_FALSE(send::OutLink::create(std::string(300, 'x'), 1, 2, {shm::Incarnation(1), 1},
                                     test::kContract));
}

TEST_F(OutLinkTest, ASlabIsOfTheClassThatFitsOrOfTheNext) {
  EXPECT_EQ(link_->take_slab(shm::kMinMaxPayload + 1).status(), SendStatus::kTooBig);
  const auto& classes = link_->view().layout().classes;
  for (std::uint32_t i = 0; i < classes[0].count + classes[1].count; ++i) {
    const auto loan = link_->take_slab(1);
    ASSERT_TRUE(loan) << i;
    EXPECT_EQ(link_->view().layout().class_of(loan->slab), i < classes[0].count ? 0U : 1U);
  }
  const auto none = link_->take_slab(1);
  ASSERT_FALSE(none) << "the memory of the large ones stays theirs";
  EXPECT_EQ(none.status(), SendStatus::kFull);
}

TEST_F(OutLinkTest, CopiesLeaveHalfOfTheirClassToMessages) {
  EXPECT_EQ(link_->take_copy_slab(shm::kMinMaxPayload + shm::kPage + 1).status(),
            SendStatus::kTooBig);
  const std::uint32_t half = link_->view().layout().classes[0].count / 2;
  std::optional<shm::SlabPool::Loan> first;
  for (std::uint32_t i = 0; i < half; ++i) {
    const auto loan = link_->take_copy_slab(1);
    ASSERT_TRUE(loan);
    if (!first) first = *loan;
  }
  EXPECT_EQ(link_->take_copy_slab(1).status(), SendStatus::kFull);
  link_->slabs.mark_out(*first);
  show_stamp(first->slab, first->generation);
  link_->receipts.bank = shm::kBanks;  // the bank was not known yet
  EXPECT_TRUE(link_->take_copy_slab(1)) << "one has come back";
}

TEST_F(OutLinkTest, ASlabThatTheReaderHasFinishedIsTakenAgain) {
  std::vector<shm::SlabPool::Loan> loans;
  for (auto loan = link_->take_slab(shm::kMinMaxPayload); loan;
       loan = link_->take_slab(shm::kMinMaxPayload)) {
    loans.push_back(*loan);
    link_->slabs.mark_out(*loan);
  }
  link_->receipts.bank = shm::kBanks;
  show_stamp(loans[1].slab, loans[1].generation);
  const auto again = link_->take_slab(shm::kMinMaxPayload);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->slab, loans[1].slab);
}

TEST_F(OutLinkTest, AClassThatIsInUseAllTheTimeGetsAFewSlabs) {
  // The number of slabs after this many payloads of this size have come and gone one by one.
  const auto slabs_after = [this](send::OutLink& link, std::uint64_t bytes, int times) {
    for (int i = 0; i < times; ++i) {
      const auto loan = link.take_slab(bytes);
      EXPECT_TRUE(loan);
      link.slabs.mark_out(*loan);
      show_stamp(loan->slab, loan->generation);
    }
    return link.slabs.allocated(link.slabs.class_for(bytes));
  };
  constexpr std::uint64_t kBytes = 8192;  // of the second class, which allocates slabs one by one
  EXPECT_EQ(slabs_after(*link_, kBytes, 10), 1U) << "a few of them need no more than one";
  EXPECT_EQ(slabs_after(*link_, kBytes, 1000), 4U);

  constexpr std::uint64_t kLarge = 16ULL << 20;
  auto large = send::OutLink::create("test", kFarPid, 1, link_->key(), {8, 4, kLarge});
  ASSERT_TRUE(large);
  large->receipts.opposite = &*shown_;
  EXPECT_EQ(slabs_after(*large, kLarge, 1000), 1U) << "two of them would be too much memory";
}

TEST_F(OutLinkTest, SmallSlabsAreAddedInGrowingSteps) {
  const std::uint32_t all = link_->view().layout().classes[0].count;
  std::vector<std::uint32_t> steps;
  for (std::uint32_t i = 0; i < all; ++i) {
    ASSERT_TRUE(link_->take_slab(1));
    const std::uint32_t now = link_->slabs.allocated(0);
    if (steps.empty() || steps.back() != now) steps.push_back(now);
  }
  EXPECT_EQ(steps, (std::vector<std::uint32_t>{8, 16, 32, 64, 128}));
}

TEST_F(OutLinkTest, StringsAreInternedOnceAndSurplusOnesAreCarried) {
  const auto number = link_->intern("task");
  ASSERT_TRUE(number);
  EXPECT_EQ(*link_->intern("task"), *number);
  EXPECT_EQ(link_->intern(std::string(shm::kMaxStringLength + 1, 'x')).error(),
            SendStatus::kTooBig);
  // The types that the engine acts on keep a place.
  constexpr std::uint32_t kFree = shm::kMaxStrings - 3;
  for (std::uint32_t i = 1; i < kFree / 2; ++i) {
    ASSERT_EQ(*link_->intern_for_copy("type " + std::to_string(i)), i + 1);
  }
  EXPECT_NE(*link_->intern_for_copy("one more"), shm::kCarriedText);
  EXPECT_EQ(*link_->intern_for_copy("two more"), shm::kCarriedText);
  for (std::uint32_t i = kFree / 2 + 1; i < kFree; ++i) {
    ASSERT_EQ(*link_->intern("type " + std::to_string(i)), i + 1);
  }
  EXPECT_EQ(*link_->intern("three more"), shm::kCarriedText);
  EXPECT_EQ(*link_->intern("task"), *number);
  for (const std::string_view text : {kEscalation, kCancelOrder, kTaskResponse}) {
    EXPECT_LE(*link_->intern(text), shm::kMaxStrings);
  }
}

// ---- Receipts -----------------------------------------------------------------------------------

TEST_F(OutLinkTest, ReceiptsTellTheNumberOfUntakenMessages) {
  for (int i = 0; i < 3; ++i) send();
  link_->awaited[0] = 2;  // the third is a copy
  EXPECT_EQ(link_->not_taken(), 3U);
  EXPECT_EQ(link_->still_awaited(), 2U);
  bank().cursors[0].publish(2);
  EXPECT_EQ(link_->not_taken(), 1U);
  EXPECT_EQ(link_->still_awaited(), 0U);
  bank().cursors[0].publish(3);
  EXPECT_EQ(link_->still_awaited(), 0U);
  EXPECT_FALSE(link_->was_lied_to());
}

TEST_F(OutLinkTest, AReceiptThatCannotBeIsALieAndNothingIsTaken) {
  send();
  bank().cursors[0].publish(2);
  EXPECT_EQ(link_->not_taken(), 1U);
  EXPECT_TRUE(link_->was_lied_to());
}

TEST_F(OutLinkTest, AnUrgentReceiptAndAStampThatCannotBeAreLiesToo) {
  bank().cursors[1].publish(1);
  (void)link_->not_taken();
  EXPECT_TRUE(link_->was_lied_to());
  bank().cursors[1].publish(0);
  link_->find_receipts();
  EXPECT_FALSE(link_->was_lied_to());
  send(shm::kFlagSlab);
  show_stamp(shm::SlabIndex(0), 77);
  link_->drop_receipts();
  EXPECT_EQ(link_->slabs.out(), 1U) << "a lie frees nothing";
}

// The reader took this life for dead.
TEST_F(OutLinkTest, ABankThatBelongsToAnotherByNowTellsNoLie) {
  bank().cursors[0].publish(2);
  (void)link_->not_taken();
  shm::close_bank(bank());
  shm::open_bank(bank(), {shm::Incarnation(4711), 1}, 2, 0);
  EXPECT_FALSE(link_->was_lied_to());
  EXPECT_EQ(link_->receipts.bank, shm::kBanks);
  bank().cursors[0].publish(3);
  EXPECT_FALSE(link_->was_lied_to()) << "nobody's receipts are read";
}

TEST_F(OutLinkTest, WithoutReceiptsNothingWasTaken) {
  send();
  link_->receipts = {};
  EXPECT_EQ(link_->not_taken(), 1U);
  EXPECT_EQ(link_->receipt(Lane::kNormal), nullptr);
  link_->drop_receipts();
}

TEST_F(OutLinkTest, ANewLifeOfTheReaderGoesOnFromTheOneBefore) {
  send(shm::kFlagSlab);
  send();
  send(shm::kFlagSlab);
  bank().cursors[0].publish(2);  // the second slab is not taken
  const send::OutLink next =
      test::make_link(test::kReaderPid, kFarPid, {shm::Incarnation(6000), 1});
  const shm::LinkView shown(next.memory().data(), test::kContract);
  const auto turn = [&](shm::Incarnation first_life) {
    link_->first_life = first_life;
    link_->turn_to(shown, shm::Incarnation(6000));
  };
  turn(shm::kNoIncarnation);
  EXPECT_EQ(link_->receipts.bank, shm::kBanks) << "it shows none for us";
  EXPECT_EQ(link_->lanes[0].cursor(), 0U) << "what the one before says is heard no more";
  const ReceiptSink sink{&next.view(), &next.memory(), 0};
  ASSERT_TRUE(ensure_stamps(sink));
  for (shm::SlabIndex slab(0); slab.value() < 2; ++slab) next.view().stamp(0, slab).publish(99);
  shm::open_bank(next.view().bank(0), link_->key(), 2, 0);
  link_->receipts.opposite = nullptr;
  turn(shm::kNoIncarnation);
  EXPECT_EQ(link_->slabs.out(), 1U) << "a stamp above all is void; what lies in a lane is not free";
  turn(shm::Incarnation(6000));
  EXPECT_EQ(link_->receipts.bank, 0U);
}

}  // namespace
}  // namespace beeline::receive
