#include "shm/check.h"

#include <gtest/gtest.h>

namespace beeline::shm {
namespace {

enum class Colour : unsigned char { kRed = 3 };

int count_up(int& count) { return ++count; }

TEST(CheckTest, AConditionThatHoldsIsEvaluatedOnceAndChangesNothing) {
  int count = 0;
  BEELINE_CHECK(count_up(count) == 1);
  BEELINE_CHECK(count == 1, count);
  EXPECT_EQ(count, 1);
}

TEST(CheckTest, AFailedCheckNamesItsPlaceAndItsCondition) {
  const int slab = 7;
  EXPECT_DEATH(BEELINE_CHECK(slab < 4),
               "^beeline: tests/unit/check_test.cc:[0-9]+: check failed: slab < 4\n$");
}

TEST(CheckTest, AFailedCheckPrintsTheValuesThatItWasGiven) {
  const std::int32_t rank = -5;
  const std::uint64_t most = UINT64_MAX;
  EXPECT_DEATH(BEELINE_CHECK(rank == 0, rank, most, Colour::kRed, true, 0.25),
               "check failed: rank == 0; rank, most, Colour::kRed, true, 0.25: "
               "-5 18446744073709551615 3 1 0.25\n$");
  const int* const nothing = &rank;
  EXPECT_DEATH(BEELINE_CHECK(nothing == nullptr, nothing), "; nothing: 0x[0-9a-f]+\n$");
}

TEST(CheckTest, ValuesBeyondTheRoomForThemAreCutOff) {
  const std::uint64_t most = UINT64_MAX;
#define FOUR_VALUES most, most, most, most
#define SIXTEEN_VALUES FOUR_VALUES, FOUR_VALUES, FOUR_VALUES, FOUR_VALUES
  EXPECT_DEATH(BEELINE_CHECK(most == 0, SIXTEEN_VALUES, SIXTEEN_VALUES),
               "SIXTEEN_VALUES: 1844.*\n$");
#undef SIXTEEN_VALUES
#undef FOUR_VALUES
}

TEST(CheckTest, ADebugCheckCostsNothingInARelease) {
  int count = 0;
#ifdef NDEBUG
  BEELINE_DCHECK(count_up(count) == 2);
  EXPECT_EQ(count, 0);
#else
  EXPECT_DEATH(BEELINE_DCHECK(count_up(count) == 2, count), "check failed: count_up");
#endif
}

TEST(CheckTest, AConstantExpressionMayHoldAnyCheck) {
  constexpr auto half = [](int number) {
    BEELINE_CHECK(number % 2 == 0, number);
    BEELINE_DCHECK(number >= 0, number);
    return number / 2;
  };
  static_assert(half(4) == 2);
  EXPECT_DEATH((void)half(3), "number % 2 == 0");
}

}  // namespace
}  // namespace beeline::shm
