// The place and the user of a hive: directories, listeners and programs of other users, variables
// of another user, and the texts that the user gets about them.

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr uid_t kVictim = 65533;
constexpr uid_t kAttacker = 65534;
constexpr int kDenied = 7;

std::string programs() {
  const char* const bin = std::getenv("BEELINE_BIN");
  return bin != nullptr ? bin : ".";
}

class CliPlace : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << "other users can be played by root alone";
    ASSERT_EQ(::chmod(folder_.c_str(), 0711), 0);
    if (as(kVictim, {}, {"beeline", "--version"}).code != 0) {
      GTEST_SKIP() << "other users cannot run the programs in " << programs();
    }
    runtime_ = folder_ + "/runtime";
    place_ = runtime_ + "/beeline/default";
    make(runtime_, kVictim);
  }

  static void make(const std::string& directory, uid_t owner, mode_t mode = 0755) {
    ASSERT_EQ(::mkdir(directory.c_str(), mode), 0) << directory;
    ASSERT_EQ(::chmod(directory.c_str(), mode), 0);
    ASSERT_EQ(::chown(directory.c_str(), owner, owner), 0);
  }

  // Runs a program as a user, with these variables and without those that name the hive's place.
  static Outcome as(uid_t user, Words variables, Words words) {
    const std::string id = std::to_string(user);
    words.front() = programs() + "/" + words.front();
    Words command = {"/usr/bin/setpriv", "--reuid",      id,   "--regid",     id,
                     "--clear-groups",   "/usr/bin/env", "-u", "BEELINE_DIR", "-u",
                     "XDG_RUNTIME_DIR"};
    command.insert(command.end(), variables.begin(), variables.end());
    command.insert(command.end(), words.begin(), words.end());
    return run(std::move(command));
  }
  [[nodiscard]] Words in_runtime() const { return {"XDG_RUNTIME_DIR=" + runtime_}; }

  void start_hive_of_attacker() const {
    const Outcome up = as(kAttacker, {"BEELINE_DIR=" + place_}, {"beeline", "up"});
    ASSERT_EQ(up.code, 0) << up.err;
    ASSERT_EQ(::chmod(place_.c_str(), 0755), 0);
    ASSERT_EQ(::chmod((place_ + "/socket").c_str(), 0666), 0);
  }
  void expect_all_refuse(const Words& variables, const std::string& reason) const {
    const std::vector<Words> all = {{"beeline", "send", "worker", "a secret"},
                                    {"beeline", "recv", "worker", "--count", "1"},
                                    {"beeline", "tree"},
                                    {"beeline", "up"},
                                    {"beeline", "down"},
                                    {"shm-dump"}};
    for (const Words& words : all) {
      const Outcome outcome = as(kVictim, variables, words);
      EXPECT_EQ(outcome.code, kDenied) << words.back() << outcome.out << outcome.err;
      EXPECT_TRUE(contains(outcome.err, reason)) << words.back() << ": " << outcome.err;
      EXPECT_TRUE(contains(outcome.err, "BEELINE_DIR=")) << outcome.err;
    }
    const Outcome doctor = as(kVictim, variables, {"beeline", "doctor"});
    EXPECT_EQ(doctor.code, 1);
    EXPECT_TRUE(contains(doctor.out, reason)) << doctor.out;
  }

  std::string runtime_;
  std::string place_;
};

// A4
TEST_F(CliPlace, NobodyJoinsAHiveOfAnotherUserThatIsNotNamed) {
  ASSERT_NO_FATAL_FAILURE(make(runtime_ + "/beeline", kAttacker));
  ASSERT_NO_FATAL_FAILURE(start_hive_of_attacker());
  expect_all_refuse(in_runtime(), runtime_ + "/beeline belongs to uid 65534");
  ASSERT_EQ(::chown((runtime_ + "/beeline").c_str(), kVictim, kVictim), 0);
  expect_all_refuse(in_runtime(), place_ + " belongs to uid 65534");
  // The attacker has moved one of his into a directory of ours.
  ASSERT_EQ(::chown(place_.c_str(), 0, 0), 0);
  const Outcome sent = as(kVictim, in_runtime(), {"beeline", "send", "worker", "a secret"});
  EXPECT_EQ(sent.code, kDenied) << sent.err;
  EXPECT_TRUE(contains(sent.err, "is run by uid 65534")) << sent.err;
  const Outcome doctor = as(kVictim, in_runtime(), {"beeline", "doctor"});
  EXPECT_TRUE(contains(doctor.out, "is run by uid 65534")) << doctor.out;

  const Words named = {"BEELINE_DIR=" + place_};
  EXPECT_EQ(as(kVictim, named, {"beeline", "tree"}).code, 0) << "the user has named it";
  ASSERT_EQ(::chown(place_.c_str(), kAttacker, kAttacker), 0);
  EXPECT_EQ(as(kAttacker, named, {"beeline", "down"}).code, 0);
}

