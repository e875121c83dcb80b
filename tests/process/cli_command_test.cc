// beeline reply --command: one command at a time for each message, and none outlives its reply.

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/os/text_file.h"
#include "tests/process/cli_fixture.h"
#include "tools/beeline/guard_process.h"

namespace beeline::test {
namespace {

class CliCommand : public CliTest {
 protected:
  static std::vector<std::string> reply(const std::string& command,
                                        const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"reply", "worker", "--command", command};
    words.insert(words.end(), options.begin(), options.end());
    return with_program(words);
  }
  void touch(const std::string& name) const { std::ofstream(folder_ + '/' + name) << name; }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_ + '/' + name);
  }
  // The pids that a command has written.
  [[nodiscard]] std::vector<pid_t> pids_in(const std::string& name) const {
    std::ifstream file(folder_ + '/' + name);
    return {std::istream_iterator<pid_t>(file), {}};
  }
  [[nodiscard]] bool is_running(pid_t pid) const {
    const auto all = processes_with("TMPDIR", folder_);
    return std::find(all.begin(), all.end(), pid) != all.end();
  }
  // Processes with a word on their command line that begins with `beginning`.
  [[nodiscard]] std::vector<pid_t> with_word(const std::string& beginning) const {
    std::vector<pid_t> found;
    for (const pid_t pid : processes_with("TMPDIR", folder_)) {
      const std::string words = os::read_text_file("/proc/" + std::to_string(pid) + "/cmdline");
      if (contains('\0' + words, '\0' + beginning)) found.push_back(pid);
    }
    return found;
  }
  static Outcome end(Program& program) {
    program.signal(SIGTERM);
    return program.wait();
  }
  static std::string fate() {
    const json letters = good_json({"inbox", "worker"});
    return letters.empty() ? "" : letters.at(0).value("reason", "");
  }
};

TEST_F(CliCommand, ABackgroundChildHoldsUpNeitherReplyNorService) {
  Program worker(
      reply("sleep 1000 & echo $! >>$TMPDIR/jobs; "
            "setsid sleep 1000 & echo $! >>$TMPDIR/daemons; echo started"));
  EXPECT_EQ(good({"request", "worker", "one"}), "started\n");
  EXPECT_EQ(good({"request", "worker", "two"}), "started\n");
  const auto jobs = pids_in("jobs");
  const auto daemons = pids_in("daemons");
  ASSERT_EQ(jobs.size(), 2U);
  ASSERT_EQ(daemons.size(), 2U);
  for (const pid_t job : jobs) EXPECT_TRUE(is_running(job)) << "it works on";
  for (const pid_t daemon : daemons) {
    // Until it has left the group of the command.
    while (::kill(daemon, 0) == 0 && ::getsid(daemon) != daemon) ::usleep(2000);
  }
  EXPECT_EQ(end(worker).code, 0);
  for (const pid_t job : jobs) EXPECT_FALSE(is_running(job)) << "it ends with reply";
  for (const pid_t daemon : daemons) {
    EXPECT_TRUE(is_running(daemon)) << "it is left alone";
    (void)::kill(daemon, SIGKILL);
  }
}

TEST_F(CliCommand, AfterAKillOfReplyTheNextBeginsWhenNothingOfItRuns) {
  const std::string work =
      "exec 9>$TMPDIR/busy; flock -n 9 || touch $TMPDIR/twice; test -e $TMPDIR/again && exit 0; "
      "trap \"\" TERM; touch $TMPDIR/runs; while :; do sleep 1; done";
  for (const std::string& command :
       {work, "sh -c '" + work + "'; true", "timeout 1000 sh -c '" + work + "'; true",
        "setsid -w sh -c '" + work + "'; true"}) {
    Program killed(reply(command));
    wait_for_agent("worker");
    (void)good({"send", "worker", "x"});
    wait_for_file("runs");
    touch("again");
    for (const pid_t pid : with_word("reply")) (void)::kill(pid, SIGKILL);  // as `pkill -f` would
    EXPECT_EQ(killed.wait().code, 128 + SIGKILL);
    Outcome next;
    do {
      next = Program(reply(command, {"--count", "1", "--timeout", "60s"})).wait();
    } while (next.code == 3);  // the coordinator does not know of the death yet
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_FALSE(exists("twice")) << command;
    for (const char* name : {"/runs", "/again", "/twice"}) std::filesystem::remove(folder_ + name);
  }
}

