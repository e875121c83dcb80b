// Every system call of keeper and coordinator fails once. A running hive keeps running. A hive that
// cannot start gives the reason, leaves nothing, and starts when it is asked again.

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "src/control/client.h"
#include "src/control/state_file.h"
#include "tests/fault/nest.h"
#include "tests/fault/syscall_fixture.h"

namespace beeline::test {
namespace {

class SyscallDaemonTest : public SyscallTest {
 protected:
  static AttachOptions guest() {
    AttachOptions options = named("guest");
    options.temporary = true;
    options.control_timeout = kHasty;
    return options;
  }
  // Everything that a short life needs from the coordinator.
  Ending visit() {
    text_ = fmt::format("visit {}", ++visits_);
    auto agent = Agent::attach(guest());
    if (!agent) return agent.error();
    EXPECT_GT(agent->pid(), last_pid_) << "a pid was given out twice";
    last_pid_ = std::max(last_pid_, agent->pid());
    const Deadline late = after(kHasty);
    return ending_of(agent->send("far", text_), late);
  }
  void expect_whole() {
    const Deadline deadline = patience();
    Ending ending = visit();
    // A life that was cut short is over once the coordinator has seen its end.
    while (ending && std::chrono::steady_clock::now() < deadline) ending = visit();
    ASSERT_FALSE(ending) << "the hive does not serve afterwards: " << ending->text;
    expect_delivered(text_, ending);
  }
  Pid last_pid_ = 0;
  std::uint64_t visits_ = 0;
};

TEST_F(SyscallDaemonTest, TheCoordinatorServesOnWhateverFails) {
  sweep_hive(50, [this](SyscallSweep& sweep) {
    sweep_alike(sweep, {.name = "coordinator: attach, open, detach",
                        .least_calls = 40,
                        .act = [this] { return visit(); },
                        .check =
                            [this](const Ending& ending) {
                              expect_delivered(text_, ending);
                              expect_whole();
                              EXPECT_EQ(process(), coordinator_) << "it has ended";
                              await_as_before();
                            },
                        .whose = Injector::Whose::kOthers,
                        .short_step = 1});
  });
}

TEST_F(SyscallDaemonTest, TheKeeperRestartsTheCoordinatorWhateverFails) {
  sweep_hive(50, [this](SyscallSweep& sweep) {
    expect_whole();
    sweep_alike(sweep, {.name = "keeper and coordinator: restart",
                        .least_calls = 40,
                        .prepare = [this] { coordinator_ = process(); },
                        .act =
                            [this] {
                              EXPECT_EQ(::kill(coordinator_, SIGKILL), 0);
                              control::ClientOptions options;
                              options.start = false;
                              options.deadline = 5s;
                              auto client = control::Client::connect(options);
                              if (!client) return Ending(client.error());
                              const auto status = client->status();
                              return status ? Ending() : Ending(status.error());
                            },
                        .check =
                            [this](const Ending&) {
                              (void)hive_->status();
                              const Deadline deadline = patience();
                              while (!far_->siblings()) {
                                ASSERT_LT(std::chrono::steady_clock::now(), deadline)
                                    << "no way back";
                              }
                              expect_whole();
                              coordinator_ = process();
                              await_as_before();
                            },
                        .whose = Injector::Whose::kOthers,
                        .short_step = 3});
  });
}

TEST_F(SyscallDaemonTest, AHiveStartsOrSaysWhyNot) {
  const Nest nest;
  run_filtered(60, [&](SyscallSweep& sweep) {
    std::optional<Agent> agent;
    const auto start = [&]() -> Ending {
      auto attached = Agent::attach(named("first"));
      if (!attached) return attached.error();
      agent = std::move(*attached);
      return {};
    };
    const auto check = [&](const Ending& ending) {
      if (ending) agent = attach_again(named("first"));
      EXPECT_TRUE(agent) << "it does not start afterwards";
      agent.reset();
      nest.clear();
    };
    // An agent raises the soft limit to the hard one.
    const auto lower_limit = [] {
      rlimit limit{};
      ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
      limit.rlim_cur = limit.rlim_max - 1;
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    };
    sweep.run({.name = "start of a hive: its first agent",
               .least_calls = 60,
               .prepare = lower_limit,
               .act = start,
               .check = check,
               .short_step = 6});
    sweep.run({.name = "start of a hive: keeper and coordinator",
               .least_calls = 60,
               .act = start,
               .check = check,
               .whose = Injector::Whose::kOthers,
               .from_call = SYS_pipe2,
               .short_step = 9});
  });
}

// A pid is never given out twice, even after the file could not be read.
TEST_F(SyscallDaemonTest, PidsRiseWhateverFailsInTheStateFile) {
  const Nest nest;
  const std::string path = nest.path() + "/state.json";
  run_filtered(15, [&](SyscallSweep& sweep) {
    Pid last = 0;
    sweep.run({.name = "state file: read, take a pid, save",
               .least_calls = 6,
               .act = [&]() -> Ending {
                 auto state = control::StateFile::open(path);
                 if (!state) return state.error();
                 const auto pid = state->take_pid();
                 if (!pid) return pid.error();
                 EXPECT_GT(*pid, last);
                 last = *pid;
                 return {};
               },
               .check =
                   [&](const Ending&) {
                     auto state = control::StateFile::open(path);
                     ASSERT_TRUE(state) << state.error().text;
                     const auto pid = state->take_pid();
                     ASSERT_TRUE(pid) << pid.error().text;
                     EXPECT_GT(*pid, last);
                     last = *pid;
                   }});
  });
}

}  // namespace
}  // namespace beeline::test