// A4
TEST_F(CliPlace, ADirectoryInTmpThatSomebodyElseHasMadeIsRefused) {
  const uid_t user = 1'000'000'000 + static_cast<uid_t>(::getpid());
  const std::string shared = "/tmp/beeline-" + std::to_string(user);
  const auto expect_refused = [&](const std::string& reason) {
    const Outcome sent = as(user, {}, {"beeline", "send", "worker", "a secret"});
    EXPECT_EQ(sent.code, kDenied) << sent.err;
    EXPECT_TRUE(contains(sent.err, reason)) << sent.err;
    const Outcome doctor = as(user, {}, {"beeline", "doctor"});
    EXPECT_TRUE(contains(doctor.out, reason)) << doctor.out;
  };
  ASSERT_NO_FATAL_FAILURE(make(shared, kAttacker));
  expect_refused("directory " + shared + " belongs to uid 65534");
  ASSERT_EQ(::rmdir(shared.c_str()), 0);
  ASSERT_NO_FATAL_FAILURE(make(folder_ + "/elsewhere", user));
  ASSERT_EQ(::symlink((folder_ + "/elsewhere").c_str(), shared.c_str()), 0);
  expect_refused(shared + " is not a directory");
  ASSERT_EQ(::lchown(shared.c_str(), kAttacker, kAttacker), 0);
  expect_refused(shared + " belongs to uid 65534");
  ASSERT_EQ(::unlink(shared.c_str()), 0);
}

// D8
TEST_F(CliPlace, RootLeavesNothingInTheRuntimeDirectoryOfAnotherUser) {
  for (const Words& words : {Words{"beeline", "up"}, Words{"beeline", "send", "worker", "hi"}}) {
    const Outcome outcome = as(0, in_runtime(), words);
    EXPECT_EQ(outcome.code, kDenied) << outcome.err;
    for (const std::string& part : {runtime_, std::string("XDG_RUNTIME_DIR"),
                                    std::string("uid 65533"), std::string("unset")}) {
      EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
    }
  }
  EXPECT_TRUE(fs::is_empty(runtime_));
  // The directory that an earlier version has left.
  ASSERT_NO_FATAL_FAILURE(make(runtime_ + "/beeline", 0, 0700));
  const Outcome locked_out = as(kVictim, in_runtime(), {"beeline", "send", "worker", "hi"});
  EXPECT_EQ(locked_out.code, kDenied);
  EXPECT_TRUE(contains(locked_out.err, runtime_ + "/beeline: it belongs to uid 0"))
      << locked_out.err;
  const std::string missing = runtime_ + "/4711";
  for (const char* verb : {"tree", "doctor", "up"}) {
    const Outcome outcome = as(kVictim, {"XDG_RUNTIME_DIR=" + missing}, {"beeline", verb});
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.out + outcome.err, "XDG_RUNTIME_DIR=" + missing))
        << outcome.out << outcome.err;
  }
}

TEST_F(CliPlace, RootMakesNoHiveInADirectoryOfAnotherUserThatAVariableNames) {
  const std::string named = runtime_ + "/mine";
  for (const char* const end : {"", "/", "//"}) {
    const Outcome outcome = as(0, {"BEELINE_DIR=" + named + end}, {"beeline", "up"});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    for (const std::string& part :
         {"BEELINE_DIR=" + named, runtime_ + " belongs", std::string("uid 65533")}) {
      EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
    }
  }
  const Outcome doctor = as(0, {"BEELINE_DIR=" + named}, {"beeline", "doctor"});
  EXPECT_TRUE(contains(doctor.out, runtime_ + " belongs to uid 65533")) << doctor.out;
  EXPECT_TRUE(fs::is_empty(runtime_));
}

