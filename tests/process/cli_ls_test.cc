// `beeline ls`, and the line of a command that starts a hive beside another one of the same name.

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "src/os/fd.h"
#include "src/os/lock_file.h"
#include "src/os/socket_address.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class CliLs : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    login_ = folder_ + "/login";
    ASSERT_EQ(::mkdir(login_.c_str(), 0700), 0);
    other_ = login_ + "/beeline/default";
  }
  void TearDown() override {
    if (fs::exists(other_ + "/socket")) (void)at_login({"down"});
    CliTest::TearDown();
  }

  // Runs it as after a login: $XDG_RUNTIME_DIR names the directory of the hive.
  [[nodiscard]] Outcome at_login(const Words& words, const std::string& runtime = "") const {
    const char* const bin = std::getenv("BEELINE_BIN");
    Words command = {"/usr/bin/env", "-u", "BEELINE_DIR",
                     "XDG_RUNTIME_DIR=" + (runtime.empty() ? login_ : runtime),
                     std::string(bin != nullptr ? bin : ".") + "/beeline"};
    command.insert(command.end(), words.begin(), words.end());
    return run(std::move(command));
  }

  // The hive in this directory, as `beeline ls` lists it; null if it is not listed. Other tests
  // have other hives.
  static json listed_at(const std::string& directory, Words options = {}) {
    options.insert(options.begin(), "ls");
    for (json& each : good_json(std::move(options))) {
      if (each.at("directory") == directory) return each;
    }
    return nullptr;
  }

  std::string login_;
  std::string other_;  // directory of the hive at a login
};

TEST_F(CliLs, ListsEachHiveWithItsPlaceItsAgentsAndItsAgeAndStartsNone) {
  EXPECT_EQ(listed_at(directory_), nullptr);
  EXPECT_FALSE(is_up()) << "it has started one";
  (void)good({"up", "--hive", "build"});
  make_away("lead");
  Program echo(with_program({"reply", "echo", "--echo"}));
  ASSERT_NO_FATAL_FAILURE(wait_for_agent("echo"));
  ASSERT_EQ(at_login({"up"}).code, 0);

  const json here = listed_at(directory_);
  EXPECT_EQ(here.at("hive"), "build");
  EXPECT_EQ(here.at("state"), "running");
  EXPECT_EQ(here.at("current"), true);
  EXPECT_EQ(here.at("uid"), ::geteuid());
  EXPECT_EQ(here.at("agents"), 2);
  EXPECT_EQ(here.at("attached"), 1);
  EXPECT_EQ(here.at("zombies"), 1);
  EXPECT_GE(here.at("age_ms"), 0);
  // No variable of ours names it: `ls` finds it by its listening socket.
  const json there = listed_at(other_);
  EXPECT_EQ(there.at("hive"), "default");
  EXPECT_EQ(there.at("current"), false);
  EXPECT_EQ(there.at("agents"), 0);
  const std::string text = good({"ls"});
  EXPECT_TRUE(contains(text, directory_ + "\n") && contains(text, other_ + "\n")) << text;

  (void)beeline({"down"});
  const Outcome ended = echo.wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(contains(ended.err, "the hive in " + directory_ + " went down")) << ended.err;
  EXPECT_EQ(listed_at(directory_), nullptr) << "it is down, though its last log is there";
}