TEST_F(CliCommand, TheNextWaitsForAGuardAndSaysSo) {
  make_away("worker");
  (void)good({"send", "worker", "x"});
  // The test holds the socket that a guard holds while any process of its command runs.
  struct stat hive {};
  ASSERT_EQ(::stat(directory_.c_str(), &hive), 0);
  const auto pid = good_json({"info", "worker"}).at("pid").get<int>();
  const std::string name = "beeline-commands/" + std::to_string(hive.st_dev) + '.' +
                           std::to_string(hive.st_ino) + '/' + std::to_string(::geteuid()) + '/' +
                           std::to_string(pid);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(&address.sun_path[1], sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int guard = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(guard, reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(guard, 1), 0);

  Program next({"/bin/sh", "-c",
                "exec $BEELINE_BIN/beeline reply worker --count 1 --command 'touch $TMPDIR/next' "
                "2>&1"});
  next.wait_for("waits until the commands of an earlier `beeline reply worker` have ended");
  EXPECT_FALSE(exists("next"));
  ::close(guard);
  EXPECT_EQ(next.wait().code, 0);
  EXPECT_TRUE(exists("next"));
}

TEST_F(CliCommand, OneThatTakesTooLongIsEndedAndItsAskerTold) {
  Program worker(reply("case $(cat) in stubborn) trap '' TERM;; esac; sleep 1000 | sleep 1000",
                       {"--command-timeout", "100ms"}));
  for (const char* body : {"polite", "stubborn"}) {
    const std::string told = bad(1, {"request", "worker", body, "--timeout", "60s"});
    EXPECT_TRUE(contains(told, "ended after 0.1 s (--command-timeout)")) << told;
    EXPECT_EQ(fate(), "rejected");
  }
  EXPECT_TRUE(contains(end(worker).err, "ended after 0.1 s (--command-timeout)"));
  EXPECT_TRUE(contains(bad(2, {"reply", "worker", "--command", "cat", "--command-timeout", "0"}),
                       "--command-timeout is 0"));
}

TEST_F(CliCommand, OneThatHasEndedByItselfIsAnsweredThoughReplyIsStoppedMeanwhile) {
  Program service(reply("echo $$ >$TMPDIR/new; mv $TMPDIR/new $TMPDIR/pid; echo yes"));
  wait_for_agent("worker");
  service.signal(SIGSTOP);
  Program asker(with_program({"request", "worker", "?"}));
  service.signal(SIGCONT);
  wait_for_file("pid");
  service.signal(SIGSTOP);
  for (const pid_t pid : pids_in("pid")) {
    while (::kill(pid, 0) == 0) ::usleep(2000);  // until the guard has reaped it
  }
  service.signal(SIGTERM);
  service.signal(SIGCONT);
  EXPECT_EQ(asker.wait().out, "yes\n");
  EXPECT_EQ(service.wait().code, 0);
}

TEST(GuardProcess, AReportThatComesLateIsNotLost) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const os::UniqueFd guard(ends[1]);
  cli::GuardProcess process(0, os::UniqueFd(ends[0]));
  EXPECT_FALSE(process.take_report());
  const cli::GuardReport report{7, 0, false};
  ASSERT_EQ(::send(guard.get(), &report, sizeof report, 0), static_cast<ssize_t>(sizeof report));
  EXPECT_FALSE(process.has_ended());
  const auto taken = process.take_report();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->status, 7);
}

