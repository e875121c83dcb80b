#include "tests/fault/errno_table.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

namespace beeline::test {

namespace {

constexpr int kMost = 5;
constexpr unsigned kPeerPidfd = 77;  // SO_PEERPIDFD

struct Row {
  int number;
  std::string_view name;
  std::array<int, kMost> errors;  // the rest are 0
  // Null: for all arguments.
  bool (*applies)(const seccomp_notif& request) = nullptr;
};

// The kind of file behind the first argument, as /proc shows it.
bool is_on(const seccomp_notif& request, std::string_view kind) {
  const std::string link =
      "/proc/" + std::to_string(request.pid) + "/fd/" + std::to_string(request.data.args[0]);
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return length > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with(kind);
}

// Mappings of the allocator are not ours: the library does not survive a failing `new`.
bool maps_a_file(const seccomp_notif& request) {
  return (request.data.args[3] & MAP_ANONYMOUS) == 0;
}
template <std::uint64_t kValue>
bool second_is(const seccomp_notif& request) {
  return request.data.args[1] == kValue;
}
template <std::uint64_t kValue>
bool third_is(const seccomp_notif& request) {
  return request.data.args[2] == kValue;
}
bool sets_limit(const seccomp_notif& request) { return request.data.args[2] != 0; }
bool asks_pidfd(const seccomp_notif& request) { return request.data.args[2] == kPeerPidfd; }
bool sets_buffer(const seccomp_notif& request) { return request.data.args[2] != SO_SNDTIMEO; }
// A write to an eventfd with room, as ours have, can only fail in one way.
bool is_event(const seccomp_notif& request) { return is_on(request, "anon_inode:"); }
bool is_file(const seccomp_notif& request) { return is_on(request, "/"); }

// Our code makes all of these calls.
constexpr std::array kRows = {
    // memory and files
    Row{SYS_memfd_create, "memfd_create", {EMFILE, ENFILE, ENOMEM}},
    Row{SYS_ftruncate, "ftruncate", {EINTR, ENOMEM, EPERM}},
    Row{SYS_fallocate, "fallocate", {EINTR, ENOSPC, ENOMEM}},
    Row{SYS_mmap, "mmap", {ENOMEM, EAGAIN, ENFILE, EPERM}, maps_a_file},
    Row{SYS_mremap, "mremap(duplicate)", {ENOMEM}, second_is<0>},
    Row{SYS_madvise, "madvise", {ENOMEM, EAGAIN}},
    Row{SYS_fcntl, "fcntl(ADD_SEALS)", {EBUSY, EPERM}, second_is<F_ADD_SEALS>},
    Row{SYS_fcntl, "fcntl(DUPFD)", {EMFILE, ENOMEM}, second_is<F_DUPFD_CLOEXEC>},
    Row{SYS_fcntl, "fcntl(OFD_SETLK)", {EINTR, ENOLCK, EAGAIN}, second_is<F_OFD_SETLK>},
    Row{SYS_fcntl, "fcntl(SETFL)", {EPERM}, second_is<F_SETFL>},
    Row{SYS_openat, "openat", {EMFILE, ENFILE, ENOMEM, EINTR, EACCES}},
    Row{SYS_newfstatat, "newfstatat", {ENOMEM}},
    Row{SYS_faccessat, "faccessat", {ENOMEM, EACCES}},
    Row{SYS_faccessat2, "faccessat2", {ENOMEM, EACCES}},
    Row{SYS_getxattr, "getxattr", {ENOMEM, ERANGE}},
    Row{SYS_getcwd, "getcwd", {ENOMEM, EACCES}},
    Row{SYS_fstatfs, "fstatfs", {ENOMEM, EINTR}},
    Row{SYS_read, "read", {EINTR, EIO}},
    Row{SYS_pread64, "pread64", {EINTR, EIO}},
    Row{SYS_preadv2, "preadv2", {EINTR, EAGAIN, EOPNOTSUPP}},
    Row{SYS_write, "write(eventfd)", {EINTR}, is_event},
    Row{SYS_write, "write(file)", {EINTR, ENOSPC, EIO}, is_file},
    Row{SYS_write, "write(pipe)", {EINTR}},
    Row{SYS_writev, "writev", {EINTR, ENOSPC}},
    Row{SYS_pwrite64, "pwrite64", {EINTR, ENOSPC}},
    Row{SYS_getdents64, "getdents64", {ENOMEM}},
    Row{SYS_lseek, "lseek(DATA)", {EIO}, third_is<SEEK_DATA>},
    Row{SYS_lseek, "lseek(HOLE)", {EIO}, third_is<SEEK_HOLE>},
    Row{SYS_flock, "flock", {EINTR, ENOLCK, EWOULDBLOCK}},
    Row{SYS_fchmod, "fchmod", {EPERM, EIO}},
    Row{SYS_fchmodat, "fchmodat", {EPERM, ENOMEM}},
    Row{SYS_fchownat, "fchownat", {EPERM, ENOMEM}},
    Row{SYS_unlinkat, "unlinkat", {ENOMEM, EIO}},
    Row{SYS_dup, "dup", {EMFILE}},
    Row{SYS_dup3, "dup3", {EBUSY, EINTR}},
#ifdef SYS_stat
    Row{SYS_stat, "stat", {ENOMEM}},
    Row{SYS_lstat, "lstat", {ENOMEM}},
    Row{SYS_access, "access", {ENOMEM}},
    Row{SYS_readlink, "readlink", {ENOMEM, EACCES}},
    Row{SYS_mkdir, "mkdir", {ENOSPC, ENOMEM}},
    Row{SYS_rmdir, "rmdir", {ENOMEM, EIO}},
    Row{SYS_unlink, "unlink", {ENOMEM, EIO}},
    Row{SYS_chmod, "chmod", {EPERM, ENOMEM}},
    Row{SYS_chown, "chown", {EPERM, ENOMEM}},
    Row{SYS_dup2, "dup2", {EBUSY, EINTR}},
    Row{SYS_rename, "rename", {ENOSPC, ENOMEM}},
    Row{SYS_poll, "poll", {EINTR}},
    Row{SYS_epoll_wait, "epoll_wait", {EINTR}},
    Row{SYS_fork, "fork", {EAGAIN, ENOMEM}},
    Row{SYS_vfork, "vfork", {EAGAIN, ENOMEM}},
#endif
    // waiting
    Row{SYS_eventfd2, "eventfd2", {EMFILE, ENFILE, ENOMEM}},
    Row{SYS_epoll_create1, "epoll_create1", {EMFILE, ENFILE, ENOMEM}},
    Row{SYS_epoll_ctl, "epoll_ctl", {ENOMEM, ENOSPC}},
    Row{SYS_epoll_pwait, "epoll_pwait", {EINTR}},
    Row{SYS_ppoll, "ppoll", {EINTR}},
    Row{SYS_futex, "futex(WAIT)", {EINTR, EAGAIN}, second_is<FUTEX_WAIT>},
    Row{SYS_timerfd_create, "timerfd_create", {EMFILE, ENFILE, ENOMEM}},
    Row{SYS_signalfd4, "signalfd4", {EMFILE, ENFILE, ENOMEM}},
    Row{SYS_inotify_init1, "inotify_init1", {EMFILE, ENOMEM}},
    Row{SYS_inotify_add_watch, "inotify_add_watch", {ENOSPC, ENOMEM}},
    // processes
    Row{SYS_prlimit64, "setrlimit", {EPERM}, sets_limit},
    Row{SYS_pidfd_open, "pidfd_open", {EMFILE, ENFILE, ENOMEM}},
    Row{SYS_clone, "clone", {EAGAIN, ENOMEM}},
    Row{SYS_clone3, "clone3", {EAGAIN, ENOMEM}},
    Row{SYS_execve, "execve", {ENOMEM, EACCES}},
    Row{SYS_wait4, "wait4", {EINTR}},
    Row{SYS_waitid, "waitid", {EINTR}},
    Row{SYS_setpgid, "setpgid", {EACCES, EPERM}},
    Row{SYS_setpriority, "setpriority", {EACCES, EPERM}},
    Row{SYS_ioprio_set, "ioprio_set", {EPERM, ENOMEM}},
    Row{SYS_sched_setscheduler, "sched_setscheduler", {EPERM}},
    Row{SYS_sched_setaffinity, "sched_setaffinity", {EPERM, ENOMEM}},
    Row{SYS_pipe2, "pipe2", {EMFILE, ENFILE}},
    // sockets
    Row{SYS_socket, "socket", {EMFILE, ENFILE, ENOBUFS}},
    Row{SYS_socketpair, "socketpair", {EMFILE, ENFILE, ENOBUFS}},
    Row{SYS_connect, "connect", {EINTR, EAGAIN, EACCES, ECONNREFUSED}},
    Row{SYS_bind, "bind", {ENOSPC, ENOMEM}},
    Row{SYS_listen, "listen", {EADDRINUSE}},
    Row{SYS_accept4, "accept4", {EINTR, ECONNABORTED, EMFILE, ENFILE, ENOMEM}},
    Row{SYS_setsockopt, "setsockopt(buffer)", {EPERM, ENOBUFS}, sets_buffer},
    Row{SYS_getsockopt, "getsockopt(PEERPIDFD)", {EMFILE, ENFILE}, asks_pidfd},
    Row{SYS_sendmsg, "sendmsg", {EINTR, EAGAIN, ENOMEM, ENOBUFS, ETOOMANYREFS}},
    Row{SYS_recvmsg, "recvmsg", {EINTR, ENOMEM, ECONNRESET}},
    // No EAGAIN: the kernel returns it only for an empty queue, and the next packet is a new edge.
    Row{SYS_recvfrom, "recvfrom", {EINTR, ENOMEM, ECONNRESET}},
};

// Our code, the C library or the shell make these calls too; they do not fail in such ways.
constexpr std::array kOthers = {
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
#ifdef SYS_pause
    SYS_pause,
#endif
    SYS_brk,
    SYS_munmap,
    SYS_mprotect,
    SYS_close,
    SYS_umask,
    SYS_chdir,
    SYS_ioctl,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_timerfd_settime,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getscheduler,
    SYS_prctl,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_setsid,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_kill,
    SYS_pidfd_send_signal,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_exit,
    SYS_exit_group,
    SYS_shutdown};

}  // namespace

std::span<const int> calls_that_do_not_fail() { return kOthers; }

bool is_failing_call(int number) {
  return std::any_of(kRows.begin(), kRows.end(),
                     [number](const Row& row) { return row.number == number; });
}

std::string_view name_of_call(int number) {
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [number](const Row& each) { return each.number == number; });
  return row == kRows.end() ? "?" : row->name;
}

std::span<const int> plausible_errors(const seccomp_notif& request) {
  for (const Row& row : kRows) {
    if (row.number != request.data.nr) continue;
    if (row.applies != nullptr && !row.applies(request)) continue;
    const auto* const end = std::find(row.errors.begin(), row.errors.end(), 0);
    return {row.errors.data(), static_cast<std::size_t>(end - row.errors.begin())};
  }
  return {};
}

}  // namespace beeline::test
