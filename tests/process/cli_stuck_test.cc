// Agents that are stuck or slow, as tree, status and info show them from outside.

#include <sys/syscall.h>
#include <sys/wait.h>

#include <functional>
#include <thread>

#include <beeline/agent.h>

#include "src/os/clock.h"
#include "tests/process/cli_fixture.h"
#include "tools/beeline/process_state.h"

namespace beeline::test {
namespace {

// An agent in a process that a test controls.
class OddAgent {
 public:
  template <typename Act>
  explicit OddAgent(Act&& act) : pid_(::fork()) {
    (void)::setpgid(pid_, 0);
    if (pid_ != 0) return;
    act();
    ::_exit(0);
  }
  ~OddAgent() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OddAgent(const OddAgent&) = delete;
  OddAgent& operator=(const OddAgent&) = delete;

 private:
  pid_t pid_;
};

Agent attach_as(const std::string& name) {
  AttachOptions options;
  options.name = name;
  auto agent = Agent::attach(options);
  if (!agent) ::_exit(1);
  return std::move(*agent);
}

class CliStuck : public CliTest {
 protected:
  // The agent in the JSON of `tree`; null if it is not there.
  static json node(const std::string& name) { return find(good_json({"tree"}), name); }
  static json inbox_of(const json& status, const std::string& name) {
    for (const json& inbox : status.at("inboxes")) {
      if (inbox.at("name") == name) return inbox;
    }
    return nullptr;
  }
  // Looks until the agent's node satisfies `wanted`, and returns the node.
  static json await_node(const std::string& name, const std::function<bool(const json&)>& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      json found = node(name);
      if (found.is_object() && wanted(found)) return found;
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << name << " is never as wanted: " << found;
        return found;
      }
    }
  }
  static json await_state(const std::string& name, const std::string& state) {
    return await_node(name, [&](const json& found) { return found.at("state") == state; });
  }

 private:
  static json find(const json& nodes, const std::string& name) {
    for (const json& each : nodes) {
      if (each.at("name") == name) return each;
      if (json below = find(each.at("children"), name); below.is_object()) return below;
    }
    return nullptr;
  }
};

TEST_F(CliStuck, AStoppedWorkerWithWaitingMessagesIsSeenAtOnce) {
  Program worker(with_program({"reply", "worker", "--echo"}));
  wait_for_agent("worker");
  EXPECT_EQ(node("worker").at("process_error"), nullptr);
  worker.signal(SIGSTOP);
  EXPECT_EQ(await_state("worker", "stopped").at("activity"), "idle");
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "x\n";
  for (int i = 0; i < 3; ++i) (void)good({"send", "worker", "--lines", "-"}, lines);

  const json stuck = node("worker");
  EXPECT_EQ(stuck.at("process"), "stopped");
  EXPECT_EQ(stuck.at("waiting"), 300);
  EXPECT_GE(stuck.at("oldest_waiting_ms"), 0);
  EXPECT_EQ(stuck.at("in_hand"), 0);
  EXPECT_EQ(stuck.at("oldest_in_hand_sent_ms"), nullptr);
  const std::string tree = good({"tree"});
  EXPECT_TRUE(contains(tree, "stopped") && contains(tree, "300 ")) << tree;
  const std::string status = good({"status"});
  EXPECT_TRUE(contains(status, "1 stopped or stuck") && contains(status, "300 ")) << status;
  const json inbox = inbox_of(good_json({"status"}), "worker");
  EXPECT_EQ(inbox.at("state"), "stopped");
  EXPECT_GE(inbox.at("oldest_waiting_ms"), stuck.at("oldest_waiting_ms"));
  const std::string info = good({"info", "worker"});
  EXPECT_TRUE(contains(info, "stopped (T)") && contains(info, "300, the oldest sent ")) << info;

  worker.signal(SIGCONT);
  const json well = await_node("worker", [](const json& now) { return now.at("waiting") == 0; });
  EXPECT_EQ(well.at("oldest_waiting_ms"), nullptr);
  EXPECT_EQ(await_state("worker", "idle").at("process_error"), nullptr);
}

TEST_F(CliStuck, AMessageInHandHasItsOwnAge) {
  const std::string hold = "touch $TMPDIR/held; exec sleep 1000";
  Program holder(with_program({"reply", "holder", "--command", hold}));
  wait_for_agent("holder");
  (void)good({"send", "holder", "x"});
  wait_for_file("held");
  (void)good({"send", "holder", "y"});
  const json holding = node("holder");
  EXPECT_EQ(holding.at("in_hand"), 1);
  EXPECT_EQ(holding.at("waiting"), 1);
  EXPECT_GE(holding.at("oldest_in_hand_sent_ms"), holding.at("oldest_waiting_ms"));
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait().code, 128 + SIGKILL);
}

