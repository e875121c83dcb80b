// The sleeping protocol between two threads over real status pages and links: the sender is
// SendPath, the sleeper is Waiter. Nothing hides a missed ring: no spin, no short first wait, and a
// longest wait beyond the watchdog.
//
// In each round one thread goes to sleep and the other sends and rings. The sender delays itself or
// the sleeper, so that it publishes at the moment at which the sleeper announces its sleep: later
// after a round with an awake sleeper, earlier after one in which it had to ring. At that moment a
// missing fence lets both sides miss each other.
//
// On a busy machine it plays as many rounds as its time allows. BEELINE_SOAK=1 gives it ten times
// as
// many rounds and as much time.

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <thread>

#include "src/send/send_path.h"
#include "src/wake/waiter.h"
#include "tests/support/soak.h"
#include "tests/support/watchdog.h"
#include "tests/unit/segment_memory.h"

namespace beeline::wake {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRoundsOfAMode = 150'000;
// Far beyond the watchdog: a sleeper that misses a ring sleeps until the end of the test.
constexpr std::int64_t kForEver = 1'000'000'000'000;
constexpr auto kTime = 6s;
constexpr auto kHangs = 100s;

constexpr WaitPolicy kHidesNothing{.spin_ns = 0, .never_sleep = false, .short_first_wait = false};
constexpr shm::LinkContract kContract{8, 4, shm::kMinMaxPayload};
constexpr std::size_t kBank = 0;
constexpr shm::Incarnation kLife{1};
constexpr std::uint32_t kFirstPid = 2;
// In loads of a word that stays in the cache.
constexpr int kStep = 4;
constexpr std::uint32_t kWobble = 32;

// In the directory.
constexpr std::uint32_t place_of(std::uint32_t pid) { return pid - kFirstPid; }

// kForeign, for peers of another user: each has a bell for the other, beside one that nobody rings.
enum class Mode : std::uint8_t { kFutex, kEvents, kForeign };

// One of the two agents: its own segments, and its view of the other.
class End {
 public:
  End(Mode mode, std::uint32_t pid, std::uint32_t peer)
      : waiter_(page(), bells_, kHidesNothing),
        link_(send::OutLink::create("wake-stress", pid, peer, {kLife, pid}, kContract).value()),
        link_view_(link_.memory().data(), kContract),
        sender_(pid, reserved_ids_, [this](std::uint32_t, shm::Incarnation) {
          // Without a bell, so that we ring ourselves right after the send, and know whether that
          // rang.
          return send::PeerLife{{}, &other_->link_view_, true};
        }) {
    shm::init_status(page(), pid, kLife);
    if (mode == Mode::kEvents) waiter_.use_events();
    if (mode != Mode::kForeign) return;
    foreign_ = os::create_event_fd().value();
    bells_.add(kLife, os::duplicate(foreign_.get()).value());
    bells_.add(kLife + 1, os::create_event_fd().value());
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void connect(End& other, const shm::DirectoryView& directory) {
    other_ = &other;
    sender_.set_directory(directory);
    sender_.set_place(link_, place_of(link_.peer()), kLife);
    const os::UniqueFd& foreign = other.foreign_;
    bell_ = {&other.page(), foreign.valid() ? foreign.get() : other.bells_.own()};
    shm::open_bank(bank(), other.link_.key(), 0, 0);
  }

  // Both have reached this round: their race begins.
  void meet(std::uint32_t round) {
    round_.publish(round);
    for (int turn = 0; other_->round_.observe() < round; ++turn) {
      if (turn > 1'000) os::yield();
    }
  }

  void sleep_until_told() {
    linger(-other_->lead_.observe());
    const shm::Slot& slot = other_->link_view_.slot(shm::Lane::kNormal, taken_);
    const auto told = [&] { return shm::is_published(slot, taken_); };
    while (!waiter_.wait(std::numeric_limits<std::int64_t>::max(), told, told,
                         [] { return kForEver; })) {
    }
    ++taken_;
    bank().cursors[static_cast<std::size_t>(shm::Lane::kNormal)].publish(taken_);
    done_.publish(round_.relaxed_load());
  }

  void wake_other(std::uint32_t round) {
    const int lead = lead_.relaxed_load();
    linger(lead);
    const auto outcome = sender_.write(link_, {.id = sender_.reserve_id()});
    const bool rang = ring(bell_, 0);
    lead_.publish(rang ? lead - kStep : lead + kStep);
    rings_ += rang ? 1 : 0;
    refused_ += outcome == SendStatus::kOk ? 0 : 1;
    // SUBTLE: a ring gives up if the sleeper loses its CPU right before it enters the kernel. The
    // short first wait bounds that, and it is off here, so we ring again. A sleeper that missed us
    // for lack of a fence had not announced its sleep: then nothing rang above, and nothing rings
    // again.
    while (rang && other_->done_.observe() != round && ring(bell_, 0)) os::yield();
  }

  [[nodiscard]] std::uint32_t round() const { return round_.relaxed_load(); }
  [[nodiscard]] std::uint32_t sleep_word() {
    return static_cast<std::uint32_t>(shm::how_asleep(page().sleep.relaxed_load()));
  }
  [[nodiscard]] std::uint32_t refused() const { return refused_; }
  [[nodiscard]] std::uint32_t rings() const { return rings_; }

 private:
  [[nodiscard]] shm::StatusPage& page() {
    return *reinterpret_cast<shm::StatusPage*>(memory_.base());
  }
  [[nodiscard]] shm::ReceiptBank& bank() { return link_.view().bank(kBank); }

  // Waits for the steered time, varied a little.
  void linger(int lead) {
    const int steps = std::max(lead, 0) + static_cast<int>(dice_() % kWobble);
    for (int i = 0; i < steps; ++i) (void)done_.relaxed_load();
  }

  shm::test::Memory memory_{shm::kStatusBytes};
  BellSet bells_ = BellSet::create().value();
  os::UniqueFd foreign_;
  Waiter waiter_;
  send::OutLink link_;
  shm::LinkView link_view_;
  shm::Atomic<std::uint64_t> reserved_ids_;
  send::SendPath sender_;
  End* other_ = nullptr;
  Bell bell_;  // of the other agent: the same one in all rounds, because it remembers the sleeps
               // that it has ended
  std::uint64_t taken_ = 0;
  std::uint32_t refused_ = 0;
  std::uint32_t rings_ = 0;
  std::minstd_rand dice_{1};
  // The last round that it has reached, and the last one in which it slept and got its message.
  // Each has a cache line of its own.
  alignas(128) shm::Atomic<std::uint32_t> round_;
  alignas(128) shm::Atomic<std::uint32_t> done_;
  // The time that the sleeper gets to fall asleep before we publish; negative: the sleeper is
  // delayed.
  alignas(128) shm::Atomic<int> lead_;
};

// Keeps the calling thread on the nth CPU that it may use: on a single CPU there is no race.
void pin_to_usable(int nth) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  (void)::sched_getaffinity(0, sizeof(usable), &usable);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &usable) && nth-- == 0) return os::pin_to_cpu(cpu);
  }
}

