// Runs the program in C that uses every call.

#include <cstdlib>
#include <string>

#include "src/c/codes.h"
#include "tests/c/c_hive.h"
#include "tests/support/program.h"

namespace beeline::test {
namespace {

class CProgram : public CHive {};

TEST_F(CProgram, UsesEveryCall) {
  const Outcome outcome = run({std::string(std::getenv("BEELINE_BIN")) + "/tests/every-call"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(CCodes, EachHasTheNumberAndTheNameThatItEverHad) {
  const char* const names[] = {
      "ok",          "system",    "invalid",         "no_coordinator", "already_running",
      "no_agent",    "no_route",  "denied",          "timeout",        "full",
      "too_big",     "peer_dead", "peer_dead_taken", "loop",           "no_memory",
      "bad_segment", "version",   "protocol",        "closed",         "notice",
      "unanswered",  "rejected",  "failed",          "rate_limited",   "nothing"};
  for (beeline_code code = BEELINE_OK; code <= BEELINE_NOTHING; ++code) {
    EXPECT_STREQ(beeline_code_name(code), names[code]);
  }
  EXPECT_STREQ(beeline_code_name(25), "unknown");
  EXPECT_STREQ(beeline_code_name(-1), "unknown");
  for (int i = 0; i <= static_cast<int>(SendStatus::kRateLimited); ++i) {
    const auto status = static_cast<SendStatus>(i);
    EXPECT_EQ(to_string(status), beeline_code_name(c::code_of(status)));
  }
}

}  // namespace
}  // namespace beeline::test
