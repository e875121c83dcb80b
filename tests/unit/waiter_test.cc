#include "src/wake/waiter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <vector>

#include "src/os/event_fd.h"
#include "src/wake/bell.h"

namespace beeline::wake {
namespace {

constexpr std::uint32_t kPeer = 7;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongest = 1'000'000'000'000;  // far beyond the watchdog
constexpr std::int64_t kNow = 5'000'000'000;
constexpr WaitPolicy kNoSpin{.spin_ns = 0, .never_sleep = false, .short_first_wait = true};

class WaiterTest : public testing::Test {
 protected:
  [[nodiscard]] shm::Sleep said() const { return shm::how_asleep(page_.sleep.relaxed_load()); }
  static std::int64_t longest() { return kLongest; }

  // Adds a peer of another user; it rings with the descriptor that is returned.
  os::UniqueFd add_foreign(shm::Incarnation life) {
    os::UniqueFd event = os::create_event_fd().value();
    bells_.add(life, os::duplicate(event.get()).value());
    return event;
  }
  static bool can_be_read(int fd) {
    return os::wait_readable(fd, std::chrono::nanoseconds::zero());
  }

  shm::StatusPage page_{};
  BellSet bells_ = BellSet::create().value();
  Waiter waiter_{page_, bells_, kNoSpin};
};

TEST_F(WaiterTest, AWaitingMessageIsFoundWithoutAnnouncingASleep) {
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return true; },
      [] {
        ADD_FAILURE() << "nobody needs a last look";
        return true;
      },
      longest));
  EXPECT_EQ(page_.sleeps.relaxed_load(), 0U);
}

TEST_F(WaiterTest, AMessageBeforeTheAnnouncementOfASleepIsFoundWithoutSleeping) {
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

TEST_F(WaiterTest, ATryForSpaceThatSucceedsAnnouncesNoSleep) {
  Waiter trying(page_, bells_, {.spin_ns = 0, .try_ns = kLongest});
  int tries = 0;
  EXPECT_TRUE(trying.try_briefly(kNever, [&] { return ++tries == 3; }));
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(said(), shm::Sleep::kAwake);
}

TEST_F(WaiterTest, ATryForSpaceEndsWithItsTimeOrTheDeadline) {
  int tries = 0;
  const auto fail = [&] {
    ++tries;
    return false;
  };
  EXPECT_FALSE(waiter_.try_briefly(kNever, fail));
  EXPECT_GE(tries, 1);
  tries = 0;
  Waiter trying(page_, bells_, {.spin_ns = 0, .try_ns = kLongest});
  EXPECT_FALSE(trying.try_briefly(0, fail));
  EXPECT_EQ(tries, 1);
  Waiter never(page_, bells_, {.spin_ns = 0, .try_ns = 0});
  EXPECT_FALSE(never.try_briefly(kNever, fail));
  EXPECT_EQ(tries, 1);
}

TEST_F(WaiterTest, ASpinLooksAtOnceWhereAGlanceSaysSo) {
  Waiter spinning(page_, bells_, {.never_sleep = true});
  int looks = 0;
  int glances = 0;
  EXPECT_TRUE(spinning.wait(
      kNever, [&] { return ++looks == 4; }, [] { return false; }, longest,
      [&] { return ++glances > 0; }));
  EXPECT_EQ(glances, 3) << "the first look needs none";
}

TEST_F(WaiterTest, ASpinLooksNowAndThenWhereNoGlanceEverSaysSo) {
  Waiter spinning(page_, bells_, {.never_sleep = true});
  int looks = 0;
  int glances = 0;
  EXPECT_TRUE(spinning.wait(
      kNever, [&] { return ++looks == 4; }, [] { return false; }, longest,
      [&] { return ++glances < 0; }));
  EXPECT_EQ(glances, 3 * 64);
}

TEST_F(WaiterTest, ARingThatCameEarlyIsRememberedByTheEvent) {
  waiter_.use_events();
  os::signal_event(bells_.own());
  int looks = 0;
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return false; }, [&] { return ++looks > 1; }, longest));
  EXPECT_EQ(page_.sleeps.relaxed_load(), 1U);
  EXPECT_EQ(said(), shm::Sleep::kAwake);
}