TEST_F(CliStuck, AProcessThatWaitsInTheKernelIsStuck) {
  (void)good({"up"});
  const OddAgent parent([] {
    const Agent agent = attach_as("caller");
    // The kernel holds the parent until this child ends.
    if (::vfork() == 0) {
      for (;;) ::pause();
    }
  });
  EXPECT_EQ(await_state("caller", "stuck").at("process"), "uninterruptible");
  EXPECT_TRUE(contains(good({"info", "caller"}), "stuck, it said idle"));
}

TEST_F(CliStuck, AnAgentWhoseFirstThreadHasEndedIsNotStuck) {
  (void)good({"up"});
  const OddAgent process([] {
    std::thread([] {
      Agent agent = attach_as("threaded");
      for (;;) (void)agent.receive();
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  EXPECT_EQ(await_state("threaded", "idle").at("process"), "sleeping");
}

TEST_F(CliStuck, MemoryRestartsAndTimeOfALifeAreShown) {
  Program worker(with_program({"reply", "worker", "--echo"}));
  wait_for_agent("worker");
  make_away("asker");
  const json worker_is = node("worker");
  EXPECT_EQ(worker_is.at("restarts"), 0);
  EXPECT_GE(worker_is.at("up_ms"), 0);
  const json away = node("asker");
  EXPECT_EQ(away.at("up_ms"), nullptr);
  EXPECT_EQ(away.at("process"), nullptr);
  EXPECT_EQ(away.at("process_error"), nullptr);

  std::uint64_t bytes = 0;
  for (const char* name : {"king", "worker", "asker"}) {
    EXPECT_GT(node(name).at("memory_bytes"), 0) << name;
    bytes += node(name).at("memory_bytes").get<std::uint64_t>();
  }
  EXPECT_EQ(good_json({"status"}).at("segment_bytes"), bytes);
  (void)good({"send", "worker", "-", "--as", "asker"}, std::string(1'000'000, 'x'));
  EXPECT_GT(node("asker").at("memory_bytes"), 1'000'000) << "the sender owns the link";
  EXPECT_EQ(node("asker").at("restarts"), 1);
}

TEST(ProcessState, AReusedProcessIdSaysNothingAboutTheAgent) {
  EXPECT_TRUE(cli::read_process_state(::getpid(), os::boot_us()));
  const auto younger = cli::read_process_state(::getpid(), 1);
  ASSERT_FALSE(younger);
  EXPECT_NE(younger.error().text.find("younger"), std::string::npos) << younger.error().text;
  const auto stat =
      cli::parse_stat("7 (a) T (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 500 0");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->letter, 'S');
  EXPECT_EQ(stat->started_us, 500 * (1'000'000 / ::sysconf(_SC_CLK_TCK)));
  for (const char* torn : {"", "7 (a", "7 (a) ", "7 (a) S 1 2"})
    EXPECT_FALSE(cli::parse_stat(torn));
}

// ---- From another pid namespace -----------------------------------------------------------------

class CliNamespace : public CliStuck {
 protected:
  void SetUp() override {
    CliStuck::SetUp();
    if (run(inside({"true"})).code != 0) GTEST_SKIP() << "no right to make a pid namespace here";
  }
  static std::vector<std::string> inside(std::vector<std::string> words) {
    const std::vector<std::string> start = {
        "/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"};
    words.insert(words.begin(), start.begin(), start.end());
    return words;
  }
  // Runs a verb in a new namespace.
  static Outcome there(std::vector<std::string> words) {
    words = with_program(std::move(words));
    words.front() = std::string(std::getenv("BEELINE_BIN")) + "/beeline";
    return run(inside(std::move(words)));
  }
};

TEST_F(CliNamespace, AnAgentInAnotherPidNamespaceIsShownAsUnreadable) {
  make_away("worker");
  (void)good({"send", "worker", "x"});
  Program living(with_program({"reply", "living", "--echo"}));
  wait_for_agent("living");
  for (const char* verb : {"tree", "status", "info"}) {
    const Outcome text = there({verb});
    EXPECT_EQ(text.code, 0) << verb << text.err;
    EXPECT_TRUE(contains(text.out, "unreadable")) << text.out;
    EXPECT_TRUE(contains(text.out, "pid namespace")) << text.out;
    EXPECT_FALSE(contains(text.out, " ok\n")) << text.out;
    EXPECT_FALSE(contains(text.out, "has ended")) << text.out;
  }
  const json status = json::parse(there({"status", "--json"}).out, nullptr, false);
  ASSERT_TRUE(status.is_object());
  EXPECT_EQ(status.at("unreadable_agents"), 2);
  EXPECT_EQ(status.at("segment_bytes"), nullptr);
  EXPECT_TRUE(status.at("accounts_error").is_string());
  for (const json& inbox : status.at("inboxes")) {
    for (const char* unknown : {"accepted", "balanced", "waiting", "memory_bytes", "process"}) {
      EXPECT_EQ(inbox.at(unknown), nullptr) << unknown;
    }
    EXPECT_TRUE(contains(inbox.at("accounts_error"), "pid namespace"));
  }
  EXPECT_TRUE(inbox_of(status, "living").at("process_error").is_string());
  const json info = json::parse(there({"info", "worker", "--json"}).out, nullptr, false);
  EXPECT_EQ(info.at("inbox"), nullptr);
  EXPECT_TRUE(info.at("accounts_error").is_string());
  for (const std::vector<std::string>& list :
       {std::vector<std::string>{"dlq", "ls"}, {"dlq", "ls", "worker"}, {"inbox", "worker"}}) {
    const Outcome refused = there(list);
    EXPECT_EQ(refused.code, 7) << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(contains(refused.err, "pid namespace")) << refused.err;
  }
}

// The state of a process is shown even if its memory may not be read.
TEST_F(CliNamespace, AUserNamespaceMayNotReadTheSegments) {
  Program living(with_program({"reply", "living", "--echo"}));
  wait_for_agent("living");
  const std::string program = std::string(std::getenv("BEELINE_BIN")) + "/beeline";
  const auto outside = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/unshare", "--user", "--map-root-user", program});
    return run(std::move(words));
  };
  const json status = json::parse(outside({"status", "--json"}).out, nullptr, false);
  ASSERT_TRUE(status.is_object());
  EXPECT_TRUE(contains(status.at("accounts_error"), "may not inspect")) << status;
  EXPECT_EQ(inbox_of(status, "living").at("balanced"), nullptr);
  EXPECT_EQ(inbox_of(status, "living").at("process_error"), nullptr);
  for (const std::vector<std::string>& list :
       {std::vector<std::string>{"dlq", "ls"}, {"inbox", "living"}}) {
    const Outcome refused = outside(list);
    EXPECT_EQ(refused.code, 7) << refused.err;
    EXPECT_TRUE(contains(refused.err, "may not inspect")) << refused.err;
  }
}

// The number in the lock file comes from the namespace below, and means another process here.
TEST_F(CliNamespace, AHiveOfANamespaceBelowIsReadButNotItsProcesses) {
  const std::string daemon = std::string(std::getenv("BEELINE_BIN")) + "/beelined";
  Program hive(inside({daemon, "--foreground", "--log", folder_ + "/log"}));
  for (int i = 0; i < 6000 && beeline({"status"}).code != 0; ++i) ::usleep(10'000);
  Program living(with_program({"reply", "living", "--echo"}));
  wait_for_agent("living");
  const json status = good_json({"status"});
  EXPECT_EQ(status.at("accounts_error"), nullptr);
  EXPECT_GT(status.at("segment_bytes"), 0);
  const json inbox = inbox_of(status, "living");
  EXPECT_EQ(inbox.at("balanced"), true);
  EXPECT_EQ(inbox.at("process"), nullptr);
  EXPECT_TRUE(contains(inbox.at("process_error"), "pid namespace"));
  EXPECT_EQ(good_json({"dlq", "ls"}), json::array());
  (void)good({"down"});
}

// An agent in the other namespace has segments of its own, which that namespace shows.
TEST_F(CliNamespace, TheAccountOfAnotherAgentIsNotTakenForEmpty) {
  make_away("worker");
  (void)good({"send", "worker", "x"});
  const std::string script =
      "cd \"$BEELINE_BIN\"; ./beeline reply inner --echo & ./beeline request inner x >&2 &&"
      "./beeline status --json; ./beeline dlq ls >&2; echo $?; kill %1; wait";
  const Outcome outcome = run(inside({"/bin/bash", "-c", script}));
  const json status = json::parse(outcome.out.substr(0, outcome.out.find('\n')), nullptr, false);
  ASSERT_TRUE(status.is_object()) << outcome.out << outcome.err;
  EXPECT_EQ(inbox_of(status, "inner").at("balanced"), true);
  EXPECT_EQ(inbox_of(status, "worker").at("balanced"), nullptr);
  EXPECT_EQ(inbox_of(status, "worker").at("accepted"), nullptr);
  EXPECT_TRUE(outcome.out.ends_with("\n7\n")) << outcome.out;
}

}  // namespace
}  // namespace beeline::test
