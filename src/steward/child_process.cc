#include "src/steward/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/pid_fd.h"
#include "src/os/text_file.h"
#include "src/os/uninterrupted.h"

namespace beeline::steward {

namespace {

constexpr char kGo = 'g';
constexpr unsigned kCloseRangeCloexec = 4;
constexpr int kMostFds = 1 << 16;
constexpr std::size_t kStackBytes = std::size_t{64} << 10;

// The first word of a process, or of its maker.
struct Birth {
  pid_t pid = 0;  // 0: there is no process
  std::int32_t sys_errno = 0;
};

enum class Step : std::int32_t { kLimit, kUser, kDirectory, kOutput, kExec };

struct StepFailed {
  Step step = Step::kExec;
  std::int32_t sys_errno = 0;
};

std::string_view describe(Step step) {
  switch (step) {
    case Step::kLimit:
      return "set a limit";
    case Step::kUser:
      return "become the user";
    case Step::kDirectory:
      return "enter the directory";
    case Step::kOutput:
      return "redirect the output";
    case Step::kExec:
      return "exec";
  }
  return "start";
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec takes pointers to non-const for historical reasons and writes through none of them.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// One new process, from the thread that makes it until its program begins. SUBTLE: fork() would
// copy the page tables of the steward, and each page that the steward touches next: most of the
// cost of a spawn. This process shares the memory until its exec and has a stack of its own; its
// maker, and with it `errno`, stands still meanwhile. So it neither allocates nor takes a lock. A
// process of another user does not share memory with the steward.
class NewProcess {
 public:
  // `mine` is the steward's end of the link.
  NewProcess(ProcessPlan plan, int output_fd, int mine, os::UniqueFd its)
      : plan_(std::move(plan)),
        argv_(pointers_to(plan_.argv)),
        environment_(pointers_to(plan_.environment)),
        output_fd_(output_fd),
        mine_(mine),
        its_(std::move(its)) {}

  // Returns once the program has begun or the process has ended. It has told its number, or why
  // there is none, through the link.
  void make() {
    const int flags = plan_.uid ? SIGCHLD : CLONE_VM | CLONE_VFORK | SIGCHLD;
    if (::clone(&NewProcess::enter, stack_.data() + stack_.size(), flags, this) >= 0) return;
    const Birth failed{0, errno};
    (void)::send(its_.get(), &failed, sizeof failed, MSG_NOSIGNAL);
  }

 private:
  static int enter(void* process) { static_cast<NewProcess*>(process)->run(); }

  [[noreturn]] void give_up(Step step) const {
    const StepFailed report{step, errno};
    if (::write(its_.get(), &report, sizeof report) != sizeof report) ::_exit(126);
    ::_exit(127);
  }
  void await_release() const {
    char word = 0;
    const auto got = os::uninterrupted([&] { return ::read(its_.get(), &word, 1); });
    if (got == 1 && word == kGo) return;
    // No program of a child ends like this.
    const int number = unreleased_signal();
    ::signal(number, SIG_DFL);
    unblock_signals();
    ::kill(::getpid(), number);
    ::_exit(125);
  }
  static void unblock_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }
  static void reset_signals() {
    // The new program would inherit an ignored signal.
    for (const int number : {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM, SIGCHLD}) {
      ::signal(number, SIG_DFL);
    }
    unblock_signals();
  }
  void redirect() const {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) give_up(Step::kOutput);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      if (::dup2(output_fd_, stream) < 0) give_up(Step::kOutput);
    }
  }
  // All other descriptors end at the exec.
  static void mark_others() {
#ifdef SYS_close_range
    if (::syscall(SYS_close_range, 3U, ~0U, kCloseRangeCloexec) == 0) return;
#endif
    for (int fd = 3; fd < kMostFds; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  void set_limits() const {
    for (const auto& limit : plan_.limits) {
      rlimit value{limit.value, limit.value};
      // The processor time has a second between SIGXCPU and SIGKILL.
      if (limit.resource == RLIMIT_CPU) ++value.rlim_max;
      rlimit now{};
      if (::getrlimit(static_cast<__rlimit_resource>(limit.resource), &now) == 0) {
        value.rlim_max = std::min(value.rlim_max, now.rlim_max);
        value.rlim_cur = std::min(value.rlim_cur, value.rlim_max);
      }
      if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &value) != 0) {
        give_up(Step::kLimit);
      }
    }
  }
  void become_user() const {
    if (!plan_.uid) return;
    if (::setgroups(plan_.groups.size(), plan_.groups.data()) != 0 ||
        ::setresgid(plan_.gid, plan_.gid, plan_.gid) != 0 ||
        ::setresuid(*plan_.uid, *plan_.uid, *plan_.uid) != 0) {
      give_up(Step::kUser);
    }
  }
  [[noreturn]] void run() const {
    ::close(mine_);
    const Birth birth{::getpid(), 0};
    if (::write(its_.get(), &birth, sizeof birth) != sizeof birth) ::_exit(125);
    await_release();
    reset_signals();
    ::setsid();
    redirect();
    mark_others();
    become_user();
    if (!plan_.directory.empty() && ::chdir(plan_.directory.c_str()) != 0) {
      give_up(Step::kDirectory);
    }
    set_limits();
    for (const std::string& program : plan_.programs) {
      ::execve(program.c_str(), argv_.data(), environment_.data());
    }
    give_up(Step::kExec);
  }