// ---- Rings --------------------------------------------------------------------------------------

TEST_F(WaiterTest, ASleepIsEndedOnceByEachRinger) {
  Bell first{&page_, bells_.own()};
  Bell second{&page_, bells_.own()};
  const auto was_rung = [&] { return os::drain_event(bells_.own()); };
  EXPECT_FALSE(ring(first, kNow)) << "it is awake";
  for (int sleep = 0; sleep < 3; ++sleep) {
    waiter_.fall_asleep();
    EXPECT_TRUE(ring(first, kNow));
    EXPECT_TRUE(was_rung());
    EXPECT_FALSE(ring(first, kNow)) << "it has not had its CPU yet";
    EXPECT_FALSE(was_rung());
    EXPECT_TRUE(ring(second, kNow)) << "it knows nothing of the first";
    EXPECT_TRUE(was_rung());
    waiter_.wake_up();
    EXPECT_FALSE(ring(first, kNow));
  }
}

TEST_F(WaiterTest, ARingIsOverWhenItFallsAsleepAgain) {
  Bell bell{&page_, bells_.own()};
  waiter_.fall_asleep();
  EXPECT_TRUE(ring(bell, kNow));
  waiter_.wake_up();
  EXPECT_TRUE(can_be_read(bells_.fd())) << "its user may look again";
  waiter_.fall_asleep();
  EXPECT_FALSE(can_be_read(bells_.fd())) << "its user would not sleep";
  EXPECT_TRUE(ring(bell, kNow)) << "this is another sleep";
  EXPECT_TRUE(can_be_read(bells_.fd()));
}

TEST_F(WaiterTest, ARingThatFoundNobodyIsMadeAgain) {
  const os::UniqueFd event = os::create_event_fd().value();
  Bell bell{&page_, event.get()};
  page_.sleep.relaxed_store(shm::next_sleep(0, shm::Sleep::kFutex));
  EXPECT_TRUE(ring(bell, kNow)) << "it has tried: nobody was in the kernel";
  EXPECT_TRUE(ring(bell, kNow)) << "and does not believe that it ended this sleep";
  waiter_.fall_asleep();
  bell.event_fd = -1;
  EXPECT_TRUE(ring(bell, kNow)) << "it does not know the eventfd";
  bell.event_fd = event.get();
  EXPECT_TRUE(ring(bell, kNow));
  EXPECT_TRUE(os::drain_event(event.get()));
}

TEST_F(WaiterTest, ASleepThatGoesOnAfterARingIsRungAgain) {
  Bell bell{&page_, bells_.own()};
  waiter_.fall_asleep();
  EXPECT_TRUE(ring(bell, kNow));
  EXPECT_TRUE(os::drain_event(bells_.own())) << "a thief takes it";
  EXPECT_FALSE(ring(bell, kNow + kAgainNs - 1));
  EXPECT_TRUE(ring(bell, kNow + kAgainNs)) << "what we send now wakes nobody for ever";
  EXPECT_TRUE(os::drain_event(bells_.own()));
  EXPECT_FALSE(ring(bell, kNow + kAgainNs + 1)) << "the time counts from the last ring";
  waiter_.wake_up();
}

TEST_F(WaiterTest, ASleepOnTheFutexIsNotRungAgain) {
  page_.sleep.relaxed_store(shm::next_sleep(0, shm::Sleep::kFutex));
  Bell bell{&page_, -1};
  bell.rung = page_.sleep.relaxed_load();
  bell.rung_ns = kNow;
  EXPECT_FALSE(ring(bell, kNow + kAgainNs)) << "it ends by itself, and nobody is in the kernel";
}

// ---- Peers of other users -----------------------------------------------------------------------

TEST_F(WaiterTest, AWaiterWithAPeerOfAnotherUserNeverAnnouncesAFutexSleep) {
  const os::UniqueFd peer = add_foreign(shm::Incarnation(1));
  os::signal_event(peer.get());
  int looks = 0;
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return false; },
      [&] {
        EXPECT_NE(said(), shm::Sleep::kFutex) << "a peer can move it from its futex to another";
        return ++looks > 1;
      },
      longest));
  EXPECT_EQ(page_.sleeps.relaxed_load(), 1U);
}