TEST_F(CliCommand, SeveralRunAtOnceEachForOneMessageInOrder) {
  make_away("worker");
  for (const char* rank : {"low", "normal", "high"}) {
    (void)good({"send", "worker", rank, "--rank", rank});
  }
  Program worker(
      reply("name=$(cat); test -e $TMPDIR/high && test $name = low && exit 1; "
            "touch $TMPDIR/$name; while [ ! -e $TMPDIR/go ]; do sleep 0.01; done; "
            "rm -f $TMPDIR/high",
            {"--parallel", "2", "--count", "3"}));
  wait_for_file("high");
  wait_for_file("normal");
  EXPECT_FALSE(exists("low"));
  touch("go");
  EXPECT_EQ(worker.wait().code, 0);
  EXPECT_TRUE(exists("low"));
}

TEST_F(CliCommand, TheNumberOfAttemptsCanBeSetAndAFailedOneLeavesNothingBehind) {
  Program worker(reply("sleep 1000 & echo $! >$TMPDIR/job; exit 3", {"--max-attempts", "1"}));
  const std::string told = bad(1, {"request", "worker", "x", "--timeout", "60s"});
  EXPECT_TRUE(contains(told, "exhausted")) << told;
  EXPECT_FALSE(is_running(pids_in("job").at(0)));
  const std::string err = end(worker).err;
  EXPECT_TRUE(contains(err, "the command exited with 3: attempt 1 of 1: it is a dead letter"))
      << err;
  (void)bad(2, {"reply", "worker", "--echo", "--max-attempts", "0"});
  (void)bad(2, {"reply", "worker", "--echo", "--parallel", "2"});
}

TEST_F(CliCommand, ATemporaryOneIsForgotten) {
  (void)good({"up"});
  Program worker(reply("cat", {"--temporary"}));
  EXPECT_EQ(good({"request", "worker", "x"}), "x\n");
  EXPECT_EQ(end(worker).code, 0);
  (void)bad(4, {"send", "worker", "x"});
}

TEST_F(CliCommand, CommandsEndWithTheHive) {
  Program worker(reply("touch $TMPDIR/$(cat); timeout 1000 sleep 1000; true", {"--parallel", "2"}));
  wait_for_agent("worker");
  (void)good({"send", "worker", "-", "--lines"}, "one\ntwo\n");
  wait_for_file("one");
  wait_for_file("two");
  (void)good({"down"});
  const Outcome outcome = worker.wait();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "the hive went down, so the command was ended")) << outcome.err;
  EXPECT_EQ(processes_with("TMPDIR", folder_), std::vector<pid_t>());
}

TEST_F(CliCommand, ACommandIsEndedOnceItsAskerWantsNoAnswer) {
  Program worker(
      reply("trap 'touch $TMPDIR/told; exit 0' TERM; touch $TMPDIR/runs; "
            "sleep 1000 & wait"));
  wait_for_agent("worker");
  Program asker(with_program({"request", "worker", "x", "--timeout", "60s"}));
  wait_for_file("runs");
  asker.signal(SIGINT);
  EXPECT_EQ(asker.wait().code, 1);
  wait_for_file("told");
  const std::string err = end(worker).err;
  EXPECT_TRUE(contains(err, "taken back by its sender")) << err;
}

TEST_F(CliCommand, OneThatReadsTheTerminalIsToldAndEnded) {
  (void)good({"up"});
  int terminal = -1;
  const pid_t reader = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(reader, 0);
  if (reader == 0) {
    const std::string program = std::string(::getenv("BEELINE_BIN")) + "/beeline";
    ::execl(program.c_str(), "beeline", "reply", "worker", "--command",
            "read line </dev/tty; echo $line", nullptr);
    ::_exit(127);
  }
  const std::string told = bad(1, {"request", "worker", "x", "--timeout", "60s"});
  EXPECT_TRUE(contains(told, "the command was stopped by SIGTTIN and ended")) << told;
  EXPECT_EQ(fate(), "rejected");
  EXPECT_EQ(::kill(reader, SIGTERM), 0);
  int status = 0;
  while (::waitpid(reader, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::string shown(4096, '\0');
  const ssize_t count = ::read(terminal, shown.data(), shown.size());
  shown.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  EXPECT_TRUE(contains(shown, "a command has no terminal")) << shown;
  ::close(terminal);
}

}  // namespace
}  // namespace beeline::test
