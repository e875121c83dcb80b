// The latest additions are found, and nothing else.

#include "src/receive/recent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace beeline::receive {
namespace {

constexpr std::uint16_t kMost = 16;

// The plain and slow version.
class Model {
 public:
  bool add(std::uint64_t value) {
    if (contains(value)) return false;
    if (values_.size() == kMost) values_.pop_front();
    values_.push_back(value);
    return true;
  }
  [[nodiscard]] bool contains(std::uint64_t value) const {
    return std::find(values_.begin(), values_.end(), value) != values_.end();
  }

 private:
  std::deque<std::uint64_t> values_;
};

struct Itself {
  std::size_t operator()(std::uint64_t value) const { return value; }
};
// All keys in one chain.
struct Same {
  std::size_t operator()(std::uint64_t /*value*/) const { return 5; }
};

template <typename Hash>
void expect_as_meant(std::uint64_t most) {
  Recent<std::uint64_t, Hash, kMost> recent;
  Model model;
  std::mt19937_64 random(most);
  EXPECT_FALSE(recent.contains(0));
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = random() % most;
    ASSERT_EQ(recent.add(value), model.add(value)) << i;
    for (std::uint64_t each = 0; each < most; ++each) {
      ASSERT_EQ(recent.contains(each), model.contains(each)) << i << " " << each;
    }
  }
}

TEST(RecentTest, TheNewestAreFoundAndTheOldestAreNot) {
  for (const std::uint64_t most : {1, 16, 17, 40, 100}) {
    expect_as_meant<Itself>(most);
    expect_as_meant<Same>(most);
  }
}

}  // namespace
}  // namespace beeline::receive
