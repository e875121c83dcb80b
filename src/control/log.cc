#include "src/control/log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "src/os/clock.h"
#include "src/os/fd.h"
#include "src/os/uninterrupted.h"

namespace beeline::control {

std::string now_rfc3339() {
  const std::int64_t now_ns = os::realtime_ns();
  const std::time_t seconds = now_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     now_ns / 1'000'000 % 1000);
}

void Log::rotate() {
  struct stat ours {};
  if (::fstat(fd_, &ours) == 0 && ours.st_size >= kMaxLogBytes) (void)begin_anew();
}

bool Log::begin_anew() {
  struct stat ours {};
  if (path_.empty() || ::fstat(fd_, &ours) != 0 || !S_ISREG(ours.st_mode)) return false;
  // Keeper and coordinator write to one file: the second of them finds it renamed already.
  if (is_ours()) {
    (void)std::rename(path_.c_str(), old_path(path_).c_str());
  } else if (::access(path_.c_str(), F_OK) != 0) {
    return false;  // it was removed: the hive ends, or its keeper makes it again
  }
  return reopen();
}

bool Log::follow() { return !path_.empty() && !is_ours() && reopen(); }

bool Log::is_ours() const {
  struct stat ours {};
  struct stat named {};
  return ::fstat(fd_, &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
}

bool Log::reopen() {
  const os::UniqueFd fresh(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  return fresh.valid() && ::dup3(fresh.get(), fd_, O_CLOEXEC) == fd_;
}

bool Log::put(const std::string& line) {
  const auto length = static_cast<ssize_t>(line.size());
  const auto write_line = [&] {
    return os::uninterrupted([&] { return ::write(fd_, line.data(), line.size()); });
  };
  ssize_t written = write_line();
  // Our limit of file sizes (RLIMIT_FSIZE) is below kMaxLogBytes.
  if (written < 0 && errno == EFBIG && begin_anew()) written = write_line();
  return written == length;
}

void Log::write(std::string_view level, std::string_view event, std::string_view fields) {
  pollfd room{fd_, POLLOUT, 0};
  (void)os::uninterrupted([&] { return ::poll(&room, 1, 0); });
  if ((room.revents & POLLOUT) == 0) {
    ++dropped_;
    return;
  }
  std::string line = fmt::format("ts={} level={} pid={} event={}{}{}", now_rfc3339(), level,
                                 ::getpid(), event, fields.empty() ? "" : " ", fields);
  if (dropped_ != reported_) {
    line += fmt::format(" lines_dropped={}", dropped_);
    reported_ = dropped_;
  }
  line += '\n';
  // POSIX: a pipe with room takes up to PIPE_BUF bytes without blocking.
  constexpr std::size_t kMaxLine = 4096;
  if (line.size() > kMaxLine) {
    line.resize(kMaxLine - 1);
    line += '\n';
  }
  if (!put(line)) ++dropped_;
  rotate();
}

}  // namespace beeline::control
