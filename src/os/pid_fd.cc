#include "src/os/pid_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include "src/os/error.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {
namespace {

constexpr long kPidFs = 0x50494446;   // PID_FS_MAGIC, Linux 6.9
constexpr int kPidfdThread = O_EXCL;  // PIDFD_THREAD, Linux 6.9: as a file flag of the pidfd

int signal_by_pidfd(int pidfd, int signal_number) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal_number, nullptr, 0));
}

Result<std::string> read_fdinfo(int fd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(fd);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_failure("open " + path);
  std::array<char, 4096> buffer{};
  const ssize_t length = ::read(file.get(), buffer.data(), buffer.size());
  if (length < 0) return system_failure("read " + path);
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

tl::unexpected<Error> not_a_pidfd(int fd) {
  return fail(ErrorCode::kInvalid, "fd " + std::to_string(fd) + " is not a pidfd");
}

}  // namespace

Result<UniqueFd> open_pidfd(pid_t pid) {
  if (pid <= 0) {
    return fail(ErrorCode::kInvalid, "open pidfd: pid must be positive, is " + std::to_string(pid));
  }
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));  // closed on exec always
  if (fd.valid()) return fd;
  const int sys_errno = errno;
  const auto code = sys_errno == ESRCH ? ErrorCode::kPeerDead : ErrorCode::kSystem;
  return system_failure(code, sys_errno, "open pidfd of process " + std::to_string(pid));
}

bool has_exited(int pidfd) noexcept {
  pollfd entry{pidfd, POLLIN, 0};
  const int count = uninterrupted([&] { return ::poll(&entry, 1, 0); });
  return count > 0 && (entry.revents & POLLIN) != 0;
}

Result<void> send_signal(int pidfd, int signal_number) {
  if (signal_by_pidfd(pidfd, signal_number) == 0) return {};
  const int sys_errno = errno;
  auto code = ErrorCode::kSystem;
  if (sys_errno == ESRCH) code = ErrorCode::kPeerDead;
  if (sys_errno == EPERM) code = ErrorCode::kDenied;
  if (sys_errno == EBADF || sys_errno == EINVAL) code = ErrorCode::kInvalid;
  return system_failure(
      code, sys_errno,
      "send signal " + std::to_string(signal_number) + " by pidfd " + std::to_string(pidfd));
}

Result<pid_t> pid_of(int pidfd) {
  // SUBTLE: a "Pid:" line alone proves nothing. Other kinds of file print text in fdinfo that their
  // maker chose (the name of a dma-buf); only a pidfd or a /proc directory passes this call.
  if (signal_by_pidfd(pidfd, 0) != 0 && errno == EBADF) return not_a_pidfd(pidfd);
  const auto info = read_fdinfo(pidfd);
  if (!info) return tl::unexpected<Error>(info.error());

  constexpr std::string_view kField = "\nPid:\t";
  const auto at = info->find(kField);
  if (at == std::string::npos) return not_a_pidfd(pidfd);
  const char* const first = info->data() + at + kField.size();
  pid_t pid = 0;
  const auto parsed = std::from_chars(first, info->data() + info->size(), pid);
  if (parsed.ec != std::errc()) return not_a_pidfd(pidfd);
  if (pid == 0) {
    return fail(ErrorCode::kDenied, "pidfd " + std::to_string(pidfd) +
                                        ": its process lives in a pid namespace that is not "
                                        "visible from ours");
  }
  if (pid < 0) {
    return fail(ErrorCode::kPeerDead,
                "pidfd " + std::to_string(pidfd) + ": its process has ended and was reaped");
  }
  return pid;
}

std::optional<std::uint64_t> process_number(int pidfd) noexcept {
  // Older kernels share one inode among all pidfds.
  struct statfs system {};
  struct stat status {};
  if (::fstatfs(pidfd, &system) != 0 || system.f_type != kPidFs) return std::nullopt;
  if (::fstat(pidfd, &status) != 0) return std::nullopt;
  return status.st_ino;
}

Result<void> check_pidfd(int pidfd, pid_t expected) {
  const std::string what = "pidfd " + std::to_string(pidfd) + " from a peer: ";
  if (expected <= 0) {
    return fail(ErrorCode::kDenied,
                what + "the kernel names pid " + std::to_string(expected) +
                    " for the socket: the peer lives in a pid namespace that is not visible from "
                    "ours; share the namespace or use Linux 6.5 or later");
  }
  const auto pid = pid_of(pidfd);
  if (!pid) {
    Error error = pid.error();
    if (error.code == ErrorCode::kInvalid) error.code = ErrorCode::kProtocol;
    error.text.insert(0, what);
    return tl::unexpected<Error>(std::move(error));
  }
  if (*pid != expected) {
    return fail(ErrorCode::kDenied, what + "it names process " + std::to_string(*pid) +
                                        ", the socket belongs to process " +
                                        std::to_string(expected));
  }
  // A thread's pidfd fires while the other threads go on: no proof of death.
  const int flags = ::fcntl(pidfd, F_GETFL);
  if (flags < 0 || (flags & kPidfdThread) != 0) {
    return fail(ErrorCode::kDenied, what + "it stands for one thread, not for the process");
  }
  return {};
}

}  // namespace beeline::os