  const ProcessPlan plan_;
  const std::vector<char*> argv_;
  const std::vector<char*> environment_;
  const int output_fd_;
  const int mine_;
  const os::UniqueFd its_;
  alignas(16) std::array<std::byte, kStackBytes> stack_;
};

// Makes the process in a thread that runs no signal handler, because the process shares its memory.
// Errors: kSystem (the system gives no thread).
Result<void> make_in_thread(std::shared_ptr<NewProcess> process) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int sys_errno = 0;
  try {
    std::thread([process = std::move(process)] { process->make(); }).detach();
  } catch (const std::system_error& error) {
    sys_errno = error.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (sys_errno == 0) return {};
  errno = sys_errno;
  return os::system_failure("start a thread for a new process");
}

}  // namespace

Result<StartedProcess> start_process(ProcessPlan plan, int output_fd) {
  const std::string program = plan.argv.front();
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return os::system_failure("make the link to a new process");
  }
  os::UniqueFd mine(ends[0]);
  os::UniqueFd its(ends[1]);
  if (!mine.valid() || !its.valid()) return os::system_failure("make the link to a new process");
  auto made = make_in_thread(
      std::make_shared<NewProcess>(std::move(plan), output_fd, mine.get(), std::move(its)));
  if (!made) return tl::unexpected(std::move(made.error()));
  Birth birth;
  const auto got = os::uninterrupted([&] { return ::recv(mine.get(), &birth, sizeof birth, 0); });
  if (got != sizeof birth) {
    return fail(ErrorCode::kSystem,
                fmt::format("cannot start {}: the new process ended at once", program));
  }
  if (birth.pid == 0) {
    errno = birth.sys_errno;
    return os::system_failure(fmt::format("cannot start {}: clone", program));
  }
  auto pidfd = os::open_pidfd(birth.pid);
  if (!pidfd) return tl::unexpected(std::move(pidfd.error()));  // the link ends, and the process
  return StartedProcess{birth.pid, std::move(*pidfd), std::move(mine)};
}

int unreleased_signal() { return SIGRTMAX; }

Result<void> release(int link) {
  const auto sent = os::uninterrupted([&] { return ::send(link, &kGo, 1, MSG_NOSIGNAL); });
  if (sent == 1) return {};
  if (errno == EPIPE) return fail(ErrorCode::kPeerDead, "the process ended before its program");
  return os::system_failure("release a process");
}

std::optional<ExecReport> read_report(int link) {
  StepFailed failed;
  const auto got =
      os::uninterrupted([&] { return ::recv(link, &failed, sizeof failed, MSG_DONTWAIT); });
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  if (got != sizeof failed) return ExecReport{true, {}};
  const std::string reason = std::generic_category().message(failed.sys_errno);
  if (failed.step == Step::kExec) return ExecReport{false, reason};
  return ExecReport{false, fmt::format("{}: {}", describe(failed.step), reason)};
}

std::uint64_t start_ticks_of(pid_t pid) {
  const std::string text = os::read_text_file(fmt::format("/proc/{}/stat", pid));
  // The second field is the name, which may have blanks and brackets.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  constexpr int kFieldsBetween = 19;  // from the state, field 3, to the start, field 22
  std::size_t at = name_end + 2;
  for (int i = 0; i < kFieldsBetween && at < text.size(); ++i) {
    at = std::min(text.find(' ', at), text.size() - 1) + 1;
  }
  std::uint64_t ticks = 0;
  std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), ticks);
  return ticks;
}

}  // namespace beeline::steward
