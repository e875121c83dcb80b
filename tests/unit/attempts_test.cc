// When `beeline-bench` repeats the measurement of a row.

#include "bench/attempts.h"

#include <gtest/gtest.h>

#include <vector>

namespace beeline::bench {
namespace {

Outcome outcome_of(LimitPair limit, std::uint64_t count = Outcome::kFewest) {
  Outcome outcome;
  outcome.limit = limit;
  outcome.count = count;
  return outcome;
}

const Outcome kStable = outcome_of({100, 130});
const Outcome kUnstable = outcome_of({100, 131});

// The outcome of at most `most` attempts; each measurement returns the next of `outcomes`.
Outcome measure(int most, const std::vector<Outcome>& outcomes) {
  std::size_t next = 0;
  const auto last =
      measure_until_stable(most, [&] { return Result<Outcome>(outcomes.at(next++)); });
  EXPECT_EQ(static_cast<std::size_t>(last->attempts), next) << "it does not say how often";
  return *last;
}

TEST(Attempts, a_stable_outcome_is_measured_once) {
  EXPECT_EQ(measure(5, {kStable, kStable}).attempts, 1);
}

TEST(Attempts, an_unstable_outcome_is_measured_until_it_is_stable) {
  const Outcome last = measure(5, {kUnstable, outcome_of({131, 100}), kStable, kUnstable});
  EXPECT_EQ(last.attempts, 3);
  EXPECT_TRUE(last.stable());
}

TEST(Attempts, too_few_rounds_are_not_stable_either) {
  EXPECT_EQ(measure(5, {outcome_of({100, 100}, Outcome::kFewest - 1), kStable}).attempts, 2);
}

TEST(Attempts, the_last_one_counts_where_none_is_stable) {
  for (const int most : {1, 3}) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(most - 1), kUnstable);
    outcomes.push_back(outcome_of({100, 900}));
    const Outcome last = measure(most, outcomes);
    EXPECT_EQ(last.attempts, most);
    EXPECT_EQ(last.limit.after, 900U);
    EXPECT_FALSE(last.stable());
  }
}

TEST(Attempts, an_error_is_the_end) {
  int calls = 0;
  const auto failed = measure_until_stable(5, [&]() -> Result<Outcome> {
    ++calls;
    return fail(ErrorCode::kSystem, "broken");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text, "broken");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace beeline::bench
