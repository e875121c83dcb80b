// Random trees, sends, answers, acknowledgements, deaths and restarts, compared with a small model
// of
// the rules for a mailbox.
//
// BEELINE_SEED sets the seed that is printed. The short form always runs the same story, so that
// the
// author of a mistake sees it. BEELINE_SOAK=1 takes a new one, and twenty times as many steps. No
// seed
// decides where in a call a kill falls, so a failure may take some runs to come again.
// BEELINE_EVENTS
// sets how much of the story a failure shows.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "src/os/clock.h"
#include "tests/model/driver.h"
#include "tests/support/hive_test.h"
#include "tests/support/soak.h"

namespace beeline::test {
namespace {

constexpr int kSteps = 20'000;
constexpr int kSoakSteps = 400'000;
constexpr int kBriefSteps = 4000;
constexpr int kStepsToGather = 1000;

std::uint64_t choose_seed() {
  constexpr std::uint64_t kShortForm = 922;
  if (const char* text = std::getenv("BEELINE_SEED"); text != nullptr) {
    return std::strtoull(text, nullptr, 10);
  }
  return is_soak() ? static_cast<std::uint64_t>(os::monotonic_ns()) % 1'000'000'000 : kShortForm;
}

class MailboxModelTest : public HiveTest {
 protected:
  void SetUp() override {
    start(World::kProcesses, is_soak() ? 3600s : 500s, sizeof(PuppetBoard));
    seed_ = choose_seed();
    std::printf("mailbox_model_test: BEELINE_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    std::fflush(stdout);
  }

  bool walk(Driver& driver, std::mt19937_64& random) {
    const int steps = is_soak() ? kSoakSteps : is_brief() ? kBriefSteps : kSteps;
    for (int i = 1; i <= steps; ++i) {
      if (!driver.take(next_step(random))) return false;
      if (i % kStepsToGather == 0 && !driver.gather()) return false;
    }
    return true;
  }

  std::uint64_t seed_ = 0;
};

TEST_F(MailboxModelTest, EveryCallDoesWhatTheModelSays) {
  std::mt19937_64 random(seed_);
  Driver driver(hive(), troupe(), memory_.as<PuppetBoard>());
  driver.set_up(random);
  ASSERT_FALSE(HasFailure());
  if (!walk(driver, random)) {
    FAIL() << "BEELINE_SEED=" << seed_ << ", step " << driver.steps() << driver.story();
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(StepKind::kCount); ++i) {
    const auto kind = static_cast<StepKind>(i);
    std::printf("  %s %llu", to_string(kind).c_str(),
                static_cast<unsigned long long>(driver.count(kind)));
    EXPECT_GT(driver.count(kind), 0U) << to_string(kind) << " never meant anything";
  }
  std::printf("\n");
  driver.close();
}

}  // namespace
}  // namespace beeline::test
