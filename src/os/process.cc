#include "src/os/process.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "src/os/error.h"
#include "src/os/fd.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {

static_assert(kNoFdLimit == RLIM_INFINITY);

Result<void> raise_fd_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return system_failure("read limit of open files");
  if (limit.rlim_cur == limit.rlim_max) return {};
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return system_failure("raise limit of open files to " + std::to_string(limit.rlim_max));
}

void lower_fd_limit(std::uint64_t soft) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= soft) return;
  limit.rlim_cur = soft;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int first_own_fd() {
  constexpr rlim_t kLeast = 64;
  constexpr rlim_t kMost = std::numeric_limits<int>::max();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t all = std::min(limit.rlim_cur, kMost);
  return static_cast<int>(all - std::min(std::max(kLeast, all / 4), all / 2));
}

int next_fd(int fd) {
  const auto probe = duplicate(fd);
  return probe ? probe->get() : -1;
}

Result<void> fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // open() gives the lowest free number, which is this one.
    const int wrong_way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", wrong_way) < 0) return system_failure("open /dev/null");
  }
  return {};
}

// Not by close_range(), which is younger than some kernels that we run on.
Result<void> close_all_but(std::span<const int> keep) {
  const auto is_kept = [keep](int fd) {
    return fd <= STDERR_FILENO || std::find(keep.begin(), keep.end(), fd) != keep.end();
  };
  // If no descriptor is free, the listing gets this one, which is closed in any case.
  int first = STDERR_FILENO + 1;
  while (is_kept(first)) ++first;
  ::close(first);
  std::vector<int> others;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (!is_kept(fd)) others.push_back(fd);
  }
  if (error) return system_failure(ErrorCode::kSystem, error.value(), "list our open files");
  // The listing's own descriptor is among them; it was closed when the listing ended.
  for (const int fd : others) ::close(fd);
  return {};
}

FdLimit fd_limit() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur, limit.rlim_max};
}

int usable_cpus() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) return std::max(1, CPU_COUNT(&cpus));
  // A machine with more CPUs than a cpu_set_t has bits.
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

void pin_to_cpu(int cpu) noexcept {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  if (::sched_setaffinity(0, sizeof cpus, &cpus) != 0) return;
}

void yield() noexcept { ::sched_yield(); }

std::string executable_directory() {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink("/proc/self/exe", target.data(), target.size());
  if (length <= 0) return ".";
  const std::string path(target.data(), static_cast<std::size_t>(length));
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::optional<int>> try_reap(pid_t child) {
  int status = 0;
  const pid_t reaped = uninterrupted([&] { return ::waitpid(child, &status, WNOHANG); });
  if (reaped < 0) return system_failure("reap child " + std::to_string(child));
  if (reaped == 0) return std::optional<int>();
  return std::optional<int>(status);
}

}  // namespace beeline::os
