// beeline doctor, and its findings on a kernel that lacks something.

#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include "src/control/hive_paths.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliDoctor : public CliTest {
 protected:
  // Runs the program on a kernel that lacks a system call or does not keep its promise.
  static Outcome without(const std::string& call, std::vector<std::string> words) {
    const char* const bin = std::getenv("BEELINE_BIN");
    const std::string programs = bin != nullptr ? bin : ".";
    words.front() = programs + "/" + words.front();
    words.insert(words.begin(), {programs + "/tests/without-syscall", call});
    return run(std::move(words));
  }
  // Starts a hive that admits a group, and kills its keeper and its coordinator.
  void up_and_kill(gid_t group) {
    (void)good({"up", "--group", std::to_string(group)});
    struct stat found {};
    ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
    ASSERT_EQ(found.st_mode & 0777, 0750U);
    ASSERT_EQ(found.st_gid, group);
    const json status = good_json({"status"});
    for (const char* process : {"keeper_pid", "coordinator_pid"}) {
      const auto pidfd = os::open_pidfd(status.at(process).get<pid_t>());
      ASSERT_TRUE(pidfd) << pidfd.error().text;
      ASSERT_TRUE(os::send_signal(pidfd->get(), SIGKILL));
      // Until it has ended, its socket takes connections.
      ASSERT_TRUE(os::wait_readable(pidfd->get(), std::chrono::seconds(20)));
    }
  }
  static std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static bool holds(const json& checks, const std::string& check) {
    for (const json& one : checks) {
      if (one.at("check") == check) return one.at("ok").get<bool>();
    }
    ADD_FAILURE() << "no check " << check << " in " << checks;
    return false;
  }
};

