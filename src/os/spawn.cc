// Starting programs (declared in process.h). The new process tells how far it came through a pipe
// that exec closes. The parent reads it to its end, so it knows the whole truth.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "src/os/error.h"
#include "src/os/fd.h"
#include "src/os/process.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {
namespace {

enum class Stage : std::int32_t { kStarted, kFork, kStdin, kKeepFd, kExec };

// One line of the new process to its parent; smaller than PIPE_BUF, so written whole.
struct Report {
  Stage stage = Stage::kStarted;
  std::int32_t sys_errno = 0;
  pid_t pid = 0;
};

struct Plan {
  std::vector<char*> argv;  // null at the end
  std::span<const int> keep_fds;
  bool detached = false;
  int report_fd = -1;
};

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Everything from here to run_child() runs between fork and exec: no allocation, no lock.

[[noreturn]] void give_up(const Plan& plan, Stage stage) noexcept {
  const Report report{stage, errno, ::getpid()};
  if (::write(plan.report_fd, &report, sizeof report) != sizeof report) ::_exit(126);
  ::_exit(127);
}

void redirect_stdin(const Plan& plan) noexcept {
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0) give_up(plan, Stage::kStdin);
  if (null == STDIN_FILENO) return;
  if (::dup2(null, STDIN_FILENO) < 0) give_up(plan, Stage::kStdin);
  ::close(null);
}

void reset_signals() noexcept {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The new program would inherit an ignored signal.
  for (const int number : {SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);
}

[[noreturn]] void run_child(const Plan& plan) noexcept {
  if (plan.detached) {
    ::setsid();
    const pid_t grandchild = ::fork();
    if (grandchild < 0) give_up(plan, Stage::kFork);
    if (grandchild > 0) ::_exit(0);
    redirect_stdin(plan);
  }
  reset_signals();
  for (const int fd : plan.keep_fds) {
    if (::fcntl(fd, F_SETFD, 0) != 0) give_up(plan, Stage::kKeepFd);
  }
  const Report started{Stage::kStarted, 0, ::getpid()};
  if (::write(plan.report_fd, &started, sizeof started) != sizeof started) ::_exit(126);
  ::execvp(plan.argv.front(), plan.argv.data());
  give_up(plan, Stage::kExec);
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_failure("make pipe");
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  if (!pipe.read_end.valid() || !pipe.write_end.valid()) return system_failure("make pipe");
  return pipe;
}

// Reads until the pipe is closed by exec or exit. The last report counts.
Report read_reports(int fd) noexcept {
  Report last{Stage::kFork, ECHILD, 0};
  Report next;
  for (;;) {
    const ssize_t length = uninterrupted([&] { return ::read(fd, &next, sizeof next); });
    if (length != sizeof next) return last;
    last = next;
  }
}

void reap(pid_t child) noexcept {
  (void)uninterrupted([&] { return ::waitpid(child, nullptr, 0); });
}

std::string_view describe(Stage stage) {
  switch (stage) {
    case Stage::kStarted:
      return "started";
    case Stage::kFork:
      return "fork again";
    case Stage::kStdin:
      return "open /dev/null as stdin";
    case Stage::kKeepFd:
      return "keep a file descriptor open";
    case Stage::kExec:
      return "exec";
  }
  return "start";
}

Result<pid_t> start(const std::vector<std::string>& argv, std::span<const int> keep_fds,
                    bool detached) {
  if (argv.empty() || argv.front().empty()) {
    return fail(ErrorCode::kInvalid, "start a program: argv must name it, is empty");
  }
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected<Error>(std::move(pipe.error()));
  Plan plan{{}, keep_fds, detached, pipe->write_end.get()};
  // execvp takes pointers to non-const for historical reasons and writes through none of them.
  for (const std::string& word : argv) plan.argv.push_back(const_cast<char*>(word.c_str()));
  plan.argv.push_back(nullptr);

  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork to start '" + argv.front() + "'");
  if (child == 0) run_child(plan);
  pipe->write_end.reset();
  const Report report = read_reports(pipe->read_end.get());
  if (detached || report.stage != Stage::kStarted) reap(child);
  if (report.stage == Stage::kStarted) return report.pid;
  return system_failure(ErrorCode::kSystem, report.sys_errno,
                        "start '" + argv.front() + "': " + std::string(describe(report.stage)));
}

}  // namespace

Result<pid_t> spawn(const std::vector<std::string>& argv, std::span<const int> keep_fds) {
  return start(argv, keep_fds, false);
}

Result<pid_t> spawn_detached(const std::vector<std::string>& argv, std::span<const int> keep_fds) {
  return start(argv, keep_fds, true);
}

}  // namespace beeline::os
