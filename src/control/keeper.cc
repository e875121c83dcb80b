#include "src/control/keeper.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_holder.h"
#include "src/control/state_file.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/uninterrupted.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxQuickDeaths = 20;
constexpr std::int64_t kQuickNs = 10'000'000'000;
constexpr std::chrono::seconds kBackOff{1};
constexpr std::chrono::milliseconds kShortPause{10};
constexpr std::int64_t kDownNs = 3'000'000'000;
constexpr std::chrono::seconds kLastWait{2};
constexpr std::size_t kMaxRecordBytes = 128 * 1024;

}  // namespace

Result<Keeper> Keeper::open(KeeperOptions options, os::LockFile lock) {
  Keeper keeper(std::move(options), std::move(lock));
  keeper.facts_.paths = keeper.options_.paths;
  keeper.facts_.since = now_rfc3339();
  keeper.facts_.since_boot_us = static_cast<std::uint64_t>(os::boot_us());
  keeper.facts_.keeper_pid = ::getpid();
  keeper.facts_.max_payload_bytes = keeper.options_.max_payload_bytes;
  if (auto settled = keeper.settle_directory(); !settled) {
    return tl::unexpected(std::move(settled.error()));
  }
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&ending, number);
  ::sigprocmask(SIG_BLOCK, &ending, nullptr);
  keeper.signals_.reset(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!keeper.signals_.valid()) return os::system_failure("cannot make a signalfd");
  if (auto listening = keeper.listen(); !listening) {
    return tl::unexpected(std::move(listening.error()));
  }
  return keeper;
}

Result<void> Keeper::settle_directory() {
  // A hive that was killed has left it open to its group.
  const auto left = read_holder(options_.paths.lock);
  if (left && left->opening) {
    if (const auto closed = close_directory(options_.paths, *left->opening); !closed) {
      log_.warn("directory_not_restored", "text={}", in_quotes(closed.error().text));
    }
  }
  const auto found = directory_access(options_.paths);
  if (!found) return tl::unexpected(found.error());
  if (options_.group) {
    opening_ = {*found, *options_.group};
  } else if ((found->mode & 077) != 0) {
    log_.info(
        "directory_is_wide",
        "directory={} mode={:o} text=\"others may look into it, as its user wants; the socket "
        "is for him alone\"",
        in_quotes(options_.paths.directory), found->mode);
  }
  // Before it is opened: whoever comes after us knows how it was.
  return lock_.write_text(holder_text({facts_.paths.hive, ::getpid(), facts_.since, opening_}));
}

Result<void> Keeper::listen() {
  // Whoever sees the socket under its name can connect: it is renamed into place when it listens.
  const std::string fresh = options_.paths.socket + ".new";
  (void)::unlink(fresh.c_str());
  const mode_t before = ::umask(0077);
  auto listener = os::PacketSocket::listen(fresh);
  ::umask(before);
  if (!listener) return tl::unexpected(std::move(listener.error()));
  listener_ = std::move(*listener);
  if (options_.group) {
    if (auto admitted = admit_group(options_.paths, fresh, *options_.group); !admitted) {
      return admitted;
    }
  }
  if (std::rename(fresh.c_str(), options_.paths.socket.c_str()) != 0) {
    return os::system_failure(fmt::format("cannot create {}", options_.paths.socket));
  }
  return {};
}

Result<void> Keeper::start_coordinator() {
  auto ends = os::PacketSocket::pair();
  if (!ends) return tl::unexpected(std::move(ends.error()));
  const pid_t child = ::fork();
  if (child < 0) return os::system_failure("cannot fork the coordinator");
  if (child == 0) {
    // The table comes with the fork, so that no descriptor has to travel. What only the keeper
    // needs is closed, above all its end of the pair and the lock.
    (void)::prctl(PR_SET_NAME, "beelined");
    ends->first.close();
    socket_.close();
    signals_.reset();
    child_pidfd_.reset();
    lock_.close();
    if (options_.on_fork) options_.on_fork();
    ::_exit(run_coordinator(facts_, options_.coordinator, std::move(listener_),
                            std::move(ends->second), std::move(table_)));
  }
  child_ = child;
  socket_ = std::move(ends->first);
  ends->second.close();  // so that we see the end of the child's
  served_ = false;
  ++facts_.restarts;  // as the next one will count them
  auto pidfd = os::open_pidfd(child);
  if (!pidfd) {
    // We could not see its end.
    end_child();
    return tl::unexpected(std::move(pidfd.error()));
  }
  child_pidfd_ = std::move(*pidfd);
  return {};
}

void Keeper::end_child() {
  (void)::kill(child_, SIGKILL);  // ours and not reaped, so the number is its own
  (void)os::uninterrupted([&] { return ::waitpid(child_, nullptr, 0); });
  drain();
}

void Keeper::restart_coordinator() {
  while (!quit_) {
    const auto started = start_coordinator();
    if (started) return;
    log_.warn("restart_failed", "text={}", in_quotes(started.error().text));
    // A signal that came meanwhile ends the wait and us: nobody is left who could go down in order.
    quit_ = os::wait_readable(signals_.get(), kBackOff);
  }
}

