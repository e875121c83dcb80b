#include "tests/spool/call_faults.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace beeline::spool::test {
namespace {

CallFault armed;
int calls = 0;
bool is_on = false;

// True if the call fails now.
bool strikes() {
  if (!is_on || ++calls != armed.at) return false;
  if (armed.error == 0) ::kill(::getpid(), SIGKILL);
  errno = armed.error;
  return true;
}

template <typename... Arguments>
long pass(long number, Arguments... arguments) {
  return strikes() ? -1 : ::syscall(number, arguments...);
}

}  // namespace

int aim(CallFault fault) {
  armed = fault;
  is_on = fault.at != 0;
  return std::exchange(calls, 0);
}

}  // namespace beeline::spool::test

using beeline::spool::test::pass;

extern "C" {

int openat(int dir, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return static_cast<int>(pass(SYS_openat, dir, path, flags, mode));
}
int renameat(int from, const char* old_name, int to, const char* new_name) {
  return static_cast<int>(pass(SYS_renameat2, from, old_name, to, new_name, 0));
}
int renameat2(int from, const char* old_name, int to, const char* new_name, unsigned flags) {
  return static_cast<int>(pass(SYS_renameat2, from, old_name, to, new_name, flags));
}
int unlinkat(int dir, const char* path, int flags) {
  return static_cast<int>(pass(SYS_unlinkat, dir, path, flags));
}
ssize_t write(int fd, const void* bytes, size_t count) { return pass(SYS_write, fd, bytes, count); }
ssize_t read(int fd, void* bytes, size_t count) { return pass(SYS_read, fd, bytes, count); }
int fstat(int fd, struct stat* found) { return static_cast<int>(pass(SYS_fstat, fd, found)); }
int fstatat(int dir, const char* path, struct stat* found, int flags) {
  return static_cast<int>(pass(SYS_newfstatat, dir, path, found, flags));
}
int fsync(int fd) { return static_cast<int>(pass(SYS_fsync, fd)); }
int fdatasync(int fd) { return static_cast<int>(pass(SYS_fdatasync, fd)); }
int futimens(int fd, const struct timespec times[2]) noexcept {
  return static_cast<int>(pass(SYS_utimensat, fd, nullptr, times, 0));
}
int flock(int fd, int operation) noexcept {
  return static_cast<int>(pass(SYS_flock, fd, operation));
}

}  // extern "C"
