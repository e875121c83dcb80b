#include "tools/beeline/command_guard.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>  // and program_invocation_name
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "src/os/error.h"
#include "src/os/process.h"
#include "tools/beeline/kin.h"
#include "tools/beeline/output.h"
#include "tools/beeline/signals.h"

namespace beeline::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCommandGrace(kCommandGraceSeconds);
// The exit code that a shell uses for this.
constexpr int kNotStarted = 126;
// A process may start another one while it is being killed, so we look again.
constexpr std::chrono::milliseconds kFirstKillPause(10);
constexpr std::chrono::milliseconds kLongestKillPause(1000);  // a process of another user stays

// The child, between fork and exec.
[[noreturn]] void become_shell(const char* command, const GuardEnds& ends, pid_t parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before it was set
  (void)::setpgid(0, 0);                    // so that the signals of the terminal go elsewhere
  (void)::dup2(ends.input.get(), STDIN_FILENO);
  (void)::dup2(ends.output.get(), STDOUT_FILENO);
  if (ends.errors.valid()) (void)::dup2(ends.errors.get(), STDERR_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execl("/bin/sh", "sh", "-c", command, nullptr);
  ::_exit(127);
}

// A user may kill all `beeline reply` by name or by arguments. The guard must survive that, so it
// overwrites both in the place where the kernel reads them.
void take_own_name() {
  (void)::prctl(PR_SET_NAME, kGuardName.data());
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const auto length = static_cast<std::size_t>(
      std::distance(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  char* arguments = program_invocation_name;  // the first of them; the others follow
  std::fill_n(arguments, length, '\0');
  if (kGuardName.size() < length) std::copy_n(kGuardName.data(), kGuardName.size(), arguments);
}

class Guard {
 public:
  Guard(pid_t leader, os::UniqueFd line, Signals signals)
      : leader_(leader), line_(std::move(line)), signals_(std::move(signals)) {}

  // Returns when no process of the command runs any more.
  void stay() {
    for (;;) {
      take_orders();
      const bool has_children = reap();
      if (status_ && !has_ended_well()) begin_end();
      if (phase_ == Phase::kEnding && Clock::now() >= kill_at_) phase_ = Phase::kKilling;
      if (phase_ == Phase::kKilling) signal_all(SIGKILL);
      if (status_ && has_ended_well()) report();
      if (status_ && (!has_children || !kin_.look())) {
        reap();  // children that have just ended
        return report();
      }
      wait();
    }
  }

 private:
  enum class Phase { kRunning, kEnding, kKilling };

  [[nodiscard]] bool has_ended_well() const {
    return phase_ == Phase::kRunning && *status_ == 0 && stop_ == 0;
  }

  void begin_end() {
    if (phase_ != Phase::kRunning) return;
    phase_ = Phase::kEnding;
    kill_at_ = Clock::now() + kCommandGrace;
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // a stopped process does not end
  }

  // Signals the whole group of the command at once, so that none of its processes can start
  // another one in between. This works even if /proc shows nothing, because no other process gets
  // the group's number before we reap its leader. The look comes first: a process in another
  // session is recognised as ours only while its parent lives.
  void signal_all(int number) {
    const bool has_kin = kin_.look();
    if (!status_) (void)::kill(-leader_, number);
    if (has_kin) kin_.signal(number);
  }

  void take_orders() {
    char order = 0;
    for (;;) {
      const ssize_t count = ::recv(line_.get(), &order, 1, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      // `reply` has gone. The next handler of the message must not wait long.
      was_told_ |= !status_;
      const bool kills = count <= 0 || static_cast<GuardOrder>(order) == GuardOrder::kKill;
      if (!kills) {
        begin_end();
        continue;
      }
      phase_ = Phase::kKilling;
      if (count <= 0) is_alone_ = true;
      if (count <= 0) return;
    }
  }

  // False if there are no children left.
  bool reap() {
    while (signals_.take()) {
    }
    for (;;) {
      int status = 0;
      const pid_t child = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
      if (child < 0 && errno == EINTR) continue;
      if (child < 0) return false;
      if (child == 0) return true;
      if (WIFSTOPPED(status)) {
        if (child == leader_) note_stop(WSTOPSIG(status));
      } else if (child == leader_) {
        status_ = status;
      }
    }
  }

  void note_stop(int signal) {
    if (phase_ != Phase::kRunning) return;
    stop_ = signal;
    begin_end();
  }

  void report() {
    if (std::exchange(has_reported_, true)) return;
    const GuardReport report{*status_, stop_, was_told_};
    (void)::send(line_.get(), &report, sizeof report, MSG_NOSIGNAL);
  }

  void wait() {
    std::array<pollfd, 2> fds{{{signals_.fd(), POLLIN, 0}, {line_.get(), POLLIN, 0}}};
    std::chrono::milliseconds limit(-1);  // for ever
    if (phase_ == Phase::kEnding) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - Clock::now());
      limit = std::max(left, std::chrono::milliseconds(0));
    }
    if (phase_ == Phase::kKilling) {
      limit = kill_pause_;
      kill_pause_ = std::min(2 * kill_pause_, kLongestKillPause);
    }
    // The end of the line would stay readable for ever.
    (void)::poll(fds.data(), is_alone_ ? 1 : 2, static_cast<int>(limit.count()));
  }

  pid_t leader_;
  os::UniqueFd line_;
  Signals signals_;
  Kin kin_;
  Phase phase_ = Phase::kRunning;
  Clock::time_point kill_at_;
  std::chrono::milliseconds kill_pause_ = kFirstKillPause;
  std::optional<int> status_;  // of the leader; set once it has ended
  int stop_ = 0;
  bool was_told_ = false;  // an order to end came before the leader had ended
  bool has_reported_ = false;
  bool is_alone_ = false;
};

}  // namespace

void guard_command(const CommandLine& command, GuardEnds ends) {
  const std::array<int, 5> kept{ends.line.get(), ends.input.get(), ends.output.get(),
                                ends.errors.get(), ends.lease};
  (void)os::close_all_but(kept);
  take_own_name();
  (void)::setpgid(0, 0);  // keeps the terminal from signalling us
  ::signal(SIGCHLD, SIG_DFL);
  // Processes that the command leaves behind become our children, so that we can end them and see
  // their end.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto signals = Signals::block({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP});
  if (!signals) ::_exit(1);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  const pid_t self = ::getpid();
  const pid_t leader = ::fork();
  if (leader < 0) {
    (void)complain(os::system_failure("cannot fork to run the command").value());
    const GuardReport report{W_EXITCODE(kNotStarted, 0), 0, false};
    (void)::send(ends.line.get(), &report, sizeof report, MSG_NOSIGNAL);
    ::_exit(1);
  }
  if (leader == 0) become_shell(command.text.c_str(), ends, self);
  (void)::setpgid(leader, leader);  // the parent and the child both call this, and either may be
                                    // first
  ends.input.reset();
  ends.output.reset();
  ends.errors.reset();
  Guard(leader, std::move(ends.line), std::move(*signals)).stay();
  ::_exit(0);
}

}  // namespace beeline::cli