Result<void> Keeper::run() {
  if (auto started = start_coordinator(); !started) return started;
  while (!quit_) {
    wait_for_events();
    if (quit_ || !os::has_exited(child_pidfd_.get())) continue;
    drain();  // its last words
    read_signal();
    if (quit_) break;
    if (auto restarted = after_death(); !restarted) {
      remove_files();
      return restarted;
    }
  }
  finish();
  return {};
}

void Keeper::wait_for_events() {
  const std::array<int, 3> fds{socket_.fd(), signals_.get(), child_pidfd_.get()};
  auto timeout = std::chrono::nanoseconds::max();
  if (kill_at_ns_ != 0) timeout = std::chrono::nanoseconds(kill_at_ns_ - os::monotonic_ns());
  (void)os::poll_readable(fds, timeout);
  drain();
  read_signal();
  if (kill_at_ns_ != 0 && os::monotonic_ns() >= kill_at_ns_) {
    log_.warn("coordinator_hangs", "process={}", child_);
    quit_ = true;
  }
}

void Keeper::drain() {
  bool failed = false;
  while (socket_.valid() && !quit_) {
    auto packet = socket_.try_receive(kMaxRecordBytes);
    if (packet && !*packet) return;
    if (packet) {
      obey((*packet)->text, std::move((*packet)->fds));
      continue;
    }
    const ErrorCode code = packet.error().code;
    if (code == ErrorCode::kClosed) return socket_.close();
    if (!std::exchange(failed, true)) {
      log_.warn("keeper_receive_failed", "text={}", in_quotes(packet.error().text));
    }
    // One that did not arrive whole is gone, and it alone. Any other is still there: whatever the
    // machine lacks just now, no coordinator is to start without it.
    if (code == ErrorCode::kProtocol) continue;
    if (os::wait_readable(signals_.get(), kShortPause) || kill_at_ns_ != 0) return;
  }
}

void Keeper::obey(std::string_view text, std::vector<os::UniqueFd> fds) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view value = text.substr(std::min(line + 1, text.size()));
  const auto key_after = [&](std::string_view verb) {
    return std::string(text.substr(verb.size(), line - verb.size()));
  };
  if (text.starts_with(kKeepVerb)) {
    table_[key_after(kKeepVerb)] = KeptRecord{std::string(value), std::move(fds)};
  } else if (text.starts_with(kNoteVerb)) {
    // One whose packet did not arrive whole is made, too: who has ended may own links.
    table_[key_after(kNoteVerb)].value = value;
  } else if (text.starts_with(kDropVerb)) {
    table_.erase(key_after(kDropVerb));
  } else if (text == kServingVerb) {
    if (!std::exchange(ready_, true) && options_.on_ready) options_.on_ready();
  } else if (text == kServedVerb) {
    served_ = true;
  } else if (text == kQuitVerb) {
    quit_ = true;
  }
}

void Keeper::read_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
  log_.info("keeper_signal", "signal={}", info.ssi_signo);
  if (kill_at_ns_ == 0) kill_at_ns_ = os::monotonic_ns() + kDownNs;
  if (socket_.valid()) (void)socket_.try_send(kDownVerb);
}

Result<void> Keeper::after_death() {
  int status = 0;
  (void)os::uninterrupted([&] { return ::waitpid(child_, &status, 0); });
  log_.warn("coordinator_died", "process={} {}={} records={}", child_,
            WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), table_.size());
  if (!ready_) {
    return fail(ErrorCode::kClosed,
                fmt::format("the coordinator ended before it served; see {}", options_.paths.log));
  }
  if (kill_at_ns_ != 0) {
    quit_ = true;  // nobody is left who could go down in order
    return {};
  }
  const std::int64_t now_ns = os::monotonic_ns();
  if (served_) deaths_ns_.clear();
  deaths_ns_.push_back(now_ns);
  while (now_ns - deaths_ns_.front() > kQuickNs) deaths_ns_.pop_front();
  if (deaths_ns_.size() > kMaxQuickDeaths) (void)os::wait_readable(signals_.get(), kBackOff);
  restart_coordinator();
  return {};
}

void Keeper::finish() {
  remove_files();
  socket_.close();  // the coordinator goes when it sees this
  listener_.close();
  if (!os::wait_readable(child_pidfd_.get(), kLastWait)) {
    (void)os::send_signal(child_pidfd_.get(), SIGKILL);
  }
  (void)os::uninterrupted([&] { return ::waitpid(child_, nullptr, 0); });
  log_.info("keeper_ends", "hive={}", options_.paths.hive);
}

void Keeper::remove_files() {
  const HivePaths& paths = options_.paths;
  const std::string old_log = Log::old_path(paths.log);
  const std::string bad_state = StateFile::bad_path(paths.state);
  for (const std::string& path : {paths.socket, paths.state, bad_state, paths.log, old_log}) {
    (void)::unlink(path.c_str());
  }
  // While the lock holds what the directory was, and nobody else begins here.
  if (opening_) (void)close_directory(paths, *opening_);
  (void)::unlink(paths.lock.c_str());
  (void)::rmdir(paths.directory.c_str());  // one in which something else lies stays
}

}  // namespace beeline::control
