#include "src/agent/look_pace.h"

#include <gtest/gtest.h>

namespace beeline {
namespace {

constexpr std::uint64_t kForEver = LookPace::kNoLimit;

TEST(LookPace, TheFirstLookWaitsForNothing) { EXPECT_FALSE(LookPace().may_wait(kForEver)); }

TEST(LookPace, ALookWaitsForAsLongAsItWasPutOff) {
  LookPace pace;
  pace.put_off(kForEver);
  EXPECT_TRUE(pace.may_wait(kForEver));
  EXPECT_FALSE(pace.may_wait(0)) << "but no longer than whoever asks will have it";
  pace.put_off(0);
  EXPECT_FALSE(pace.may_wait(kForEver));
}

TEST(LookPace, AMessageThatThisThreadHasSentIsLookedForAtOnce) {
  LookPace pace;
  pace.put_off(kForEver);
  ++send::sends_of_thread;
  EXPECT_FALSE(pace.may_wait(kForEver));
  EXPECT_FALSE(pace.has_not_sent());
  pace.put_off(kForEver);
  EXPECT_TRUE(pace.may_wait(kForEver));
  EXPECT_TRUE(pace.has_not_sent());
}

TEST(LookPace, TheFirstWholeLookIsDueAndTheNextOneLaterWhereThereAreManyLinks) {
  LookPace pace;
  EXPECT_TRUE(pace.is_whole_due(0));
  const std::uint64_t before = os::ticks();
  pace.note_whole(1);
  const std::uint64_t after = os::ticks();
  EXPECT_FALSE(pace.is_whole_due(before));
  EXPECT_TRUE(pace.is_whole_due(after + kWholeLookTicks));
  pace.note_whole(1000);
  EXPECT_FALSE(pace.is_whole_due(after + 1000 * kLinkTicks - 1));
  EXPECT_TRUE(pace.is_whole_due(os::ticks() + 1000 * kLinkTicks));
}

}  // namespace
}  // namespace beeline
