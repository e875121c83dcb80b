// The token bucket, with given times.

#include <gtest/gtest.h>

#include "src/limit/token_bucket.h"

namespace beeline::limit {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNow = 1'000 * kSecond;

TEST(TokenBucket, IsOffByDefault) {
  EXPECT_FALSE(TokenBucket().on());
  EXPECT_TRUE(TokenBucket(1, 1).on());
}

TEST(TokenBucket, StartsFullAndFillsAtItsRate) {
  TokenBucket bucket(10, 3);
  EXPECT_EQ(bucket.available(kNow), 3U);
  EXPECT_TRUE(bucket.take(kNow, 3));
  EXPECT_EQ(bucket.available(kNow), 0U);
  EXPECT_FALSE(bucket.take(kNow));
  EXPECT_EQ(bucket.available(kNow + kSecond / 10 - 1), 0U);
  EXPECT_EQ(bucket.available(kNow + kSecond / 10), 1U);
  EXPECT_EQ(bucket.available(kNow + kSecond / 5), 2U);
}

TEST(TokenBucket, NeverHoldsMoreThanItsBurst) {
  TokenBucket bucket(10, 3);
  EXPECT_TRUE(bucket.take(kNow, 1));
  EXPECT_EQ(bucket.available(kNow + 100 * kSecond), 3U);
  EXPECT_TRUE(bucket.take(kNow + 100 * kSecond, 3));
  EXPECT_FALSE(bucket.take(kNow + 100 * kSecond));
}

TEST(TokenBucket, TakesAllOrNothing) {
  TokenBucket bucket(1, 5);
  EXPECT_FALSE(bucket.take(kNow, 6));
  EXPECT_EQ(bucket.available(kNow), 5U);
  EXPECT_TRUE(bucket.take(kNow, 0));
  EXPECT_EQ(bucket.available(kNow), 5U);
}

TEST(TokenBucket, SaysWhenTheNextTokenComes) {
  TokenBucket bucket(4, 2);
  EXPECT_EQ(bucket.ns_until(kNow), 0);
  EXPECT_TRUE(bucket.take(kNow));
  EXPECT_EQ(bucket.ns_until(kNow), 0) << "one is left";
  EXPECT_TRUE(bucket.take(kNow));
  EXPECT_EQ(bucket.ns_until(kNow), kSecond / 4);
  EXPECT_EQ(bucket.ns_until(kNow + kSecond / 8), kSecond / 8);
  EXPECT_EQ(bucket.ns_until(kNow + kSecond / 4), 0);
  EXPECT_TRUE(bucket.take(kNow + kSecond / 4));
}

TEST(TokenBucket, PartsOfATokenAreNotLost) {
  // The time of one and a half tokens: the half counts for the next one.
  TokenBucket wide(10, 2);
  EXPECT_TRUE(wide.take(kNow, 2));
  EXPECT_TRUE(wide.take(kNow + kSecond * 3 / 20));
  EXPECT_EQ(wide.ns_until(kNow + kSecond * 3 / 20), kSecond / 20);
}

TEST(TokenBucket, AClockThatGoesBackFindsNoTokens) {
  TokenBucket bucket(10, 2);
  EXPECT_TRUE(bucket.take(kNow, 2));
  EXPECT_EQ(bucket.available(kNow - kSecond), 0U);
  EXPECT_FALSE(bucket.take(kNow - kSecond));
  EXPECT_EQ(bucket.available(0), 0U);
}

TEST(TokenBucket, WithoutABurstItHoldsTheTokensOfASecond) {
  EXPECT_EQ(TokenBucket(25, 0).available(kNow), 25U);
  EXPECT_EQ(TokenBucket(0.1, 0).available(kNow), 1U);
}

TEST(TokenBucket, TheLimitsOfRateAndBurstDoNotOverflow) {
  TokenBucket slow(kMinRate, kMaxBurst);
  EXPECT_EQ(slow.available(0), kMaxBurst);
  EXPECT_TRUE(slow.take(0, kMaxBurst));
  EXPECT_EQ(slow.available(kNow), 1U) << "one in 1000 s";
  TokenBucket fast(kMaxRate, kMaxBurst);
  EXPECT_TRUE(fast.take(kNow, kMaxBurst));
  EXPECT_EQ(fast.available(kNow + 1'000), 1U);
  EXPECT_EQ(fast.available(kNow + kSecond), kMaxBurst);
}

TEST(TokenBucket, AnyStretchOfTimeGivesAtMostBurstAndRate) {
  TokenBucket bucket(50, 7);
  std::uint32_t taken = 0;
  for (std::int64_t ms = 0; ms <= 2000; ms += 4) {
    while (bucket.take(kNow + ms * 1'000'000)) ++taken;
  }
  EXPECT_EQ(taken, 107U);
}

}  // namespace
}  // namespace beeline::limit