TEST_F(CliDoctor, ThisMachineCanHoldAHiveAndNothingOfTheTrialIsLeft) {
  const json checks = good_json({"doctor"});
  for (const char* check :
       {"memfd_seals", "memfd_growth", "memfd_windows", "memfd_reopen", "futex_read_only", "pidfd",
        "packet_sockets", "open_files", "file_size", "memory", "directory", "start", "message"}) {
    EXPECT_TRUE(holds(checks, check)) << checks;
  }
  EXPECT_TRUE(contains(good({"doctor"}), directory_));
  EXPECT_FALSE(std::filesystem::exists(directory_));
  ASSERT_TRUE(std::filesystem::create_directory(directory_));
  (void)good({"doctor"});
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// A start fails there for the same reason.
TEST_F(CliDoctor, ADirectoryThatCannotBeMadeFails) {
  std::ofstream(folder_ + "/file") << "";
  ASSERT_EQ(::setenv("BEELINE_DIR", (folder_ + "/file/hive").c_str(), 1), 0);
  const Outcome doctor = beeline({"doctor", "--json"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_FALSE(holds(json::parse(doctor.out), "directory")) << doctor.out;

  ::unsetenv("BEELINE_DIR");
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", (folder_ + "/gone").c_str(), 1), 0);
  const Outcome gone = beeline({"doctor", "--json"});
  ::unsetenv("XDG_RUNTIME_DIR");
  ASSERT_EQ(::setenv("BEELINE_DIR", directory_.c_str(), 1), 0);
  EXPECT_EQ(gone.code, 1);
  EXPECT_FALSE(holds(json::parse(gone.out), "directory")) << gone.out;
  EXPECT_FALSE(holds(json::parse(gone.out), "runtime_directory")) << gone.out;
}

TEST_F(CliDoctor, ALimitOfFileSizesIsSaidBeforeItHurts) {
  const Outcome doctor =
      run({"/bin/bash", "-c", "ulimit -f 100; $BEELINE_BIN/beeline doctor --json"});
  EXPECT_EQ(doctor.code, 1) << doctor.err;
  const json checks = json::parse(doctor.out);
  EXPECT_FALSE(holds(checks, "file_size")) << checks;
  EXPECT_FALSE(holds(checks, "start")) << checks;
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(CliDoctor, AHiveStartsWithoutInotifyAndDoctorWarnsOfIt) {
  const Outcome doctor = without("inotify_init1", {"beeline", "doctor", "--json"});
  if (doctor.code == 77) GTEST_SKIP() << "no seccomp filter here: " << doctor.err;
  EXPECT_EQ(doctor.code, 0) << doctor.out << doctor.err;
  for (const json& one : json::parse(doctor.out)) {
    EXPECT_EQ(one.at("warning").get<bool>(), one.at("check") == "inotify") << one;
  }
}

// A missing call, and all the facts that are missing without it.
struct Lack {
  std::string call;
  std::vector<std::string> facts;  // the first is the one that a start names
  std::string text;                // of the first
};
const std::array kLacks = {
    Lack{"seals", {"memfd_seals"}, "can be mapped for writing once more"},
    Lack{"shrinking", {"memfd_seals"}, "can be made smaller"},
    Lack{"growing", {"memfd_seals"}, "can be made larger"},
    Lack{"further seals", {"memfd_seals"}, "takes further seals"},
    Lack{"the second extent", {"memfd_growth"}, "not permitted"},
    Lack{"mremap", {"memfd_windows"}, "not permitted"},
    Lack{"mapping for reading", {"memfd_reopen", "futex_read_only"}, "not permitted"},
    Lack{"futex wait", {"futex_read_only"}, "no process can sleep"},
    Lack{"futex wake", {"futex_read_only"}, "cannot wake"},
    Lack{"pidfd_open", {"pidfd"}, "not implemented"},
    Lack{"sendmsg", {"packet_sockets"}, "not permitted"},
    Lack{"memfd_create",
         {"memfd_seals", "memfd_growth", "memfd_windows", "memfd_reopen", "futex_read_only"},
         "not implemented"},
};

TEST_F(CliDoctor, DoctorNamesTheMissingKernelFeatureAndNothingElse) {
  for (const Lack& lack : kLacks) {
    SCOPED_TRACE("without " + lack.call);
    const Outcome doctor = without(lack.call, {"beeline", "doctor", "--json"});
    if (doctor.code == 77) GTEST_SKIP() << "no seccomp filter here: " << doctor.err;
    EXPECT_EQ(doctor.code, 1) << doctor.err;
    for (const json& one : json::parse(doctor.out)) {
      const auto fact = std::find(lack.facts.begin(), lack.facts.end(), one.at("check"));
      EXPECT_EQ(one.at("ok").get<bool>(), fact == lack.facts.end()) << one;
      if (fact != lack.facts.begin()) continue;
      EXPECT_TRUE(contains(one.at("text"), lack.text)) << one;
    }
  }
  EXPECT_TRUE(contains(without("memfd_create", {"beeline", "doctor"}).out, "FAILED"));
}

TEST_F(CliDoctor, AHiveIsRefusedWithWhatIsMissing) {
  for (const Lack& lack : kLacks) {
    SCOPED_TRACE("without " + lack.call);
    const Outcome up = without(lack.call, {"beeline", "up"});
    if (up.code == 77) GTEST_SKIP() << "no seccomp filter here: " << up.err;
    EXPECT_EQ(up.code, 3) << up.err;
    EXPECT_TRUE(contains(up.err, "this system lacks " + lack.facts.front())) << up.err;
    EXPECT_TRUE(contains(up.err, "beeline doctor")) << up.err;
    EXPECT_FALSE(is_up());
  }
}

// close_range() is younger than the oldest kernel that a hive runs on.
TEST_F(CliDoctor, AHiveHoldsNoDescriptorOfItsStarterEvenIfTheKernelClosesNoRanges) {
  for (const bool is_old : {false, true}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);  // every program that we start inherits it
    os::UniqueFd ours(ends[0]);
    os::UniqueFd theirs(ends[1]);
    const std::vector<std::string> words{"beeline", "up"};
    const Outcome up = is_old ? without("close_range", words) : run(words);
    if (up.code == 77) GTEST_SKIP() << "no seccomp filter here: " << up.err;
    EXPECT_EQ(up.code, 0) << up.err;
    theirs.reset();
    EXPECT_TRUE(os::wait_readable(ours.get(), std::chrono::seconds(10))) << "somebody holds it";
    (void)good({"down"});
  }
}

TEST_F(CliDoctor, ADirectoryThatOthersMayWriteIsNamed) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700) == 0 || errno == EEXIST, true);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  const Outcome doctor = run({"beeline", "doctor", "--json"});
  EXPECT_EQ(doctor.code, 1) << doctor.err;
  EXPECT_FALSE(holds(json::parse(doctor.out), "directory"));
  EXPECT_TRUE(contains(doctor.out, "777")) << doctor.out;
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  EXPECT_TRUE(holds(good_json({"doctor"}), "directory"));
}

