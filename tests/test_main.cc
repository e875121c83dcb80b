// The main function of every test program. It differs from GoogleTest's own in four things. A
// program may be started again as a helper process of one of its tests (main_hook.h). A run that
// skipped a test has an exit code of its own, because a skipped proof is not a proof and CI counts
// it. ctest could look for the word in the output instead, but then a run with one test skipped and
// another one failed would count as skipped. BEELINE_THREADS_ALONE=1 leaves out the half of the
// tests that plays with processes what the other half plays with threads: the preset asan sets it,
// because the sanitizer sees the same code in both. And BEELINE_LEAVE_OUT holds the patterns of the
// tests that a preset leaves out: the filter of a part would take the place of $GTEST_FILTER.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

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

bool asks_for_threads_alone() {
  const char* const text = std::getenv("BEELINE_THREADS_ALONE");
  return text != nullptr && std::string_view(text) == "1";
}

// Takes more tests out of the filter of the command line, which a part of a program has.
void leave_out(std::string_view patterns) {
  std::string filter = testing::GTEST_FLAG(filter);
  filter += filter.find('-') == std::string::npos ? '-' : ':';
  filter += patterns;
  testing::GTEST_FLAG(filter) = filter;
}

// A test of processes that has no twin with threads stays.
void leave_out_twins() {
  constexpr std::string_view kThreads = "/Threads";
  std::set<std::string> twins;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(j)->name();
      if (!name.ends_with(kThreads)) continue;
      twins.insert(name.substr(0, name.size() - kThreads.size()) + "/Processes");
    }
  }
  for (const std::string& twin : twins) leave_out(twin);
}

}  // namespace

int main(int argc, char** argv) {
  if (beeline::test::main_hook != nullptr) {
    const int status = beeline::test::main_hook(argc, argv);
    if (status >= 0) return status;
  }
  testing::InitGoogleTest(&argc, argv);
  if (asks_for_threads_alone()) leave_out_twins();
  if (const char* patterns = std::getenv("BEELINE_LEAVE_OUT")) leave_out(patterns);
  testing::UnitTest::GetInstance()->listeners().Append(new SkipReporter);
  const int status = RUN_ALL_TESTS();
  if (status != 0) return status;
  return testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? kExitSkipped : 0;
}
