#include "tests/fault/event_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/soak.h"

namespace beeline::test {

void sweep_events(const EventSweep& sweep, const std::function<bool(std::uint64_t event)>& shoot) {
  constexpr std::uint64_t kMostEvents = 20'000;            // more: it goes in circles
  constexpr int kTries = 3;                                // to reach an event of the first run
  const std::uint64_t kMayBeShorter = is_soak() ? 10 : 3;  // this part of the events may stay
                                                           // unreached,
  constexpr std::uint64_t kUnderWay = 5;  // and the events that were under way when the first run
                                          // began,
  constexpr std::uint64_t kOfAll = 4;     // but of few events at most this part
  const auto is_over = [] { return testing::Test::HasFailure(); };
  std::uint64_t event = 1;
  std::uint64_t aimed = 0;   // at events of the first run
  std::uint64_t missed = 0;  // of these
  bool reached = true;
  do {
    if (is_over()) return;  // the others would fail for the same reason
    reached = shoot(event);
    if (event <= sweep.events) {
      for (int i = 1; i < kTries && !reached && !is_over(); ++i) reached = shoot(event);
      ++aimed;
      missed += reached ? 0 : 1;
    }
    event = event == 1 ? sweep.second : event + sweep.step;
  } while ((event <= sweep.events || reached) && event < kMostEvents);
  EXPECT_LT(event, kMostEvents) << sweep.name << " does not come to its end";
  EXPECT_LE(missed, aimed / kMayBeShorter + std::min(kUnderWay, aimed / kOfAll))
      << sweep.name << ": so many of " << aimed << " events of the first run were not reached "
      << "again; what makes the others so much shorter?";
}

}  // namespace beeline::test
