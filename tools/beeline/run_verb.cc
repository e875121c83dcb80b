// run: a hive for one command.

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"
#include "tools/beeline/output.h"
#include "tools/beeline/scratch_hive.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// The exit codes that a shell uses.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// Lets the command find this very program, even if it is not installed.
void put_us_on_the_path() {
  const char* path = ::secure_getenv("PATH");
  ::setenv("PATH",
           fmt::format("{}:{}", os::executable_directory(), path != nullptr ? path : "").c_str(),
           1);
}

// Passes a signal on to the command, unless the terminal sent it: the command gets that one
// directly.
void pass_on(const Signals::Taken& signal, int pidfd, int& passed) {
  if (signal.from_terminal) return;
  // The second request to end kills the command.
  (void)os::send_signal(pidfd, ++passed > 1 ? SIGKILL : signal.number);
}

int wait_for(pid_t child, Signals& signals) {
  const auto pidfd = os::open_pidfd(child);
  int passed = 0;
  for (;;) {
    if (const auto status = os::try_reap(child); status && *status) {
      return WIFEXITED(**status) ? WEXITSTATUS(**status) : 128 + WTERMSIG(**status);
    } else if (!status) {
      return kNotFound;
    }
    const std::array<int, 2> fds{pidfd ? pidfd->get() : -1, signals.fd()};
    (void)os::poll_readable(fds, std::chrono::seconds(10));
    while (const auto signal = signals.take()) {
      if (pidfd) pass_on(*signal, pidfd->get(), passed);
    }
  }
}

ExitCode run(const std::vector<std::string>& command) {
  if (command.empty()) {
    return complain(ExitCode::kUsage, "run needs a command: beeline run -- CMD...");
  }
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  if (!signals) return complain(signals.error());
  auto hive = ScratchHive::start("run");
  if (!hive) return complain(hive.error());
  put_us_on_the_path();
  const auto child = os::spawn(command);
  int code = kNotExecutable;
  if (child) {
    code = wait_for(*child, *signals);
  } else {
    (void)complain(child.error());
    if (child.error().sys_errno == ENOENT) code = kNotFound;
  }
  if (const auto closed = hive->close(); !closed) (void)complain(closed.error());
  return static_cast<ExitCode>(code);
}

}  // namespace

void add_run_verb(CLI::App& app, Context& context) {
  auto command = std::make_shared<std::vector<std::string>>();
  auto* verb = app.add_subcommand("run", "Run a command in a hive of its own");
  verb->add_option("CMD", *command, "The command and its arguments");
  verb->footer(
      "Examples:\n"
      "  beeline run -- ./my-tests\n"
      "  beeline run -- sh -c 'beeline reply e --echo & beeline request e hi'\n"
      "The hive lies in a temporary directory, $BEELINE_DIR of the command. The exit code is the\n"
      "command's, 128 + n if signal n ended it. Afterwards no process and no file of the hive is "
      "left,\nalso if we are killed: each `beeline` that runs in it ends, the commands of\n"
      "`reply --command` with it.");
  verb->callback([&context, command] { context.exit = run(*command); });
}

}  // namespace beeline::cli
