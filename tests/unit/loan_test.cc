#include <beeline/message.h>
#include <gtest/gtest.h>

#include <string>

namespace beeline {
namespace {

TEST(LoanTest, ALoanDoesNotGrow) {
  Loan loan;
  EXPECT_TRUE(loan.shrink(0));
  const Result<void> grown = loan.shrink(1);
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().code, ErrorCode::kInvalid);
  EXPECT_NE(grown.error().text.find("a loan of 0 bytes cannot become one of 1"), std::string::npos);
  EXPECT_EQ(loan.size(), 0U);
}

}  // namespace
}  // namespace beeline
