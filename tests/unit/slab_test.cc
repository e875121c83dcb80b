#include "shm/slab.h"

#include <gtest/gtest.h>

#include <bitset>
#include <optional>
#include <random>
#include <set>

#include "tests/unit/segment_memory.h"

namespace beeline::shm {
namespace {

using test::kInKey;
using test::kSmallContract;

constexpr std::size_t kBank = 2;  // any but the first

// A pool of the sender, and the receiver's link, where the stamps lie.
class SlabPoolTest : public testing::Test {
 protected:
  SlabPoolTest() {
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      pool_.set_allocated(i, pool_layout_.classes[i].count);
    }
    open_bank(receipts_.link.bank(kBank), kInKey, 0, 0);
    receipts_.link.bank(kBank).stamps_ready.publish(1);
  }
  void receiver_stamps(const SlabPool::Loan& loan) {
    stamp(receipts_.link.stamp(kBank, loan.slab), loan.generation);
  }
  std::uint32_t collect(std::size_t slab_class) {
    return pool_.collect(slab_class, receipts_.view, kBank);
  }
  SlabPool::Loan send_one(std::size_t slab_class) {
    const SlabPool::Loan loan = pool_.take(slab_class);
    EXPECT_NE(loan.slab, kNoSlab);
    pool_.mark_out(loan);
    return loan;
  }
  LinkLayout pool_layout_{kSmallContract};
  SlabPool pool_{pool_layout_};
  test::LinkMemory receipts_;
};

TEST_F(SlabPoolTest, TheSmallestClassThatFitsIsChosen) {
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    if (pool_layout_.classes[i].count == 0) continue;
    const std::uint64_t bytes = pool_layout_.classes[i].slab_bytes;
    EXPECT_EQ(pool_.class_for(bytes), i);
    EXPECT_GT(pool_.class_for(bytes + 1), i);
  }
  EXPECT_EQ(pool_.class_for(0), 0U);
  EXPECT_EQ(pool_.class_for(kMinMaxPayload + kPage + 1), kSlabClasses);
  EXPECT_EQ(pool_.class_for(~0ULL), kSlabClasses);
}

TEST_F(SlabPoolTest, NothingIsTakenFromAClassWithoutMemory) {
  pool_.set_allocated(0, 0);
  EXPECT_EQ(pool_.take(0).slab, kNoSlab);
}

TEST_F(SlabPoolTest, GrowingAClassGivesTheNewSlabsOnce) {
  pool_.set_allocated(0, 1);
  EXPECT_EQ(pool_.take(0).slab, SlabIndex(0));
  EXPECT_EQ(pool_.take(0).slab, kNoSlab);
  pool_.set_allocated(0, 3);
  std::set<SlabIndex> taken{pool_.take(0).slab, pool_.take(0).slab};
  EXPECT_EQ(taken, (std::set{SlabIndex(1), SlabIndex(2)}));
  EXPECT_EQ(pool_.take(0).slab, kNoSlab);
}

TEST_F(SlabPoolTest, EverySlabOfAClassIsTakenOnceThenNone) {
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    const SlabClass& slabs = pool_layout_.classes[i];
    std::set<SlabIndex> taken;
    for (std::uint32_t n = 0; n < slabs.count; ++n) taken.insert(pool_.take(i).slab);
    EXPECT_EQ(taken.size(), slabs.count);
    if (slabs.count != 0) {
      EXPECT_EQ(*taken.begin(), SlabIndex(slabs.first));
      EXPECT_EQ(*taken.rbegin(), SlabIndex(slabs.first + slabs.count - 1));
    }
    EXPECT_EQ(pool_.take(i).slab, kNoSlab);
  }
}

// Each slab gets its turn, whatever their number, also after the class grew in the middle of a
// turn.
TEST_F(SlabPoolTest, AllSlabsOfAClassTakeTurns) {
  const std::uint32_t most = pool_layout_.classes[0].count;
  for (std::uint32_t count = 1; count <= most; ++count) {
    pool_.set_allocated(0, count);
    std::set<SlabIndex> taken;
    for (std::uint32_t n = 0; n < count; ++n) {
      const SlabPool::Loan loan = pool_.take(0);
      taken.insert(loan.slab);
      pool_.put_back(loan);
    }
    EXPECT_EQ(taken.size(), count);
    for (std::uint32_t n = 0; n < count / 2; ++n) pool_.put_back(pool_.take(0));
  }
}

