// The index of the inbox against a sorted set: any order of operations delivers the same nodes.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "shm/home.h"

namespace beeline::shm {
namespace {

enum class What { kPush, kPop, kRemove, kRequeue, kDrop, kGrow };

struct Operation {
  What what = What::kPush;
  std::int32_t rank = 0;
  std::uint32_t step = 0;  // on the coarse clock, since the message before
  std::uint32_t pick = 0;  // the node, for operations that need one
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << '{' << static_cast<int>(operation.what) << ", rank " << operation.rank << ", step "
             << operation.step << ", pick " << operation.pick << '}';
}

rc::Gen<Operation> any_operation() {
  const auto what = rc::gen::weightedElement<What>({{40, What::kPush},
                                                    {30, What::kPop},
                                                    {12, What::kRemove},
                                                    {8, What::kRequeue},
                                                    {8, What::kDrop},
                                                    {1, What::kGrow}});
  const auto usual_rank = rc::gen::inRange<std::int32_t>(-1, 4);
  const auto any_rank =
      rc::gen::map(rc::gen::inRange<std::int64_t>(INT32_MIN, std::int64_t{INT32_MAX} + 1),
                   [](std::int64_t rank) { return static_cast<std::int32_t>(rank); });
  const auto end_rank = rc::gen::element<std::int32_t>(INT32_MIN, INT32_MAX);
  return rc::gen::build<Operation>(
      rc::gen::set(&Operation::what, what),
      rc::gen::set(&Operation::rank, rc::gen::weightedOneOf<std::int32_t>(
                                         {{6, usual_rank}, {3, any_rank}, {1, end_rank}})),
      rc::gen::set(&Operation::step,
                   rc::gen::weightedElement<std::uint32_t>({{8, 0}, {2, 1}, {1, 2500}})),
      rc::gen::set(&Operation::pick, rc::gen::arbitrary<std::uint32_t>()));
}

struct Before {
  bool operator()(const IndexNode& a, const IndexNode& b) const {
    return std::tuple(a.key, a.order >> kEntryBits) < std::tuple(b.key, b.order >> kEntryBits);
  }
};

constexpr std::uint32_t kFirstSize = 16;
constexpr std::uint32_t kLargestSize = 256;
constexpr std::int64_t kTickNs = 4'000'000;

// Cheaper than RC_ASSERT, which formats every expression, in the loops below.
void require(bool holds, int line = __builtin_LINE()) {
  if (!holds) RC_FAIL("the model differs: line " + std::to_string(line));
}

class Story {
 public:
  Story(OrderPolicy policy, std::uint64_t start) : policy_(policy) {
    // A ring that is about to wrap, also beyond 64 bits.
    control_.run_head = control_.run_tail = start;
    for (std::uint32_t i = kFirstSize; i > 0; --i) free_.push_back(EntryIndex(i - 1));
  }

  void run(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      step(operation);
      check_front();
      if ((++steps_ & 31) == 0) check_all();
    }
    check_all();
    while (!model_.empty()) pop();
    check_front();
  }

 private:
  void step(const Operation& operation) {
    switch (operation.what) {
      case What::kPush:
        return push(operation);
      case What::kPop:
        return pop();
      case What::kRemove:
        return remove(operation.pick);
      case What::kRequeue:
        return requeue(operation.pick);
      case What::kDrop:
        return drop(operation.pick);
      case What::kGrow:
        return grow();
    }
  }

