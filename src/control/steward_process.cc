#include "src/control/steward_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "src/control/quotes.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"
#include "src/os/uninterrupted.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxWordBytes = 256;
constexpr std::size_t kMostChildren = 8192;
constexpr std::int64_t kQuickEndNs = 5'000'000'000;
constexpr std::int64_t kPauseNs = 100'000'000;
constexpr std::int64_t kLongestPauseNs = 10'000'000'000;

std::optional<pid_t> pid_in(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 0) return std::nullopt;
  return pid;
}

}  // namespace

void StewardProcess::call(Log& log) {
  if (pid_ == 0 && start_at_ns_ == 0) start(log);
}

void StewardProcess::start(Log& log) {
  start_at_ns_ = 0;
  if (setting_.program.empty()) return;
  // Its children, and theirs, become ours when it dies.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  started_ns_ = os::monotonic_ns();
  auto ends = os::PacketSocket::pair();
  if (!ends) return note_end(0, log);
  const int fd = ends->second.fd();
  const std::array<int, 2> keep{fd, setting_.log_fd};
  ::setenv("BEELINE_HIVE", setting_.hive.c_str(), 1);
  ::setenv(kKingVariable, setting_.secret.c_str(), 1);
  ::setenv(kKeeperFdVariable, fmt::format("{}", fd).c_str(), 1);
  ::setenv(kStewardLogVariable, fmt::format("{}", setting_.log_fd).c_str(), 1);
  const auto pid = os::spawn({setting_.program}, keep);
  for (const char* variable : {kKingVariable, kKeeperFdVariable, kStewardLogVariable}) {
    ::unsetenv(variable);
  }
  if (!pid) {
    log.warn("steward_failed", "text={}", in_quotes(pid.error().text));
    return note_end(0, log);
  }
  pid_ = *pid;
  socket_ = std::move(ends->first);
  if (auto pidfd = os::open_pidfd(pid_)) pidfd_ = std::move(*pidfd);
  log.info("steward_started", "process={} children={}", pid_, children_.size());
  tell_children();
}

void StewardProcess::tell_children() {
  for (const auto& [pid, child] : children_) {
    if (child.status) {
      (void)socket_.try_send(fmt::format("{}{} {}", kExitedWord, pid, *child.status));
    } else {
      const int fd = child.pidfd.get();
      (void)socket_.try_send(fmt::format("{}{}", kChildWord, pid), {&fd, 1});
    }
  }
  (void)socket_.try_send(std::string(kKnownWord));
}

void StewardProcess::turn(Log& log) {
  hear(log);
  if (start_at_ns_ != 0 && os::monotonic_ns() >= start_at_ns_) start(log);
}

void StewardProcess::hear(Log& log) {
  while (socket_.valid()) {
    auto packet = socket_.try_receive(kMaxWordBytes);
    if (packet && !*packet) return;
    if (packet) {
      obey((*packet)->text, std::move((*packet)->fds));
      continue;
    }
    if (packet.error().code == ErrorCode::kProtocol) continue;
    if (packet.error().code == ErrorCode::kClosed) socket_.close();
    log.warn("steward_not_heard", "text={}", in_quotes(packet.error().text));
    return;
  }
}

void StewardProcess::obey(std::string_view text, std::vector<os::UniqueFd> fds) {
  if (text.starts_with(kChildWord)) {
    const auto pid = pid_in(text.substr(kChildWord.size()));
    if (pid && fds.size() == 1 && children_.size() < kMostChildren) {
      children_[*pid].pidfd = std::move(fds[0]);
    }
  } else if (text.starts_with(kGoneWord)) {
    if (const auto pid = pid_in(text.substr(kGoneWord.size()))) children_.erase(*pid);
  }
  quick_ends_ = 0;  // it works, so its ends are not its own fault
}

void StewardProcess::ended(pid_t pid, int status, Log& log) {
  hear(log);  // its last words come before its end
  if (pid == pid_) return note_end(status, log);
  const auto found = children_.find(pid);
  if (found == children_.end()) return;
  found->second.status = status;
  if (socket_.valid()) {
    (void)socket_.try_send(fmt::format("{}{} {}", kExitedWord, pid, status));
  }
}

// It is started again after a pause that grows while it ends at once.
void StewardProcess::note_end(int status, Log& log) {
  const std::int64_t now_ns = os::monotonic_ns();
  if (pid_ != 0) {
    log.warn("steward_ended", "process={} {}={}", pid_, WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  quick_ends_ = now_ns - started_ns_ < kQuickEndNs ? quick_ends_ + 1 : 0;
  pid_ = 0;
  pidfd_.reset();
  socket_.close();
  if (setting_.program.empty()) return;
  const std::int64_t pause_ns = quick_ends_ <= 1 ? 0 : kPauseNs << std::min(quick_ends_, 10U);
  start_at_ns_ = now_ns + std::min(pause_ns, kLongestPauseNs) + 1;
}

void StewardProcess::forget() {
  socket_.close();
  pidfd_.reset();
  children_.clear();
}

void StewardProcess::end(std::int64_t patience_ns) {
  setting_.program.clear();
  start_at_ns_ = 0;
  socket_.close();  // it ends when it sees this
  if (pid_ != 0) {
    if (pidfd_.valid())
      (void)os::wait_readable(pidfd_.get(), std::chrono::nanoseconds(patience_ns));
    (void)::kill(pid_, SIGKILL);  // ours and not reaped, so the number is its own
    (void)os::uninterrupted([&] { return ::waitpid(pid_, nullptr, 0); });
    pid_ = 0;
  }
  for (const auto& [pid, child] : children_) {
    if (!child.status && child.pidfd.valid()) (void)os::send_signal(child.pidfd.get(), SIGKILL);
  }
  std::error_code ignored;  // it has removed them itself, unless it is dead or hangs
  if (!setting_.folder.empty()) std::filesystem::remove_all(setting_.folder, ignored);
}

}  // namespace beeline::control