// The CPU of a reader prefetches the slab behind the one that it reads, so that slab should not be
// the next one to be written.
TEST_F(SlabPoolTest, TheNextOfFiveOrMoreSlabsIsNotTheNeighbourOfTheLastOne) {
  for (std::uint32_t count = 5; count <= pool_layout_.classes[0].count; ++count) {
    pool_.set_allocated(0, count);
    const SlabPool::Loan first = pool_.take(0);
    pool_.put_back(first);
    SlabIndex last = first.slab;
    for (std::uint32_t n = 0; n < 2 * count; ++n) {
      const SlabIndex promised = pool_.next(0);
      const SlabPool::Loan loan = pool_.take(0);
      pool_.put_back(loan);
      EXPECT_EQ(loan.slab, promised);
      EXPECT_NE(loan.slab, SlabIndex(last.value() + 1)) << "of " << count;
      last = loan.slab;
    }
  }
}

TEST_F(SlabPoolTest, EachLoanOfASlabHasAHigherGeneration) {
  pool_.set_allocated(0, 1);
  std::uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    const SlabPool::Loan loan = pool_.take(0);
    EXPECT_GT(loan.generation, last);
    last = loan.generation;
    pool_.put_back(loan);
  }
}

TEST_F(SlabPoolTest, AStampFreesTheSlabOnceHoweverOftenItIsRepeated) {
  const SlabPool::Loan loan = send_one(0);
  receiver_stamps(loan);
  receiver_stamps(loan);
  EXPECT_EQ(collect(0), 1U);
  receiver_stamps(loan);
  EXPECT_EQ(collect(0), 0U);
  EXPECT_EQ(pool_.out(), 0U);
}

TEST_F(SlabPoolTest, AStampOfTheLoanBeforeDoesNotFreeTheNextOne) {
  pool_.set_allocated(0, 1);
  const SlabPool::Loan first = send_one(0);
  receiver_stamps(first);
  ASSERT_EQ(collect(0), 1U);
  const SlabPool::Loan second = send_one(0);
  ASSERT_EQ(second.slab, first.slab);
  receiver_stamps(first);  // a killed receiver's successor says it again
  EXPECT_EQ(collect(0), 0U);
  EXPECT_EQ(pool_.take(0).slab, kNoSlab);
  receiver_stamps(second);
  EXPECT_EQ(collect(0), 1U);
  EXPECT_FALSE(pool_.lied_to());
}

TEST_F(SlabPoolTest, AStampAboveEveryGenerationIsALieAndFreesNothing) {
  const SlabPool::Loan loan = send_one(0);
  for (const std::uint64_t lie : {loan.generation + 1, ~std::uint64_t{0}, std::uint64_t{0}}) {
    receipts_.link.stamp(kBank, loan.slab).publish(lie);
    EXPECT_EQ(collect(0), 0U) << lie;
  }
  EXPECT_TRUE(pool_.lied_to());
  pool_.listen_anew();
  EXPECT_FALSE(pool_.lied_to());
}

TEST_F(SlabPoolTest, StampsOfSlabsThatAreNotOutFreeNothing) {
  const SlabPool::Loan loan = pool_.take(0);
  receiver_stamps(loan);
  EXPECT_EQ(collect(0), 0U) << "only loaned";
  pool_.put_back(loan);
  EXPECT_EQ(collect(0), 0U) << "free already";
  EXPECT_EQ(pool_.out(), 0U);
}

TEST_F(SlabPoolTest, StampsOfAnotherBankFreeNothing) {
  const SlabPool::Loan loan = send_one(0);
  stamp(receipts_.link.stamp(kBank + 1, loan.slab), loan.generation);
  EXPECT_EQ(collect(0), 0U);
}

TEST_F(SlabPoolTest, CollectingOneClassLeavesTheOthers) {
  const SlabPool::Loan small = send_one(0);
  const SlabPool::Loan medium = send_one(1);
  receiver_stamps(small);
  receiver_stamps(medium);
  EXPECT_EQ(collect(1), 1U);
  EXPECT_EQ(pool_.out(), 1U);
  EXPECT_EQ(collect(0), 1U);
}