  void push(const Operation& operation) {
    now_ns_ += operation.step * kTickNs;
    if (free_.empty()) grow();
    if (free_.empty()) return pop();
    const IndexNode node = make_node(order_key(policy_, 10'000'000, now_ns_, operation.rank),
                                     ++arrival_, free_.back());
    free_.pop_back();
    index_.push(node);
    model_.insert(node);
  }
  // Leases the front.
  void pop() {
    if (model_.empty()) return;
    leased_.push_back(*model_.begin());
    model_.erase(model_.begin());
    require(index_.front() != nullptr);
    require(index_.front()->order == leased_.back().order);
    index_.pop_front();
  }
  // Leases one from the middle.
  void remove(std::uint32_t pick) {
    if (model_.empty()) return;
    const auto node = std::next(model_.begin(), pick % model_.size());
    require(index_.remove(*node));
    require(!index_.remove(*node));
    leased_.push_back(*node);
    model_.erase(node);
  }
  // Puts a leased one back to its old place.
  void requeue(std::uint32_t pick) {
    if (leased_.empty()) return;
    const IndexNode node = pull_leased(pick);
    index_.push(node);
    model_.insert(node);
  }
  // Finishes a leased one: its entry is free again.
  void drop(std::uint32_t pick) {
    if (!leased_.empty()) free_.push_back(pull_leased(pick).entry());
  }
  void grow() {
    if (control_.size == kLargestSize) return;
    const auto old = static_cast<std::uint32_t>(control_.size);
    index_.grow(2 * control_.size);
    for (std::uint32_t i = old; i < 2 * old; ++i) free_.push_back(EntryIndex(i));
  }

  IndexNode pull_leased(std::uint32_t pick) {
    std::swap(leased_[pick % leased_.size()], leased_.back());
    const IndexNode node = leased_.back();
    leased_.pop_back();
    return node;
  }

  void check_front() {
    const IndexNode* front = index_.front();
    require((front == nullptr) == model_.empty());
    if (front == nullptr) return;
    require(front->order == model_.begin()->order);
    require(front->key == model_.begin()->key);
  }
  void check_all() const {
    std::set<IndexNode, Before> seen;
    std::size_t visits = 0;
    index_.for_each([&](const IndexNode& node) {
      seen.insert(node);
      ++visits;
      return true;
    });
    require(visits == model_.size());
    require(std::equal(seen.begin(), seen.end(), model_.begin(), model_.end(),
                       [](const auto& a, const auto& b) { return a.order == b.order; }));
  }

  OrderPolicy policy_;
  std::vector<IndexNode> run_ = std::vector<IndexNode>(kLargestSize);
  std::vector<IndexNode> heap_ = std::vector<IndexNode>(kLargestSize);
  IndexControl control_{0, 0, 0, kFirstSize};
  OrderIndex index_{control_, run_.data(), heap_.data()};
  std::set<IndexNode, Before> model_;
  std::vector<IndexNode> leased_;
  std::vector<EntryIndex> free_;
  std::int64_t now_ns_ = 1'000'000'000;
  std::uint64_t arrival_ = 0;
  std::uint64_t steps_ = 0;
};

// The number of operations that ran.
std::size_t check_policy(OrderPolicy policy) {
  std::size_t total = 0;
  const bool holds = rc::check("the index delivers like a sorted set", [&] {
    const auto operations =
        *rc::gen::resize(3000, rc::gen::container<std::vector<Operation>>(any_operation()));
    const auto start = *rc::gen::element<std::uint64_t>(0, 13, ~std::uint64_t{0} - 500);
    total += operations.size();
    Story(policy, start).run(operations);
  });
  EXPECT_TRUE(holds);
  return total;
}

TEST(IndexProperty, AgedMessagesComeInTheOrderOfASortedSetAndEqualOnesAsTheyWereSent) {
  EXPECT_GE(check_policy(OrderPolicy::kAged), 100'000U);
}

TEST(IndexProperty, StrictMessagesComeInTheOrderOfASortedSetAndEqualOnesAsTheyWereSent) {
  EXPECT_GT(check_policy(OrderPolicy::kStrict), 0U);
}

TEST(IndexProperty, FifoMessagesComeAsTheyWereSent) {
  EXPECT_GT(check_policy(OrderPolicy::kFifo), 0U);
}

}  // namespace
}  // namespace beeline::shm
