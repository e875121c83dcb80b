#include "src/steward/child_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace beeline::steward {
namespace {

namespace fs = std::filesystem;

class StewardChildLog : public testing::Test {
 protected:
  StewardChildLog() {
    root_ = (fs::temp_directory_path() / "log-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
  }
  ~StewardChildLog() override { fs::remove_all(root_); }
  static void write(const ChildLog& log, const std::string& text) {
    const auto file = log.open();
    ASSERT_TRUE(file) << file.error().text;
    ASSERT_EQ(::write(file->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string root_;
};

TEST_F(StewardChildLog, TheNameOfTheFileIsPlain) {
  EXPECT_EQ(ChildLog(root_, "../a b/é", 7).path(), root_ + "/_._a_b___-7.log");
}

TEST_F(StewardChildLog, TheLastLinesAreWhole) {
  const ChildLog log(root_, "a", 1);
  EXPECT_EQ(log.last_lines(), "");
  write(log, "one\n\x01two\n");
  EXPECT_EQ(log.last_lines(), "one\n?two");
  for (int i = 0; i < 1000; ++i) write(log, "line " + std::to_string(i) + "\n");
  const std::string last = log.last_lines();
  EXPECT_LE(last.size(), kMostLastBytes);
  EXPECT_TRUE(last.starts_with("line ")) << last.substr(0, 20);
  EXPECT_TRUE(last.ends_with("line 999"));
}

TEST_F(StewardChildLog, TheFrontGoesAndTheEndStays) {
  const ChildLog log(root_, "a", 1);
  constexpr std::uint64_t kKeep = 8192;
  write(log, std::string(kKeep, 'x'));
  EXPECT_FALSE(log.trim(kKeep));
  for (int i = 0; i < 100; ++i) write(log, std::string(4095, 'y') + "\n");
  write(log, "the end\n");
  EXPECT_TRUE(log.trim(kKeep));
  struct stat facts {};
  ASSERT_EQ(::stat(log.path().c_str(), &facts), 0);
  EXPECT_LE(facts.st_blocks * 512, static_cast<blkcnt_t>(2 * kKeep));
  EXPECT_TRUE(log.last_lines().ends_with("the end"));
  EXPECT_FALSE(log.trim(kKeep)) << "there is nothing to give back now";
}

}  // namespace
}  // namespace beeline::steward
