// A hive changes its directory when it admits a group, and undoes that after a kill at any point.
// The lock file keeps the state of the directory before.

#include "src/control/hive_paths.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace beeline::control {
namespace {

std::string text_of(const DirectoryAccess& access) {
  return fmt::format("{:o}:{}", access.mode, access.group);
}

class HiveDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "beeline-paths-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    paths_.directory = folder_ + "/hive";
    paths_.lock = paths_.directory + "/lock";
    socket_ = paths_.directory + "/socket";
    ASSERT_EQ(::mkdir(paths_.directory.c_str(), 0700), 0);
    std::ofstream(socket_) << "as good as a socket";
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void make(const DirectoryAccess& access) {
    ASSERT_EQ(::chown(paths_.directory.c_str(), static_cast<uid_t>(-1), access.group), 0);
    ASSERT_EQ(::chmod(paths_.directory.c_str(), access.mode), 0);
  }
  [[nodiscard]] std::string now() const {
    const auto found = directory_access(paths_);
    return found ? text_of(*found) : found.error().text;
  }

  const bool any_group_ = ::geteuid() == 0;  // a user may give a folder only to groups of his own
  const gid_t group_ = any_group_ ? 65500 : ::getegid();  // is admitted
  const gid_t own_ = any_group_ ? 65501 : ::getegid();    // had the directory before
  HivePaths paths_;
  std::string socket_;

 private:
  std::string folder_;
};

TEST_F(HiveDirectoryTest, IsGivenBackWhereverItsHiveWasKilled) {
  for (const mode_t mode : {0700U, 0710U, 0750U, 0704U}) {
    const DirectoryAccess before{mode, own_};
    if (own_ == group_ && (mode & 010) != 0) continue;  // that group may pass already
    const mode_t closed = mode & ~070U;
    ASSERT_NO_FATAL_FAILURE(make(before));
    ASSERT_TRUE(admit_group(paths_, socket_, group_));
    const DirectoryAccess open{0750, group_};
    EXPECT_EQ(now(), text_of(open));
    const std::vector<DirectoryAccess> left = {
        before, {mode, group_}, open, {closed, group_}, {closed, own_}};
    for (const DirectoryAccess& access : left) {
      ASSERT_NO_FATAL_FAILURE(make(access));
      EXPECT_TRUE(close_directory(paths_, {before, group_}));
      EXPECT_EQ(now(), text_of(before)) << "it was left as " << text_of(access);
    }
  }
}

TEST_F(HiveDirectoryTest, StaysWhereItsUserHasChangedItSince) {
  if (!any_group_) GTEST_SKIP() << "the group of a folder can be any for root alone";
  struct Case {
    mode_t before;
    DirectoryAccess now;
    const char* why;
  };
  const gid_t others = own_ + 1;
  const std::vector<Case> cases = {
      {0700, {0750, others}, "it was given to another group"},
      {0700, {0700, others}, "likewise"},
      {0700, {0755, group_}, "it was opened to all"},
      {0700, {0750, own_}, "it was opened to its group"},
      {0755, {0750, group_}, "who was admitted could pass before"},
      {0755, {0705, own_}, "likewise"},
  };
  for (const Case& each : cases) {
    ASSERT_NO_FATAL_FAILURE(make(each.now));
    EXPECT_TRUE(close_directory(paths_, {{each.before, own_}, group_}));
    EXPECT_EQ(now(), text_of(each.now)) << each.why;
  }
}

TEST_F(HiveDirectoryTest, HowItWasIsKnownFromAWholeLineAlone) {
  HiveHolder holder{"hive", 4711, "2026-01-02T03:04:05Z", DirectoryOpening{{0750, own_}, group_}};
  const std::string whole = holder_text(holder);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(paths_.lock, std::ios::trunc) << whole.substr(0, length);
    const auto read = read_holder(paths_.lock);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->opening.has_value(), length == whole.size()) << length;
  }
  const auto read = read_holder(paths_.lock);
  EXPECT_EQ(text_of(read->opening->before), text_of(holder.opening->before));
  EXPECT_EQ(read->opening->group, group_);
  for (const char* const bad : {"opened 750\n", "opened 750:1\n", "opened 750:1:\n",
                                "opened 8:1:2\n", "opened 750:x:2\n", "opened 750:1:2x\n"}) {
    std::ofstream(paths_.lock, std::ios::trunc) << bad;
    EXPECT_FALSE(read_holder(paths_.lock)->opening) << bad;
  }
}

}  // namespace
}  // namespace beeline::control