// Any actions of an honest or dishonest sender and receiver on the slabs of one link, in any order.
// The model knows the place of each slab; a leak or a double free shows as a difference.
class SlabStory {
 public:
  SlabStory(SlabPool& pool, test::LinkMemory& receipts, std::uint32_t seed)
      : pool_(pool), receipts_(receipts), random_(seed) {}

  void step() {
    switch (pick(8)) {
      case 0:
      case 1:
        take();
        break;
      case 2:
        put_back();
        break;
      case 3:
        send();
        break;
      case 4:
        finish();
        break;
      case 5:
        repeat_stamp();
        break;
      case 6:
        lie();
        break;
      default:
        collect();
        break;
    }
    EXPECT_EQ(pool_.out(), out_.size() + finished_.size());
    EXPECT_EQ(pool_.loaned(), loaned_.size());
  }

  // Finishes every slab in use, and gives every loan back.
  void end() {
    while (!loaned_.empty()) put_back();
    while (!out_.empty()) finish();
    collect();
    EXPECT_EQ(pool_.out(), 0U);
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      std::set<SlabIndex> free;
      for (std::uint32_t n = 0; n < pool_.allocated(i); ++n) free.insert(pool_.take(i).slab);
      EXPECT_EQ(free.size(), pool_.allocated(i)) << "leaked or given twice";
      EXPECT_EQ(free.count(kNoSlab), 0U);
      EXPECT_EQ(pool_.take(i).slab, kNoSlab) << "free twice";
    }
  }

 private:
  using Loans = std::vector<SlabPool::Loan>;

  std::size_t pick(std::size_t count) { return random_() % count; }
  std::optional<SlabPool::Loan> pull(Loans& loans) {
    if (loans.empty()) return std::nullopt;
    std::swap(loans[pick(loans.size())], loans.back());
    const SlabPool::Loan loan = loans.back();
    loans.pop_back();
    return loan;
  }
  Atomic<std::uint64_t>& word(SlabIndex slab) { return receipts_.link.stamp(kBank, slab); }

  void take() {
    const SlabPool::Loan loan = pool_.take(pick(kSlabClasses));
    if (loan.slab == kNoSlab) return;
    EXPECT_TRUE(busy_.insert(loan.slab).second)
        << "slab " << loan.slab.value() << " was given twice";
    EXPECT_GT(loan.generation, generation_[loan.slab.value()]);
    generation_[loan.slab.value()] = loan.generation;
    loaned_.push_back(loan);
  }
  void put_back() {
    if (const auto loan = pull(loaned_)) {
      pool_.put_back(*loan);
      busy_.erase(loan->slab);
    }
  }
  void send() {
    if (const auto loan = pull(loaned_)) {
      pool_.mark_out(*loan);
      // A liar that guessed this generation before has finished it already.
      const bool guessed = word(loan->slab).observe() == loan->generation;
      (guessed ? finished_ : out_).push_back(*loan);
    }
  }
  void finish() {
    if (const auto loan = pull(out_)) {
      stamp(word(loan->slab), loan->generation);
      finished_.push_back(*loan);
    }
  }
  void repeat_stamp() {
    if (finished_.empty()) return;
    const SlabPool::Loan& loan = finished_[pick(finished_.size())];
    stamp(word(loan.slab), loan.generation);
  }
  // Stamps a slab that the receiver does not hold, or one that it holds with a wrong generation:
  // above, below, or the one before.
  void lie() {
    const SlabIndex slab(static_cast<std::uint32_t>(pick(kMaxSlabs)));
    for (const auto& loan : finished_) {
      if (loan.slab == slab) return;
    }
    const std::uint64_t now = generation_[slab.value()];
    const std::uint64_t lies[] = {now + 1, now + 1000, ~0ULL, now - 1, 0};
    const std::uint64_t value = lies[pick(std::size(lies))];
    stamp(word(slab), value);
  }
  void collect() {
    std::uint32_t freed = 0;
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      freed += pool_.collect(i, receipts_.view, kBank);
    }
    EXPECT_EQ(freed, finished_.size());
    for (const auto& loan : finished_) busy_.erase(loan.slab);
    finished_.clear();
  }

  SlabPool& pool_;
  test::LinkMemory& receipts_;
  std::mt19937 random_;
  Loans loaned_, out_, finished_;
  std::set<SlabIndex> busy_;
  std::array<std::uint64_t, kMaxSlabs> generation_{};
};

