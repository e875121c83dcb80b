// Every system call of the tools fails once. They report the failure, do their work at most once,
// leave nothing, and can be asked again.

#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tests/fault/nest.h"
#include "tests/fault/sleeper.h"
#include "tests/fault/syscall_fixture.h"

namespace beeline::test {
namespace {

using Words = std::vector<std::string>;

class SyscallToolsTest : public SyscallTest {
 protected:
  // Its own work begins with `first_call`: before it the program is being loaded.
  Operation tool(const Words& words, std::uint32_t least_calls, std::uint32_t short_step,
                 int first_call = SYS_socket, const std::string& input = "") {
    return {.name = fmt::format("{}", fmt::join(words, " ")).substr(0, 40),
            .least_calls = least_calls,
            .act =
                [this, words, input] {
                  said_ = test::run(words, input);
                  return ending_of(said_);
                },
            .check = [this](const Ending& ending) { expect_one_text(ending); },
            .whose = Injector::Whose::kOthers,
            .from_call = first_call,
            .short_step = short_step};
  }
  // For tools that send: `far_` has the message at most once, and not at all if the tool reports
  // that it was not sent. The tool reports later that its output was not written.
  void expect_one_text(const Ending& ending) {
    drain_what_fits(*far_);
    const bool was_sent = !ending || said_.err.find("our stdout") != std::string::npos;
    EXPECT_LE(take_texts(*far_).size(), was_sent ? 1U : 0U);
    await_as_before();
  }
  // The trial file of `beeline doctor` is gone, or the tool has reported that it is left.
  void clear_trial_file() {
    for (const auto& each : std::filesystem::directory_iterator(hive_->directory())) {
      if (!each.path().filename().string().starts_with("doctor-")) continue;
      const std::string said = said_.out + said_.err;
      EXPECT_NE(said.find("cannot remove " + each.path().string()), std::string::npos)
          << each.path() << " is left, and nobody said so: " << said;
      std::filesystem::remove(each.path());
    }
  }
  // For tools that are agent "worker": messages sent to it before still wait, or have been taken.
  Operation worker(const Words& words, std::uint32_t least_calls, std::uint32_t short_step) {
    Operation operation = tool(words, least_calls, short_step);
    operation.prepare = [this] {
      text_ = fmt::format("task {}", ++tasks_);
      ASSERT_TRUE(far_->send("worker", text_));
    };
    operation.check = [this](const Ending& ending) {
      auto agent = attach_again(named("worker"));
      ASSERT_TRUE(agent);
      drain_what_fits(*agent);
      const std::size_t left = take_texts(*agent).size();
      expect_balance(*agent);
      agent.reset();
      const std::vector<std::string> answers = taken_by_far();
      const bool taken = said_.out == text_ + '\n' || answers == std::vector<std::string>{text_};
      EXPECT_EQ(left + (taken ? 1 : 0), 1U) << "left: " << left << ", said: " << said_.out;
      EXPECT_TRUE(ending || taken);
      await_as_before();
    };
    return operation;
  }

