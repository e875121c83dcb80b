#pragma once
// A hive with agents of several users. The hive and its queen run as root, the victim as one user,
// others as a second one; both users are members of the hive's group.

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {

inline constexpr uid_t kVictimUser = 65533;
inline constexpr uid_t kAttackerUser = 65534;
inline constexpr uid_t kStranger = 65532;
inline constexpr gid_t kGroup = 65500;

struct UidBoard {
  Event victim_is_up;
  Event attack_begins;
  Event attack_may_end;
  Event question;  // of a guest: the victim may be asked
  Event answer;
  std::atomic<std::uint64_t> turns;  // turns of the attacker's loop
  pid_t victim;
  pid_t queen;
  pid_t keeper;
  pid_t coordinator;
  Pid victim_agent;
  std::uint64_t victim_incarnation;
};

// As if the program had been started as this user: the process may inspect itself.
inline void become(uid_t user, const std::vector<gid_t>& groups) {
  ASSERT_EQ(::setgroups(groups.size(), groups.data()), 0);
  ASSERT_EQ(::setresgid(user, user, user), 0);
  ASSERT_EQ(::setresuid(user, user, user), 0);
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
}

inline AttachOptions without_start(const std::string& name) {
  AttachOptions options = named(name);
  options.start_coordinator = false;
  return options;
}

// How the victim waits.
enum VictimKind : std::uint32_t { kVictimInReceive = 0, kVictimOnFd = 1 };

// The eventfds that a process holds.
inline std::vector<int> open_event_fds(const std::string& process = "self") {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + process + "/fd", error)) {
    if (std::filesystem::read_symlink(entry.path(), error) == "anon_inode:[eventfd]") {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  return found;
}

class OtherUserTest : public HiveTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "agents of other users can be made by root alone";
    ::setenv("BEELINE_GROUP", std::to_string(kGroup).c_str(), 1);
    start(World::kProcesses, 120s, sizeof(UidBoard));
    auto& there = board<UidBoard>();
    there.queen = ::getpid();
    there.keeper = hive().keeper();
    there.coordinator = static_cast<pid_t>(hive().status().coordinator_pid);
    queen_ = attach("queen");
    ASSERT_TRUE(queen_);
    ASSERT_TRUE(attach("heir"));  // and it leaves again
    ASSERT_TRUE(queen_->send("heir", "for the heir alone"));
    victim_ = troupe().start("victim", victim_kind_);
    ASSERT_TRUE(there.victim_is_up.await(1, patience()));
    ask_victim("a secret");
  }
  void TearDown() override {
    if (queen_) {
      (void)::kill(board<UidBoard>().victim, SIGCONT);  // a test that failed may have stopped it
      ask_victim("end");
      troupe().wait(victim_, patience());
    }
    queen_.reset();
    HiveTest::TearDown();
    ::unsetenv("BEELINE_GROUP");
  }

  void ask_victim(const std::string& text) {
    const auto answer = queen_->request(peer_of(*queen_, "victim"), text, patience());
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->text(), text);
  }

  void stop_victim() {
    const auto& there = board<UidBoard>();
    ASSERT_EQ(::kill(there.victim, SIGSTOP), 0);
    siginfo_t stopped{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(there.victim), &stopped, WSTOPPED), 0);
  }
  void replace_coordinator() {
    auto& there = board<UidBoard>();
    ASSERT_EQ(::kill(there.coordinator, SIGKILL), 0);
    there.coordinator = static_cast<pid_t>(hive().status().coordinator_pid);
  }

  // The question comes while the victim sleeps, and the victim is held until the attacker's loop
  // has made two turns. By then the attacker has done all that a loop can do to a ring between its
  // sender and the sleeper.
  void ask_victim_in_its_sleep(const std::string& text) {
    auto& there = board<UidBoard>();
    await_sleep();
    ASSERT_NO_FATAL_FAILURE(stop_victim());
    EXPECT_TRUE(queen_->send("victim", text));
    const std::uint64_t turns = there.turns.load();
    const Deadline end = patience();
    while (there.turns.load() < turns + 2 && there.attack_begins.count() != 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the attacker does nothing";
      ::usleep(100);
    }
    ASSERT_EQ(::kill(there.victim, SIGCONT), 0);
    Message answer = next_message(*queen_);
    ASSERT_TRUE(answer.valid());
    EXPECT_EQ(answer.text(), text);
    answer.done();
  }
  // Waits until the victim sleeps on an eventfd, where only a ring wakes it.
  void await_sleep() {
    const auto& there = board<UidBoard>();
    const StatusProbe probe(hive().name(), there.victim, there.victim_agent);
    const Deadline end = patience();
    while (probe.sleep() != shm::Sleep::kEvent) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the victim does not go to sleep";
      ::usleep(1000);
    }
  }

  std::optional<Agent> queen_;
  std::size_t victim_ = 0;
  VictimKind victim_kind_ = kVictimInReceive;
};

}  // namespace beeline::test
