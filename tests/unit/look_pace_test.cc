#include "src/agent/look_pace.h"

#include <gtest/gtest.h>

#include <limits>

namespace beeline {
namespace {

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

TEST(LookPace, TheFirstLookWaitsForNothing) { EXPECT_FALSE(LookPace().may_wait()); }

TEST(LookPace, ALookWaitsForAsLongAsItWasPutOff) {
  LookPace pace;
  pace.put_off(kForEver);
  EXPECT_TRUE(pace.may_wait());
  pace.put_off(0);
  EXPECT_FALSE(pace.may_wait());
}

TEST(LookPace, WhatThisThreadHasSentIsLookedForAtOnce) {
  LookPace pace;
  pace.put_off(kForEver);
  ++send::sends_of_thread;
  EXPECT_FALSE(pace.may_wait());
  pace.put_off(kForEver);
  EXPECT_TRUE(pace.may_wait());
}

}  // namespace
}  // namespace beeline