TEST_F(WaiterTest, AWaiterThatMeetsAPeerOfAnotherUserInItsLastLookDoesNotBlockOnItsFutex) {
  os::UniqueFd peer;
  int looks = 0;
  EXPECT_TRUE(waiter_.wait(
      kNever, [] { return false; },
      [&] {
        if (!peer.valid()) peer = add_foreign(shm::Incarnation(1));
        if (looks > 0) {
          EXPECT_NE(said(), shm::Sleep::kFutex);
          os::signal_event(peer.get());
        } else {
          EXPECT_EQ(said(), shm::Sleep::kFutex) << "it had no such peer before";
          EXPECT_EQ(page_.sleeps.relaxed_load(), 0U);
        }
        return ++looks > 3;
      },
      [&] {
        EXPECT_EQ(said(), shm::Sleep::kEvent) << "it is about to block";
        return kLongest;
      }));
}

TEST_F(WaiterTest, EachBellWakesAndTheRingsOfOneAreSafeFromTheOthers) {
  const os::UniqueFd first = add_foreign(shm::Incarnation(1));
  const os::UniqueFd second = add_foreign(shm::Incarnation(2));
  for (const int bell : {bells_.own(), first.get(), second.get()}) {
    os::signal_event(bell);
    for (const os::UniqueFd* hostile : {&first, &second}) {
      if (hostile->get() != bell) os::drain_event(hostile->get());
    }
    int looks = 0;
    EXPECT_TRUE(waiter_.wait(
        kNever, [] { return false; }, [&] { return ++looks > 1; }, longest));
    EXPECT_FALSE(can_be_read(bells_.fd())) << "it has taken the ring";
  }
}

TEST_F(WaiterTest, APeerThatIsAddedLaterIsHeardByAWaitOutside) {
  const int fd = bells_.joint();
  EXPECT_FALSE(can_be_read(fd));
  waiter_.signal_self();
  EXPECT_TRUE(can_be_read(fd));
  waiter_.drain_events();
  EXPECT_FALSE(can_be_read(fd));
  const os::UniqueFd peer = add_foreign(shm::Incarnation(1));
  os::signal_event(peer.get());
  EXPECT_TRUE(can_be_read(fd));
  waiter_.drain_events();
  EXPECT_FALSE(can_be_read(fd));
}

TEST_F(WaiterTest, AForgottenPeerIsHeardNoMore) {
  const os::UniqueFd gone = add_foreign(shm::Incarnation(1));
  const os::UniqueFd stays = add_foreign(shm::Incarnation(2));
  bells_.forget(shm::Incarnation(1));
  os::signal_event(gone.get());
  EXPECT_FALSE(can_be_read(bells_.joint()));
  os::signal_event(stays.get());
  EXPECT_TRUE(can_be_read(bells_.joint()));
  waiter_.drain_events();
  bells_.forget(shm::Incarnation(2));
  EXPECT_FALSE(bells_.has_foreign());
  EXPECT_EQ(bells_.fd(), bells_.own()) << "nobody is left who could steal";
}

TEST_F(WaiterTest, MoreBellsThanAreTakenAtOnceAreTakenOneTurnAfterTheOther) {
  constexpr std::uint64_t kMany = 100;
  std::vector<os::UniqueFd> peers;
  for (std::uint64_t life = 1; life <= kMany; ++life) {
    peers.push_back(add_foreign(shm::Incarnation(life)));
  }
  for (const os::UniqueFd& peer : peers) os::signal_event(peer.get());
  std::size_t turns = 0;
  for (; can_be_read(bells_.fd()) && turns < kMany; ++turns) waiter_.drain_events();
  EXPECT_LT(turns, kMany) << "the fd stays readable, and nobody could sleep on it";
  for (const os::UniqueFd& peer : peers) EXPECT_FALSE(os::drain_event(peer.get()));
}

}  // namespace
}  // namespace beeline::wake