  Outcome said_;
  std::uint64_t tasks_ = 0;
};

TEST_F(SyscallToolsTest, AToolThatSendsSaysWhatFailed) {
  sweep_hive(100, [this](SyscallSweep& sweep) {
    sweep_alike(sweep, tool({"beeline", "send", "far", "hello"}, 60, 6));
    sweep_alike(sweep, tool({"beeline", "bcast", "hello"}, 60, 10));
    const std::string command = R"({"do":"send","to":"far","body":"hello"})";
    sweep_alike(sweep,
                tool({"beeline", "pipe", "piper", "--temporary"}, 60, 20, SYS_socket, command));
    Sleeper sleeper("sleeper");
    sweep_alike(sweep, tool({"beeline", "request", "sleeper", kAnswer}, 60, 20));
    EXPECT_TRUE(far_->send("sleeper", kEnd));
  });
}

TEST_F(SyscallToolsTest, AToolThatReceivesLosesNothing) {
  sweep_hive(20, [this](SyscallSweep& sweep) {
    ASSERT_TRUE(attach("worker"));
    for (const char* verb : {"recv", "reply"}) {
      Words words{"beeline", verb, "worker", "--count", "1", "--timeout", "5s"};
      if (verb == std::string_view("reply")) words.emplace_back("--echo");
      sweep_alike(sweep, worker(words, 60, 20), kLastLife);
    }
  });
}

TEST_F(SyscallToolsTest, AToolThatLooksSaysWhatFailed) {
  sweep_hive(100, [this](SyscallSweep& sweep) {
    // An agent that is away, with a letter and a waiting message.
    auto holder = attach("holder");
    ASSERT_TRUE(holder);
    const MessageId letter = far_->send("holder", "letter").id;
    next_message(*holder).reject();
    ASSERT_TRUE(far_->send("holder", "waits"));
    holder.reset();
    sweep_alike(sweep, tool({"beeline", "tree"}, 60, 20));
    sweep_alike(sweep, tool({"beeline", "status"}, 60, 20));
    sweep_alike(sweep, tool({"beeline", "inbox", "holder"}, 60, 16));
    sweep_alike(sweep, tool({"beeline", "info", "holder"}, 60, 20));
    sweep_alike(sweep, tool({"beeline", "route", "far", "holder"}, 8, 4));
    Operation doctor = tool({"beeline", "doctor"}, 20, 24, SYS_memfd_create);
    doctor.check = [this](const Ending& ending) {
      expect_one_text(ending);
      clear_trial_file();
    };
    sweep_alike(sweep, doctor);
    sweep_alike(sweep, tool({"beeline", "dlq", "ls"}, 60, 30));
    sweep_alike(sweep, tool({"beeline", "dlq", "show", id_text(letter)}, 60, 40));
    const std::string saved = hive_->directory() + "/saved";
    const Words of_far{"shm-dump", "--agent", "far"};
    sweep_alike(sweep, tool(of_far, 20, 5, SYS_getdents64));
    sweep_alike(sweep,
                tool({"shm-dump", "--agent", "far", "--save", saved}, 30, 8, SYS_getdents64));
    if (HasFailure()) return;
    const auto file = std::filesystem::directory_iterator(saved)->path().string();
    // The tool's first look at its streams: the child makes no such call before it executes the
    // program, nor does the loader, and no other process works meanwhile.
    sweep_alike(sweep, tool({"shm-dump", file}, 4, 1, SYS_fcntl));
    std::filesystem::remove_all(saved);
  });
}

TEST_F(SyscallToolsTest, AHiveGoesUpAndDownOrTheToolSaysWhyNot) {
  const Nest nest;
  run_filtered(20, [&](SyscallSweep& sweep) {
    const auto up = [&] { EXPECT_EQ(test::run({"beeline", "up"}).code, 0) << "no hive"; };
    const auto clear = [&](const Ending&) {
      // A hive starts in the place of the leftovers, and ends.
      EXPECT_TRUE(attach_again(named("first")));
      nest.clear();
    };
    const std::string group = std::to_string(::getegid());
    Operation go_up = tool({"beeline", "up", "--group", group}, 60, 12, SYS_memfd_create);
    go_up.check = clear;
    sweep.run(go_up);
    Operation go_down = tool({"beeline", "down"}, 20, 5);
    go_down.prepare = up;
    go_down.check = clear;
    sweep.run(go_down);
  });
}

TEST_F(SyscallToolsTest, AHiveOfACommandLeavesNothing) {
  const Nest nest;  // its directory is only the place of temporary ones
  ::setenv("TMPDIR", nest.path().c_str(), 1);
  run_filtered(20, [&](SyscallSweep& sweep) {
    const Words words{"beeline", "run", "--", "echo", "done"};
    Operation run = tool(words, 60, 40, SYS_signalfd4);
    run.act = [this, words]() -> Ending {
      said_ = test::run(words);
      EXPECT_LE(said_.code, 127) << "it crashed";  // 126, 127: the command does not start
      if (said_.code == 0) return {};
      return Error{ErrorCode::kSystem, 0, said_.err};
    };
    run.check = [&](const Ending& ending) {
      EXPECT_TRUE(ending || said_.out == "done\n") << said_.out;
      const Deadline deadline = patience();
      while (!processes_with("TMPDIR", nest.path()).empty()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "processes are left";
      }
      const bool is_clean = std::filesystem::is_empty(nest.path());
      EXPECT_TRUE(is_clean || !said_.err.empty()) << "files are left, and nobody said so";
      for (const auto& each : std::filesystem::directory_iterator(nest.path())) {
        std::filesystem::remove_all(each);
      }
    };
    sweep.run(run);
  });
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace beeline::test
