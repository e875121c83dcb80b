// Programs that may be executed: nobody else could have written or placed them.

#include "src/control/program_check.h"

#include <gtest/gtest.h>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace beeline::control {
namespace {

constexpr uid_t kOther = 65534;

class ProgramCheck : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "beeline-program-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    inner_ = folder_ + "/bin";
    program_ = inner_ + "/beelined";
    ASSERT_EQ(::mkdir(inner_.c_str(), 0755), 0);
    std::ofstream(program_) << "#!/bin/sh\n";
    ASSERT_EQ(::chmod(program_.c_str(), 0755), 0);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void expect_good(const std::string& path) const {
    const auto found = check_program(path);
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->value_or(""), std::filesystem::canonical(program_).string());
  }
  static void expect_refused(const std::string& path, const std::string& culprit) {
    const auto found = check_program(path);
    ASSERT_FALSE(found) << path;
    EXPECT_EQ(found.error().code, ErrorCode::kDenied);
    EXPECT_NE(found.error().text.find(culprit), std::string::npos) << found.error().text;
  }

  std::string folder_;
  std::string inner_;
  std::string program_;
};

TEST_F(ProgramCheck, OneOfOurOwnIsGoodAndOneThatIsNotThereIsNone) {
  expect_good(program_);
  const std::string link = folder_ + "/link";
  ASSERT_EQ(::symlink(program_.c_str(), link.c_str()), 0);
  expect_good(link);
  const auto none = check_program(folder_ + "/none");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  ASSERT_EQ(::chmod(inner_.c_str(), 01777), 0);
  expect_good(program_);
  ASSERT_EQ(::chmod(inner_.c_str(), 0775), 0);
  expect_good(program_);  // our own group
}

TEST_F(ProgramCheck, AProgramThatOthersMayWriteIsRefusedAtEveryStepOfItsPath) {
  expect_refused(inner_, inner_ + " is not a regular file");
  for (const std::string& path : {program_, inner_, folder_}) {
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
    expect_refused(program_, path + " can be written by everybody");
    const std::string link = folder_ + "/link";
    ASSERT_EQ(::symlink(program_.c_str(), link.c_str()), 0);
    expect_refused(link, path + " can be written by everybody");
    ASSERT_EQ(::unlink(link.c_str()), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  ASSERT_EQ(::chmod(program_.c_str(), 0644), 0);
  expect_refused(program_, program_ + " cannot be executed");
}

TEST_F(ProgramCheck, AProgramOfAnotherUserOrGroupIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "files of others can be made by root alone";
  for (const std::string& path : {program_, inner_, folder_}) {
    ASSERT_EQ(::chown(path.c_str(), kOther, ::getegid()), 0);
    expect_refused(program_, path + " belongs to uid 65534");
    ASSERT_EQ(::chown(path.c_str(), 0, kOther), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0775), 0);
    expect_refused(program_, path + " can be written by group 65534");
    ASSERT_EQ(::chown(path.c_str(), 0, ::getegid()), 0);
  }
  expect_good(program_);
}

// Many systems give all users one primary group.
TEST_F(ProgramCheck, AProgramThatOurGroupMayWriteIsRefusedIfTheGroupHasOtherMembers) {
  if (::geteuid() != 0) GTEST_SKIP() << "other groups can be played by root alone";
  constexpr gid_t kShared = 65500;
  ASSERT_EQ(::setegid(kShared), 0);
  for (const std::string& path : {program_, inner_, folder_}) {
    ASSERT_EQ(::chown(path.c_str(), 0, kShared), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0775), 0);
    expect_refused(program_, path + " can be written by group 65500 (mode 775)");
    expect_refused(program_, "chmod g-w");
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  expect_good(program_);
  ASSERT_EQ(::setegid(0), 0);
}

TEST_F(ProgramCheck, OurPrivateGroupMayWrite) {
  constexpr uid_t kDaemon = 1;
  const passwd* const user = ::getpwuid(kDaemon);
  const group* const own = ::getgrgid(kDaemon);
  const bool is_private = user != nullptr && own != nullptr && user->pw_gid == kDaemon &&
                          std::string(user->pw_name) == own->gr_name && *own->gr_mem == nullptr;
  if (::geteuid() != 0 || !is_private) GTEST_SKIP() << "uid 1 cannot be played here";
  for (const std::string& path : {program_, inner_, folder_}) {
    ASSERT_EQ(::chown(path.c_str(), kDaemon, kDaemon), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0775), 0);
  }
  ASSERT_EQ(::seteuid(kDaemon), 0);
  expect_good(program_);
  ASSERT_EQ(::seteuid(0), 0);
}

}  // namespace
}  // namespace beeline::control