// How long both play. When the time is over, the first thread ends the match early, before it
// reaches the round that then is the last one. So the other knows when they have met. If other
// programs take the CPUs, few rounds are played in that time, and the match goes on until each
// thread has found the other asleep.
struct Match {
  std::atomic<std::uint32_t> last_round;
  std::chrono::steady_clock::time_point time_over;
  std::chrono::steady_clock::time_point at_last;
  std::atomic<int> found_asleep{0};  // ends that have found the other one asleep

  [[nodiscard]] bool is_over() const {
    const auto now = std::chrono::steady_clock::now();
    return now > at_last || (now > time_over && (found_asleep == 2 || os::usable_cpus() == 1));
  }
};

// Plays all rounds; sleeps in the odd or in the even ones.
void play(End& own, bool sleeps_in_odd, Match& match) {
  pin_to_usable(sleeps_in_odd ? 0 : 1);
  for (std::uint32_t round = 1; round <= match.last_round.load(); ++round) {
    if (sleeps_in_odd && match.is_over()) match.last_round.store(round);
    own.meet(round);
    if ((round % 2 == 1) == sleeps_in_odd) {
      own.sleep_until_told();
    } else {
      const std::uint32_t before = own.rings();
      own.wake_other(round);
      if (before == 0 && own.rings() != 0) ++match.found_asleep;
    }
  }
}

class WakeStress : public testing::TestWithParam<Mode> {};

TEST_P(WakeStress, NoRingIsEverMissed) {
  const std::uint32_t factor = test::is_soak() ? 10 : 1;
  const shm::test::Memory memory(shm::DirectoryLayout::kBytes);
  shm::DirectoryWriter directory(memory.base(), 1, shm::kDefaultMaxPayload, 0);
  std::array<shm::AgentRecord, 2> records{};
  for (const std::uint32_t pid : {kFirstPid, kFirstPid + 1}) {
    records[place_of(pid)].pid = pid;
    directory.set_word(place_of(pid), {kLife, shm::AgentState::kRunning});
  }
  directory.publish(records.data(), records.size());
  std::array<End, 2> ends{End(GetParam(), kFirstPid, kFirstPid + 1),
                          End(GetParam(), kFirstPid + 1, kFirstPid)};
  ends[0].connect(ends[1], directory.view());
  ends[1].connect(ends[0], directory.view());
  const test::Watchdog watchdog(factor * kHangs, [&ends] {
    std::fprintf(stderr, "a ring was missed: rounds %u and %u, status words %u and %u (0: awake)\n",
                 ends[0].round(), ends[1].round(), ends[0].sleep_word(), ends[1].sleep_word());
  });
  const auto begin = std::chrono::steady_clock::now();
  Match match{factor * kRoundsOfAMode, begin + factor * kTime, begin + factor * kHangs / 2};
  std::thread first([&] { play(ends[0], true, match); });
  std::thread second([&] { play(ends[1], false, match); });
  first.join();
  second.join();
  for (const End& end : ends) {
    EXPECT_EQ(end.refused(), 0U);
    if (os::usable_cpus() > 1) {
      EXPECT_GT(end.rings(), 0U) << "nobody slept, so nothing was tested";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, WakeStress,
                         testing::Values(Mode::kFutex, Mode::kEvents, Mode::kForeign),
                         [](const auto& mode) {
                           const bool events = mode.param == Mode::kEvents;
                           return mode.param == Mode::kFutex ? "Futex"
                                  : events                   ? "Events"
                                                             : "Foreign";
                         });

}  // namespace
}  // namespace beeline::wake