TEST_F(CliDoctor, TheMembersOfAGroupAreAdmittedIfThereIsSuchAGroup) {
  const Outcome nobody = run({"beeline", "up", "--group", "no-such-group"});
  EXPECT_NE(nobody.code, 0);
  EXPECT_TRUE(contains(nobody.err, "no-such-group")) << nobody.err;
  EXPECT_NE(run({"beeline", "up", "--group", "4294967295"}).code, 0) << "no group has that number";
  EXPECT_FALSE(is_up());
  const std::string group = std::to_string(::getegid());
  const Outcome closed = run({"beeline", "up", "--group", group});
  EXPECT_NE(closed.code, 0) << "the folder above the hive has mode 700";
  EXPECT_TRUE(contains(closed.err, folder_)) << closed.err;
  EXPECT_TRUE(contains(closed.err, "set BEELINE_DIR")) << closed.err;
  EXPECT_FALSE(is_up());
  ASSERT_EQ(::chmod(folder_.c_str(), 0710), 0);
  (void)good({"up", "--group", group});
  struct stat found {};
  ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0750U);
  ASSERT_EQ(::stat((directory_ + "/socket").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0660U);
  EXPECT_EQ(found.st_gid, ::getegid());
}

TEST_F(CliDoctor, AHiveWithoutAGroupClosesWhatAKilledOneWithAGroupHasOpened) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0710), 0);
  up_and_kill(::getegid());
  (void)good({"up"});
  struct stat found {};
  ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
}

// The start first closes the directory to all groups, then sets its group, then its mode.
TEST_F(CliDoctor, AHiveThatWasKilledWhileItClosedItsDirectoryLeavesItToTheNextToFinish) {
  if (::geteuid() != 0) GTEST_SKIP() << "the group of a folder can be any for root alone";
  constexpr gid_t kGroup = 65500;
  constexpr gid_t kBefore = kGroup + 1;
  ASSERT_EQ(::chmod(folder_.c_str(), 0711), 0);
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((directory_ + "/mine").c_str(), 0700), 0);
  for (const gid_t group : {kGroup, kBefore}) {
    ASSERT_EQ(::chown(directory_.c_str(), static_cast<uid_t>(-1), kBefore), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0750), 0);
    up_and_kill(kGroup);
    ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
    ASSERT_EQ(::chown(directory_.c_str(), static_cast<uid_t>(-1), group), 0);
    (void)good({"up"});
    struct stat found {};
    ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0750U);
    EXPECT_EQ(found.st_gid, kBefore);
    (void)good({"down"});
  }
  ASSERT_EQ(::rmdir((directory_ + "/mine").c_str()), 0);
}

// The user has opened it to a group or to everybody meanwhile.
TEST_F(CliDoctor, ADirectoryThatIsNotAsAKilledHiveHasLeftItStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "the group of a folder can be any for root alone";
  constexpr gid_t kGroup = 65500;
  constexpr gid_t kOthers = kGroup + 1;
  ASSERT_EQ(::chmod(folder_.c_str(), 0711), 0);
  struct Change {
    gid_t group;
    mode_t mode;
  };
  for (const Change change : {Change{kOthers, 0750}, Change{kGroup, 0755}}) {
    up_and_kill(kGroup);
    ASSERT_EQ(::chown(directory_.c_str(), static_cast<uid_t>(-1), change.group), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), change.mode), 0);
    (void)good({"up"});
    struct stat found {};
    ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, change.mode);
    EXPECT_EQ(found.st_gid, change.group);
    (void)good({"down"});
  }
}

