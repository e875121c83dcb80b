#include "src/receive/rates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace beeline::receive {
namespace {

constexpr std::int64_t kNow = 1'000'000'000'000;

TEST(Rates, WithoutARateNobodyHasABucket) {
  Rates off;
  EXPECT_FALSE(off.on());
  EXPECT_EQ(off.of("a", kNow), nullptr);
  EXPECT_EQ(off.count(), 0U);
}

TEST(Rates, AllLinksOfANameShareOneBucketThatOutlivesThem) {
  Rates rates(limit::TokenBucket(0.001, 3));
  auto first = rates.of("a", kNow);
  auto second = rates.of("a", kNow);
  ASSERT_EQ(first, second);
  EXPECT_TRUE(first->take(kNow, 2));
  first.reset();
  second.reset();
  EXPECT_EQ(rates.of("a", kNow)->available(kNow), 1U);
  EXPECT_EQ(rates.of("b", kNow)->available(kNow), 3U) << "another name has its own";
}

TEST(Rates, TheFullestUnusedBucketsAreForgottenFirst) {
  Rates rates(limit::TokenBucket(0.001, 3));
  ASSERT_TRUE(rates.of("empty", kNow)->take(kNow, 3));
  const auto used = rates.of("used", kNow);
  for (int i = 0; i < 10 * static_cast<int>(Rates::kMostIdle); ++i) {
    (void)rates.of(std::to_string(i), kNow);
    ASSERT_LE(rates.count(), Rates::kMostIdle + 2);
  }
  EXPECT_EQ(rates.of("empty", kNow)->available(kNow), 0U) << "a flood of names gives no new burst";
  EXPECT_EQ(rates.of("used", kNow), used);
}

}  // namespace
}  // namespace beeline::receive