// D9
TEST_F(CliPlace, ACommandSaysThatItHasStartedAHiveAndWhereItLooked) {
  const std::string started = "beeline: started hive \"default\" in " + place_ + "\n";
  const std::string looked = "no agent named \"worker\" in hive \"default\" (" + place_ + ")";
  const Words send = {"beeline", "send", "worker", "hi"};
  const Outcome first = as(kVictim, in_runtime(), send);
  EXPECT_EQ(first.code, 4) << first.err;
  EXPECT_TRUE(contains(first.err, started)) << first.err;
  EXPECT_TRUE(contains(first.err, looked)) << first.err;
  const Outcome second = as(kVictim, in_runtime(), send);
  EXPECT_FALSE(contains(second.err, "started")) << second.err;
  for (const char* verb : {"inbox", "info"}) {
    const Outcome look = as(kVictim, in_runtime(), {"beeline", verb, "worker"});
    EXPECT_EQ(look.code, 4) << look.err;
    EXPECT_TRUE(contains(look.err, looked)) << look.err;
  }
  EXPECT_EQ(as(kVictim, in_runtime(), {"beeline", "down"}).code, 0);
  const Outcome json =
      as(kVictim, in_runtime(), {"beeline", "recv", "worker", "--json", "--timeout", "10ms"});
  EXPECT_EQ(json.out, "");
  const nlohmann::json told = json_lines(json.err).at(0);
  EXPECT_EQ("beeline: " + told.value("remark", "") + '\n', started) << json.err;
  EXPECT_EQ(as(kVictim, in_runtime(), {"beeline", "down"}).code, 0);
}

// A13: a program is copied into a directory that others may write, with other files beside it.
TEST_F(CliPlace, AProgramThatOthersCouldHaveWrittenIsNotExecuted) {
  const std::string shared = folder_ + "/shared";
  ASSERT_NO_FATAL_FAILURE(make(shared, 0, 0777));
  fs::copy_file(programs() + "/beeline", shared + "/beeline");
  std::ofstream(shared + "/beelined") << "#!/bin/sh\n: > " << folder_ << "/was-executed\n";
  ASSERT_EQ(::chmod((shared + "/beelined").c_str(), 0755), 0);
  const auto up = [&](const std::string& path) {
    return run({"/usr/bin/env", "-u", "BEELINE_BIN", "PATH=" + path, shared + "/beeline", "up"});
  };
  const Outcome refused = up(shared + ":.:");
  EXPECT_EQ(refused.code, 3) << refused.out << refused.err;
  EXPECT_TRUE(contains(refused.err, shared + "/beelined: " + shared + " can be written by"))
      << refused.err;
  const Outcome passed_over = up(shared + ":" + programs());
  EXPECT_EQ(passed_over.code, 0) << passed_over.err;
  EXPECT_EQ(beeline({"down"}).code, 0);
  EXPECT_FALSE(fs::exists(folder_ + "/was-executed"));
}

// A13: the caller of a set-uid program must not choose the place of its hive.
TEST_F(CliPlace, AProgramWithMoreRightsThanItsCallerObeysNoVariable) {
  struct statvfs mounted {};
  ASSERT_EQ(::statvfs(folder_.c_str(), &mounted), 0);
  if ((mounted.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << folder_ << " is mounted nosuid";
  const std::string program = folder_ + "/set-uid";
  fs::copy_file(programs() + "/beeline", program);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  const std::string id = std::to_string(kVictim);
  const Outcome doctor =
      run({"/usr/bin/setpriv", "--reuid", id, "--regid", id, "--clear-groups", program, "doctor"});
  EXPECT_TRUE(contains(doctor.out, "directory")) << doctor.err;
  EXPECT_FALSE(contains(doctor.out, directory_)) << doctor.out;
}

}  // namespace
}  // namespace beeline::test