// The user is no member of the group that the directory had.
TEST_F(CliDoctor, AHiveStartsAlsoWhereItCannotGiveTheDirectoryItsOldGroupAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "the group of a folder can be any for root alone";
  constexpr gid_t kGroup = 65500;
  ASSERT_EQ(::chmod(folder_.c_str(), 0711), 0);
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(directory_.c_str(), static_cast<uid_t>(-1), kGroup + 1), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0750), 0);
  up_and_kill(kGroup);
  const Outcome up = without("chown", {"beeline", "up"});
  if (up.code == 77) GTEST_SKIP() << "no seccomp filter here: " << up.err;
  EXPECT_EQ(up.code, 0) << up.err;
  struct stat found {};
  ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U) << "neither group may look into it";
  EXPECT_TRUE(contains(text_of(directory_ + "/beelined.log"), "directory_not_restored"));
}

TEST_F(CliDoctor, ADirectoryThatItsUserMadeWiderStaysAsHeMadeIt) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0711), 0);
  struct stat found {};
  for (const mode_t mode : {0750U, 0755U}) {
    (void)::mkdir(directory_.c_str(), 0700);
    ASSERT_EQ(::chmod(directory_.c_str(), mode), 0);
    (void)good({"up"});
    ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, mode);
    ASSERT_EQ(::stat((directory_ + "/socket").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0077, 0U) << "who may look may not join";
    (void)good({"down"});
  }
  // Members of the group may pass already; other files in the directory outlive the hive.
  ASSERT_EQ(::mkdir((directory_ + "/mine").c_str(), 0700), 0);
  for (const mode_t mode : {0755U, 0700U}) {
    ASSERT_EQ(::chmod(directory_.c_str(), mode), 0);
    (void)good({"up", "--group", std::to_string(::getegid())});
    ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, mode == 0700 ? 0750U : mode);
    (void)good({"down"});
    ASSERT_EQ(::stat(directory_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, mode) << "it was there before the hive";
  }
  ASSERT_EQ(::rmdir((directory_ + "/mine").c_str()), 0);
}

// A user in both groups may pass, and we cannot know these users.
TEST_F(CliDoctor, AFolderOfAnotherGroupThatMayPassIsTheUsersChoice) {
  if (::geteuid() != 0) GTEST_SKIP() << "the group of a folder can be any for root alone";
  constexpr gid_t kGroup = 65500;
  ASSERT_EQ(::chown(folder_.c_str(), static_cast<uid_t>(-1), kGroup + 1), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0710), 0);
  (void)good({"up", "--group", std::to_string(kGroup)});
}

// A hive of another user that admits us is no fault of this machine.
TEST_F(CliDoctor, AMemberOfTheGroupIsToldThatTheDirectoryIsGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "other users can be played by root alone";
  constexpr uid_t kMember = 65533;
  constexpr gid_t kGroup = 65500;
  ASSERT_EQ(::chmod(folder_.c_str(), 0711), 0);
  (void)good({"up", "--group", std::to_string(kGroup)});
  const auto check_as = [&](std::vector<gid_t> groups) {
    const pid_t member = ::fork();
    if (member == 0) {
      const bool is_other = ::setgroups(groups.size(), groups.data()) == 0 &&
                            ::setresgid(kMember, kMember, kMember) == 0 &&
                            ::setresuid(kMember, kMember, kMember) == 0;
      const auto paths = control::find_hive("");
      const bool is_good = is_other && paths && control::check_directory(*paths);
      ::_exit(is_good ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(member, &status, 0), member);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(check_as({kGroup}));
  EXPECT_FALSE(check_as({})) << "who is no member cannot join";
}

}  // namespace
}  // namespace beeline::test