TEST_F(CliLs, AHiveThatWasKilledIsListedAsSuch) {
  const json status = good_json({"up"});
  for (const char* process : {"keeper_pid", "coordinator_pid"}) {
    ASSERT_EQ(::kill(status.at(process), SIGKILL), 0);
  }
  for (int i = 0; i < 6000 && !processes_with("BEELINE_DIR", directory_).empty(); ++i) {
    ::usleep(10'000);
  }
  const json killed = listed_at(directory_);
  EXPECT_EQ(killed.at("state"), "killed");
  EXPECT_EQ(killed.at("running"), false);
  EXPECT_EQ(killed.at("keeper_pid"), nullptr);
  (void)good({"up"});
}

// A socket that never answers, has a full queue or belongs to no hive holds nobody up.
TEST_F(CliLs, AHiveThatDoesNotAnswerIsListedAfterABoundedWait) {
  (void)good({"up"});
  std::vector<os::UniqueFd> open;
  std::vector<os::LockFile> locks;
  for (const char* const name : {"silent", "full"}) {
    const std::string directory = folder_ + '/' + name;
    fs::create_directory(directory);
    auto lock = os::LockFile::acquire(directory + "/lock");
    ASSERT_TRUE(lock);
    locks.push_back(std::move(*lock));
    const auto address = os::SocketAddress::of(directory + "/socket");
    ASSERT_TRUE(address);
    const auto make = [&open] {
      open.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      return open.back().get();
    };
    const int listener = make();
    ASSERT_EQ(::bind(listener, address->get(), address->length()), 0);
    ASSERT_EQ(::listen(listener, 0), 0);
    while (name == std::string("full") &&
           ::connect(make(), address->get(), address->length()) == 0) {
    }
  }
  fs::create_directories(login_ + "/beeline/no-hive/lock");
  ASSERT_EQ(::mkfifo((login_ + "/beeline/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", login_.c_str(), 1), 0);
  for (const char* const name : {"silent", "full"}) {
    const json found = listed_at(folder_ + '/' + name, {"--timeout", "50ms"});
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found.at("state"), "silent") << name;
    EXPECT_EQ(found.at("agents"), nullptr) << name;
  }
  EXPECT_EQ(listed_at(login_ + "/beeline/no-hive", {"--timeout", "50ms"}), nullptr);
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(listed_at(directory_).at("state"), "running");
}

// D9
TEST_F(CliLs, AHiveThatStartsBesideAnotherOneOfItsNameSaysWhereBothAre) {
  EXPECT_FALSE(contains(at_login({"up"}).err, "another hive")) << "there is only one";
  const std::string elsewhere = folder_ + "/cron";
  ASSERT_EQ(::mkdir(elsewhere.c_str(), 0700), 0);
  const std::string mine = elsewhere + "/beeline/default";
  for (const Words& words : {Words{"up"}, Words{"send", "worker", "hi"}, Words{"bcast", "hi"},
                             Words{"recv", "worker", "--timeout", "1ms"}}) {
    const Outcome start = at_login(words, elsewhere);
    EXPECT_TRUE(
        contains(start.err, "another hive \"default\" runs in " + other_ + ", this one in " + mine))
        << words.front() << start.err;
    EXPECT_TRUE(contains(start.err + start.out, mine)) << start.err;
    const Outcome next = at_login({"send", "worker", "hi"}, elsewhere);
    EXPECT_FALSE(contains(next.err, "another hive")) << "it has started nothing: " << next.err;
    std::ifstream log(mine + "/beelined.log");
    const std::string text(std::istreambuf_iterator<char>(log), {});
    EXPECT_TRUE(contains(text, "event=same_name_elsewhere")) << text;
    EXPECT_EQ(at_login({"down"}, elsewhere).code, 0);
  }
  const Outcome named = at_login({"up", "--hive", "build"}, elsewhere);
  EXPECT_FALSE(contains(named.err, "another hive")) << "it has another name: " << named.err;
  EXPECT_EQ(at_login({"down", "--hive", "build"}, elsewhere).code, 0);
  EXPECT_FALSE(contains(beeline({"up"}).err, "another hive")) << "BEELINE_DIR says which";
}

// ---- The log of a hive that has ended -----------------------------------------------------------

TEST_F(CliLs, TheLogOfTheLastHiveStaysAndIsNamed) {
  const std::string log = directory_ + "/beelined.last.log";
  const auto text = [&log] {
    std::ifstream file(log);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  (void)good({"up", "--hive", "first"});
  EXPECT_TRUE(contains(good({"down"}), "its log is " + log));
  EXPECT_TRUE(contains(text(), "hive=first")) << text();
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "more is left";
  EXPECT_TRUE(contains(bad(3, {"status"}), log));

  (void)good({"up", "--hive", "second"});
  EXPECT_TRUE(contains(text(), "hive=first")) << "the next start has removed it";
  EXPECT_EQ(good_json({"down"}).at("log"), log);
  EXPECT_TRUE(contains(text(), "hive=second") && !contains(text(), "hive=first")) << text();
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "more than one is kept";
}

}  // namespace
}  // namespace beeline::test
