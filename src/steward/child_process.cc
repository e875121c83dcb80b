#include "src/steward/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/pid_fd.h"
#include "src/os/uninterrupted.h"

extern char** environ;

namespace beeline::steward {

namespace {

constexpr char kGo = 'g';
constexpr unsigned kCloseRangeCloexec = 4;
constexpr int kMostFds = 1 << 16;

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

// These are between keeper, service manager and steward.
bool is_private(std::string_view name) {
  return name == "BEELINE_KING" || name == "BEELINE_KEEPER_FD" || name == "BEELINE_TICKET" ||
         name == "NOTIFY_SOCKET" || name.starts_with("LISTEN_") || name == "WATCHDOG_USEC" ||
         name == "WATCHDOG_PID";
}

std::map<std::string, std::string> child_environment(const SpawnOptions& options,
                                                     const std::string& ticket) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto split = text.find('=');
    if (split == std::string_view::npos || is_private(text.substr(0, split))) continue;
    variables.emplace(text.substr(0, split), text.substr(split + 1));
  }
  for (const auto& [name, value] : options.environment) {
    if (value.empty()) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
  }
  variables["BEELINE_TICKET"] = ticket;
  return variables;
}

// The paths at which the program may lie.
Result<std::vector<std::string>> find_program(const std::string& program, std::string path) {
  if (program.find('/') != std::string::npos) return std::vector{program};
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    const std::string folder = end == begin ? "." : path.substr(begin, end - begin);
    const std::string found = folder + "/" + program;
    if (::access(found.c_str(), X_OK) == 0) return std::vector{found};
    begin = end + 1;
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("cannot start {}: no such program in PATH ({})", program, path));
}

}  // namespace

Result<ProcessPlan> ProcessPlan::make(const SpawnOptions& options, const std::string& ticket,
                                      int output_fd, bool limit_memory) {
  ProcessPlan plan;
  plan.argv_ = options.command;
  plan.output_fd_ = output_fd;
  plan.directory_ = options.directory;
  auto variables = child_environment(options, ticket);
  auto programs = find_program(options.command.front(), variables["PATH"]);
  if (!programs) return tl::unexpected(std::move(programs.error()));
  plan.programs_ = std::move(*programs);
  for (const auto& [name, value] : variables) {
    if (!value.empty() || name != "PATH") plan.environment_.push_back(name + "=" + value);
  }
  const ChildLimits& limits = options.limits;
  if (limits.cpu_seconds != 0) plan.limits_.push_back({RLIMIT_CPU, limits.cpu_seconds});
  if (limits.open_files != 0) plan.limits_.push_back({RLIMIT_NOFILE, limits.open_files});
  if (limit_memory && limits.memory_bytes != 0) {
    plan.limits_.push_back({RLIMIT_AS, limits.memory_bytes});
  }
  if (!options.uid || *options.uid == ::geteuid()) return plan;
  if (::geteuid() != 0) {
    return fail(
        ErrorCode::kDenied,
        fmt::format("cannot start {} as user {}: the steward runs as user {}, and only root "
                    "may start processes of others",
                    options.command.front(), *options.uid, ::geteuid()));
  }
  const passwd* const user = ::getpwuid(*options.uid);
  if (user == nullptr) {
    return fail(ErrorCode::kInvalid,
                fmt::format("cannot start {} as user {}: there is no such user",
                            options.command.front(), *options.uid));
  }
  plan.uid_ = user->pw_uid;
  plan.gid_ = user->pw_gid;
  int count = 256;
  plan.groups_.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(user->pw_name, user->pw_gid, plan.groups_.data(), &count) < 0) count = 1;
  plan.groups_.resize(static_cast<std::size_t>(count));
  return plan;
}

// Runs between fork and exec: no allocation, no lock.
struct NewProcess {
  const ProcessPlan& plan;
  char** argv;
  char** environment;
  int link;

  [[noreturn]] void give_up(Step step) const {
    const StepFailed report{step, errno};
    if (::write(link, &report, sizeof report) != sizeof report) ::_exit(126);
    ::_exit(127);
  }
  void await_release() const {
    char word = 0;
    const auto got = os::uninterrupted([&] { return ::read(link, &word, 1); });
    if (got != 1 || word != kGo) ::_exit(125);
  }
  static void reset_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // The new program would inherit an ignored signal.
    for (const int number : {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM, SIGCHLD}) {
      ::signal(number, SIG_DFL);
    }
  }
  void redirect() const {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) give_up(Step::kOutput);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      if (::dup2(plan.output_fd_, stream) < 0) give_up(Step::kOutput);
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
    for (const auto& limit : plan.limits_) {
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
    if (!plan.uid_) return;
    if (::setgroups(plan.groups_.size(), plan.groups_.data()) != 0 ||
        ::setresgid(plan.gid_, plan.gid_, plan.gid_) != 0 ||
        ::setresuid(*plan.uid_, *plan.uid_, *plan.uid_) != 0) {
      give_up(Step::kUser);
    }
  }
  [[noreturn]] void run() const {
    await_release();
    reset_signals();
    ::setsid();
    redirect();
    mark_others();
    become_user();
    if (!plan.directory_.empty() && ::chdir(plan.directory_.c_str()) != 0) {
      give_up(Step::kDirectory);
    }
    set_limits();
    for (const std::string& program : plan.programs_) ::execve(program.c_str(), argv, environment);
    give_up(Step::kExec);
  }
};

namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec takes pointers to non-const for historical reasons and writes through none of them.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<ProcessPlan::Started> ProcessPlan::start() const {
  auto argv = pointers_to(argv_);
  auto environment = pointers_to(environment_);
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return os::system_failure("make the link to a new process");
  }
  os::UniqueFd mine(ends[0]);
  os::UniqueFd its(ends[1]);
  if (!mine.valid() || !its.valid()) return os::system_failure("make the link to a new process");
  const pid_t pid = ::fork();
  if (pid < 0) return os::system_failure(fmt::format("cannot start {}: fork", argv_.front()));
  if (pid == 0) {
    ::close(mine.get());
    NewProcess{*this, argv.data(), environment.data(), its.get()}.run();
  }
  its.reset();
  auto pidfd = os::open_pidfd(pid);
  if (!pidfd) return tl::unexpected(std::move(pidfd.error()));  // the link ends, and the process
  return Started{pid, std::move(*pidfd), std::move(mine)};
}

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
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
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