TEST_F(SlabPoolTest, NoOrderOfLoansStampsAndLiesLeaksASlabOrFreesItTwice) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SlabPool pool(pool_layout_);
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      pool.set_allocated(i, pool_layout_.classes[i].count);
    }
    for (SlabIndex slab(0); slab.value() < kMaxSlabs; ++slab) {
      receipts_.link.stamp(kBank, slab).publish(0);
    }
    SlabStory story(pool, receipts_, seed);
    for (int i = 0; i < 4000 && !HasFailure(); ++i) story.step();
    story.end();
    if (HasFailure()) return;
  }
}

// A new life of the receiver inherits stamps of the previous life, which lied.
TEST_F(SlabPoolTest, StampsThatWereInheritedFromALiarAreVoidAndBlameNobody) {
  const SlabPool::Loan taken = send_one(0);
  const SlabPool::Loan unread = send_one(0);
  const SlabPool::Loan honest = send_one(0);
  for (const SlabPool::Loan& lied : {taken, unread}) {
    receipts_.link.stamp(kBank, lied.slab).publish(lied.generation + 1);
  }
  std::bitset<kMaxSlabs> unread_slabs;
  unread_slabs.set(unread.slab.value());
  pool_.inherit(receipts_.view, kBank, unread_slabs);
  EXPECT_EQ(pool_.out(), 2U) << "the liar has said that it finished what it took";
  EXPECT_EQ(collect(0), 0U) << "the new life has finished nothing yet";
  EXPECT_FALSE(pool_.lied_to());
  receiver_stamps(unread);
  receiver_stamps(honest);
  EXPECT_EQ(collect(0), 2U);
  EXPECT_EQ(pool_.out(), 0U);
  // No later message gets a generation that is stamped already.
  for (std::uint32_t i = 0; i < pool_layout_.classes[0].count; ++i) {
    const SlabPool::Loan next = send_one(0);
    EXPECT_FALSE(next.slab == taken.slab && next.generation == taken.generation + 1);
  }
  EXPECT_EQ(collect(0), 0U);
  EXPECT_FALSE(pool_.lied_to());
  receipts_.link.stamp(kBank, taken.slab).publish(~0ULL);
  EXPECT_EQ(collect(0), 0U);
  EXPECT_TRUE(pool_.lied_to()) << "this lie is its own";
}

// A liar has stamped the slab as finished, and a successor takes its message once more.
TEST_F(SlabPoolTest, ASlabThatIsTakenBackComesBackOnceItsMessageIsTaken) {
  pool_.set_allocated(0, 1);
  const SlabPool::Loan loan = send_one(0);
  receiver_stamps(loan);
  ASSERT_EQ(collect(0), 1U);
  pool_.take_back(loan);
  EXPECT_EQ(pool_.out(), 1U);
  std::bitset<kMaxSlabs> unread;
  unread.set(loan.slab.value());
  EXPECT_EQ(pool_.collect(0, receipts_.view, kBank, unread), 0U) << "its stamp is the old one";
  EXPECT_EQ(collect(0), 1U);
  pool_.put_back(pool_.take(0));
  pool_.take_back(loan);
  EXPECT_EQ(pool_.out(), 0U) << "it was given to another message since";
}

TEST(WithdrawStamp, AStampThatCallsANewMessageFinishedIsWithdrawn) {
  struct Case {
    std::uint64_t before, generation, after;
  };
  for (const Case& each : {Case{0, 1, 0}, Case{4, 5, 4}, Case{5, 5, 4}, Case{6, 5, 4},
                           Case{~0ULL, 5, 4}, Case{~0ULL, 1, 0}}) {
    Atomic<std::uint64_t> stamp;
    stamp.publish(each.before);
    withdraw_stamp(stamp, each.generation);
    EXPECT_EQ(stamp.observe(), each.after) << each.before << " of " << each.generation;
  }
}

}  // namespace
}  // namespace beeline::shm
