// Task folders through the C interface: nonsense is refused, and handles outlive their folder.

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

#define EXPECT_MISSING(call, word)                 \
  EXPECT_EQ(call, BEELINE_SPOOL_INVALID_ARGUMENT); \
  EXPECT_SAYS("`" word "` is null")

class CSpool : public testing::Test {
 protected:
  CSpool() {
    std::string pattern = (std::filesystem::temp_directory_path() / "c-spool-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    beeline_spool_options_init(&options_);
    options_.dir = dir_.c_str();
    EXPECT_EQ(beeline_spool_open(&options_, &spool_), BEELINE_SPOOL_OK) << beeline_error_text();
  }
  ~CSpool() override {
    beeline_spool_close(spool_);
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  [[nodiscard]] beeline_claim* claimed(const char* task) const {
    beeline_claim* claim = nullptr;
    EXPECT_EQ(beeline_spool_put(spool_, task, BEELINE_TEXT, nullptr), BEELINE_SPOOL_OK);
    EXPECT_EQ(beeline_spool_claim(spool_, 0, &claim), BEELINE_SPOOL_OK) << beeline_error_text();
    return claim;
  }
  [[nodiscard]] bool has(const char* file) const { return std::filesystem::exists(dir_ + file); }

  std::string dir_;
  beeline_spool_options options_{};
  beeline_spool* spool_ = nullptr;
};

TEST_F(CSpool, NullIsRefused) {
  beeline_claim* claim = nullptr;
  const char* text = nullptr;
  EXPECT_MISSING(beeline_spool_open(nullptr, nullptr), "spool");
  EXPECT_MISSING(beeline_spool_describe(spool_, nullptr), "text");
  EXPECT_MISSING(beeline_spool_put(nullptr, "{}", 2, nullptr), "spool");
  EXPECT_MISSING(beeline_spool_put(spool_, nullptr, 0, nullptr), "task");
  EXPECT_MISSING(beeline_spool_claim(spool_, 0, nullptr), "claim");
  EXPECT_MISSING(beeline_spool_held(spool_, nullptr, 0, &claim), "id");
  EXPECT_MISSING(beeline_spool_take_over(nullptr, &text), "spool");
  EXPECT_MISSING(beeline_spool_list(spool_, 0, nullptr), "text");
  EXPECT_MISSING(beeline_spool_find(spool_, nullptr, 0, &text), "id");
  EXPECT_MISSING(beeline_spool_sweep(nullptr, &text), "spool");
  EXPECT_MISSING(beeline_spool_watch_open(nullptr, nullptr), "watch");
  EXPECT_MISSING(beeline_claim_write_note(nullptr, "a", 1), "claim");
  EXPECT_MISSING(beeline_claim_complete(nullptr, nullptr, 0), "claim");
  EXPECT_MISSING(beeline_claim_retry(nullptr, "a", 1, nullptr), "claim");
  EXPECT_MISSING(beeline_claim_heartbeat(nullptr), "claim");
  EXPECT_EQ(beeline_spool_fd(nullptr) + beeline_spool_watch_fd(nullptr), -2);
  EXPECT_EQ(beeline_spool_next_remark(nullptr), nullptr);
  EXPECT_FALSE(beeline_claim_is_held(nullptr) || beeline_spool_watch_next(nullptr, nullptr));
  EXPECT_STREQ(beeline_claim_id(nullptr), "");
  EXPECT_STREQ(beeline_claim_json(nullptr), "");
  EXPECT_STREQ(beeline_claim_note(nullptr, nullptr), "");
  beeline_claim_keep(nullptr);
  beeline_claim_free(nullptr);
  beeline_spool_close(nullptr);
  beeline_spool_watch_free(nullptr);
}

TEST_F(CSpool, OptionsSayTheirFault) {
  beeline_spool* other = nullptr;
  beeline_spool_options wrong{};
  EXPECT_EQ(beeline_spool_open(&wrong, &other), BEELINE_SPOOL_INVALID_ARGUMENT);
  EXPECT_SAYS("`options->size` is 0");
  wrong = options_;
  wrong.sync = 3;
  EXPECT_EQ(beeline_spool_open(&wrong, &other), BEELINE_SPOOL_INVALID_ARGUMENT);
  EXPECT_SAYS("`options->sync` is 3, it must be from 0 to 2");
  const std::string file = dir_ + "/file";
  EXPECT_EQ(::symlink("/dev/null", file.c_str()), 0);
  options_.dir = file.c_str();
  EXPECT_EQ(beeline_spool_open(&options_, &other), BEELINE_SPOOL_MAILBOX_DIR);
  EXPECT_EQ(beeline_error_errno(), ENOTDIR) << beeline_error_text();
  EXPECT_EQ(other, nullptr);
}

// DR-020: each of the document's five errors has its code and its name.
TEST_F(CSpool, EachErrorHasItsCode) {
  const char* const names[] = {"ok",         "ErrMailboxDir",   "ErrTaskExists",
                               "ErrNoTasks", "ErrTaskNotFound", "ErrInvalidTask",
                               "invalid",    "no_memory",       "unknown"};
  for (beeline_spool_code code = 0; code < 9; ++code) {
    EXPECT_STREQ(beeline_spool_code_name(code), names[code]);
  }
  beeline_claim* claim = claimed(R"({"id": "a"})");
  beeline_claim* none = nullptr;
  const char* text = "";
  EXPECT_EQ(beeline_spool_put(spool_, R"({"id": "a"})", BEELINE_TEXT, &text),
            BEELINE_SPOOL_TASK_EXISTS);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(beeline_spool_put(spool_, "[]", 2, nullptr), BEELINE_SPOOL_INVALID_TASK);
  EXPECT_EQ(beeline_spool_claim(spool_, 0, &none), BEELINE_SPOOL_NO_TASKS);
  EXPECT_SAYS("no tasks available");
  EXPECT_EQ(beeline_spool_held(spool_, "b", 1, &none), BEELINE_SPOOL_TASK_NOT_FOUND);
  EXPECT_EQ(beeline_spool_find(spool_, "b", 1, &text), BEELINE_SPOOL_TASK_NOT_FOUND);
  EXPECT_EQ(beeline_spool_list(spool_, 4, &text), BEELINE_SPOOL_INVALID_ARGUMENT);
  EXPECT_EQ(beeline_claim_complete(claim, "7", 1), BEELINE_SPOOL_INVALID_TASK);
  EXPECT_TRUE(beeline_claim_is_held(claim));
  EXPECT_EQ(beeline_claim_complete(claim, nullptr, 0), BEELINE_SPOOL_OK);
  EXPECT_EQ(beeline_claim_fail(claim, "late", 4), BEELINE_SPOOL_TASK_NOT_FOUND);
  beeline_claim_free(claim);
}

TEST_F(CSpool, AClaimOutlivesItsSpool) {
  beeline_claim* claim = claimed(R"({"id": "a \" b"})");
  ASSERT_TRUE(has("/processing/a \" b.json"));
  beeline_spool_close(std::exchange(spool_, nullptr));
  EXPECT_TRUE(has("/inbox/a \" b.json"));
  EXPECT_FALSE(beeline_claim_is_held(claim));
  EXPECT_EQ(beeline_claim_retry(claim, "a", 1, nullptr), BEELINE_SPOOL_TASK_NOT_FOUND);
  EXPECT_STREQ(beeline_claim_id(claim), "a \" b");
  beeline_claim_free(claim);
}

TEST_F(CSpool, AChildLeavesTheClaimToItsParent) {
  beeline_claim* claim = claimed(R"({"id": "a"})");
  const pid_t child = ::fork();
  if (child == 0) {
    beeline_claim_free(claim);
    beeline_spool_close(spool_);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(beeline_claim_complete(claim, nullptr, 0), BEELINE_SPOOL_OK) << beeline_error_text();
  beeline_claim_free(claim);
}

}  // namespace
}  // namespace beeline::test
