#include "src/wake/waiter.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/os/event_fd.h"

namespace beeline::wake {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongest = 1'000'000'000'000;  // far beyond the watchdog
constexpr WaitPolicy kNoSpin{.spin_ns = 0, .never_sleep = false, .short_first_wait = true};

class WaiterTest : public testing::Test {
 protected:
  [[nodiscard]] shm::Sleep said() const {
    return static_cast<shm::Sleep>(page_.sleep.relaxed_load());
  }
  static std::int64_t longest() { return kLongest; }

  shm::StatusPage page_{};
  os::UniqueFd event_ = os::create_event_fd().value();
  Waiter waiter_{page_, event_.get(), kNoSpin};
};

TEST_F(WaiterTest, WhatIsThereIsFoundWithoutSayingThatItSleeps) {
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return true; },
      [] {
        ADD_FAILURE() << "nobody needs a last look";
        return true;
      },
      longest));
  EXPECT_EQ(page_.sleeps.relaxed_load(), 0U);
}

TEST_F(WaiterTest, WhatCameBeforeItSaidThatItSleepsIsFoundWithoutSleeping) {
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return false; },
      [&] {
        EXPECT_EQ(said(), shm::Sleep::kFutex) << "it looks before a waker can see that it sleeps";
        return true;
      },
      longest));
  EXPECT_EQ(said(), shm::Sleep::kAwake);
  EXPECT_EQ(page_.sleeps.relaxed_load(), 0U) << "it slept with a message before it";
}

TEST_F(WaiterTest, ADeadlineThatHasPassedEndsTheWaitWithALastLook) {
  int looks = 0;
  EXPECT_FALSE(waiter_.wait(
      0, [] { return false; },
      [&] {
        ++looks;
        return false;
      },
      longest));
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(page_.sleeps.relaxed_load(), 0U);
}

TEST_F(WaiterTest, ARingThatCameEarlyIsRememberedByTheEvent) {
  waiter_.use_events();
  os::signal_event(event_.get());
  int looks = 0;
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return false; }, [&] { return ++looks > 1; }, longest));
  EXPECT_EQ(page_.sleeps.relaxed_load(), 1U);
  EXPECT_EQ(said(), shm::Sleep::kAwake);
}

}  // namespace
}  // namespace beeline::wake
