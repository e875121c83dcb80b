#include "tools/beeline/shell.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"

namespace beeline::cli {
namespace {

struct Pipe {
  os::UniqueFd read_end;
  os::UniqueFd write_end;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return os::system_failure("cannot make a pipe");
  return Pipe{os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

/// The child, between fork and exec.
[[noreturn]] void become_shell(const char* command, int input, int output, pid_t parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before it was set
  (void)::setpgid(0, 0);                    // so that whatever it starts can be ended with it
  (void)::dup2(input, STDIN_FILENO);
  (void)::dup2(output, STDOUT_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execl("/bin/sh", "sh", "-c", command, nullptr);
  ::_exit(127);
}

/// The command and all that it has started and that stayed in its group.
class Group {
 public:
  Group(pid_t leader, os::UniqueFd pidfd) : leader_(leader), pidfd_(std::move(pidfd)) {}

  /// Whoever asks twice means it.
  void end() { (void)::kill(-leader_, ended_++ == 0 ? SIGTERM : SIGKILL); }
  void kill() { (void)::kill(-leader_, SIGKILL); }

  /// Reaps the command, ending it at each signal that comes meanwhile; returns its exit code.
  int wait(Signals& signals, bool& interrupted) {
    for (;;) {
      const auto status = os::try_reap(leader_);
      if (!status) return kUnknown;
      if (*status) return WIFEXITED(**status) ? WEXITSTATUS(**status) : 128 + WTERMSIG(**status);
      const std::array<int, 2> fds{pidfd_.get(), signals.fd()};
      (void)os::poll_readable(fds, std::chrono::seconds(10));
      while (signals.take()) {
        interrupted = true;
        end();
      }
    }
  }

 private:
  static constexpr int kUnknown = 127;

  pid_t leader_;
  os::UniqueFd pidfd_;
  int ended_ = 0;
};

/// Feeds the input and collects the output of one child until it closes its stdout.
class Exchange {
 public:
  Exchange(std::string_view input, os::UniqueFd to_child, os::UniqueFd from_child)
      : input_(input), to_child_(std::move(to_child)), from_child_(std::move(from_child)) {
    (void)::fcntl(to_child_.get(), F_SETFL, O_NONBLOCK);
    if (input_.empty()) to_child_.reset();
  }

  /// False at the end of the output, or when a signal arrived (`interrupted`).
  bool step(Signals& signals) {
    std::array<pollfd, 3> fds{
        {{from_child_.get(), POLLIN, 0}, {to_child_.get(), POLLOUT, 0}, {signals.fd(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) return errno == EINTR;
    if (fds[2].revents != 0 && signals.take()) {
      interrupted = true;
      return false;
    }
    if (fds[1].revents != 0) feed();
    return fds[0].revents == 0 || collect();
  }

  std::string output;
  bool interrupted = false;

 private:
  void feed() {
    const ssize_t count = ::write(to_child_.get(), input_.data(), input_.size());
    if (count > 0) input_.remove_prefix(static_cast<std::size_t>(count));
    // A command need not read all of its input.
    if (input_.empty() || (count < 0 && errno != EAGAIN && errno != EINTR)) to_child_.reset();
  }

  bool collect() {
    std::array<char, 64 * 1024> bytes{};
    const ssize_t count = ::read(from_child_.get(), bytes.data(), bytes.size());
    if (count < 0) return errno == EINTR;
    output.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0 && output.size() <= kMaxShellOutput;
  }

  std::string_view input_;
  os::UniqueFd to_child_;
  os::UniqueFd from_child_;
};

}  // namespace

Result<ShellOutcome> run_shell(const std::string& command, std::string_view input,
                               const std::vector<std::pair<std::string, std::string>>& environment,
                               Signals& signals) {
  auto in = make_pipe();
  if (!in) return tl::unexpected(std::move(in.error()));
  auto out = make_pipe();
  if (!out) return tl::unexpected(std::move(out.error()));
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return os::system_failure("cannot fork to run the command");
  if (child == 0) {
    become_shell(command.c_str(), in->read_end.get(), out->write_end.get(), self);
  }
  (void)::setpgid(child, child);  // whoever of us is first
  auto pidfd = os::open_pidfd(child);
  Group group(child, pidfd ? std::move(*pidfd) : os::UniqueFd());
  in->read_end.reset();
  out->write_end.reset();

  ShellOutcome outcome;
  {
    Exchange exchange(input, std::move(in->write_end), std::move(out->read_end));
    while (exchange.step(signals)) {
    }
    outcome.output = std::move(exchange.output);
    outcome.interrupted = exchange.interrupted;
  }
  const bool too_big = outcome.output.size() > kMaxShellOutput;
  if (outcome.interrupted) group.end();
  if (too_big) group.kill();
  outcome.exit_code = group.wait(signals, outcome.interrupted);
  if (too_big) {
    return fail(ErrorCode::kTooBig,
                fmt::format("the command printed more than {} bytes", kMaxShellOutput));
  }
  return outcome;
}

}  // namespace beeline::cli
