// Foreign texts in log and errors, and deadlines at the ends of the clock.

#include <gtest/gtest.h>

#include <chrono>

#include <beeline/types.h>

#include "src/control/quotes.h"

namespace beeline::control {
namespace {

TEST(Quotes, CharactersThatATerminalObeysOrAnEditorHidesAreEscaped) {
  EXPECT_EQ(in_quotes("a \"b\" \\ \n\x1b\x7f"), R"("a \"b\" \\ \x0a\x1b\x7f")");
  EXPECT_EQ(in_quotes("\u009b31m\u0085"), R"("\u{9b}31m\u{85}")") << "control characters of C1";
  EXPECT_EQ(in_quotes("a\u202eb\u2066c\u200dd\ufeff"), R"("a\u{202e}b\u{2066}c\u{200d}d\u{feff}")");
  EXPECT_EQ(in_quotes("\u2028\U000e0041"), R"("\u{2028}\u{e0041}")");
  EXPECT_EQ(in_quotes("caf\xe9 \xc2"), R"("caf\xe9 \xc2")") << "no UTF-8";
  EXPECT_EQ(in_quotes("\xed\xa0\x80"), R"("\xed\xa0\x80")") << "a surrogate";
  EXPECT_EQ(in_quotes("caf\u00e9 \u8702 \U0001f41d"), "\"caf\u00e9 \u8702 \U0001f41d\"");
}

TEST(Deadlines, TheyEndWhereTheClockDoes) {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(after(nanoseconds::max()), Deadline::max());
  EXPECT_LT(after(nanoseconds::min()), now);
  EXPECT_GE(after(nanoseconds::min()), Deadline());
  EXPECT_LT(after(std::chrono::hours(-1)), now);
  EXPECT_GE(after(std::chrono::hours(1)), now + std::chrono::hours(1));
}

}  // namespace
}  // namespace beeline::control
