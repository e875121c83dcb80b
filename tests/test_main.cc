// The main function of every test program. It differs from GoogleTest's own in two things. A
// program may be started again as a helper process of one of its tests (main_hook.h). And a run
// that skipped a test has an exit code of its own, because a skipped proof is not a proof and CI
// counts it. ctest could look for the word in the output instead, but then a run with one test
// skipped and another one failed would count as skipped.

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/main_hook.h"

namespace {

constexpr int kExitSkipped = 77;

class SkipReporter : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    for (int i = 0; i < result.total_part_count(); ++i) {
      const testing::TestPartResult& part = result.GetTestPartResult(i);
      if (!part.skipped()) continue;
      std::printf("SKIP %s.%s: %s\n", test.test_suite_name(), test.name(), part.message());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (beeline::test::main_hook != nullptr) {
    const int status = beeline::test::main_hook(argc, argv);
    if (status >= 0) return status;
  }
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new SkipReporter);
  const int status = RUN_ALL_TESTS();
  if (status != 0) return status;
  return testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? kExitSkipped : 0;
}
