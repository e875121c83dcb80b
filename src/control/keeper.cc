#include "src/control/keeper.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/control/king.h"
#include "src/control/program_check.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"
#include "src/os/uninterrupted.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxQuickDeaths = 20;
constexpr std::int64_t kQuickNs = 10'000'000'000;
constexpr std::chrono::seconds kBackOff{1};
constexpr std::chrono::milliseconds kShortPause{10};
constexpr std::int64_t kTellAgainNs = 100'000'000;
constexpr std::int64_t kDownNs = 3'000'000'000;
constexpr std::int64_t kDownWithStewardNs = 20'000'000'000;  // it ends its processes first
constexpr std::int64_t kLastOfStewardNs = 2'000'000'000;
constexpr std::chrono::seconds kLastWait{2};
constexpr std::size_t kMaxRecordBytes = 128 * 1024;

// A descriptor for these signals, which are blocked from now on.
os::UniqueFd signals_as_fd(std::initializer_list<int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return os::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The program of the steward beside ours; empty if there is none that may be trusted.
std::string find_steward() {
  auto program = check_program(os::executable_directory() + '/' + kStewardProgram);
  return program && *program ? std::move(**program) : std::string();
}

}  // namespace

Result<Keeper> Keeper::open(KeeperOptions options, HiveFiles& files) {
  Keeper keeper(std::move(options), files);
  keeper.facts_.paths = keeper.options_.paths;
  keeper.facts_.since = now_rfc3339();
  keeper.facts_.since_boot_us = static_cast<std::uint64_t>(os::boot_us());
  keeper.facts_.keeper_pid = ::getpid();
  keeper.facts_.max_payload_bytes = keeper.options_.max_payload_bytes;
  keeper.signals_ = signals_as_fd({SIGTERM, SIGINT});
  keeper.ends_ = signals_as_fd({SIGCHLD});
  if (!keeper.signals_.valid() || !keeper.ends_.valid()) {
    return os::system_failure("cannot make a signalfd");
  }
  if (std::string program = find_steward(); !program.empty()) {
    auto secret = make_secret();
    if (!secret) return tl::unexpected(std::move(secret.error()));
    keeper.facts_.king_secret = *secret;
    keeper.steward_ = StewardProcess({std::move(program), keeper.facts_.paths.hive,
                                      keeper.facts_.paths.directory + "/steward",
                                      std::move(*secret), keeper.options_.coordinator.log_fd});
  }
  const auto occupied =
      files.occupy(keeper.facts_.since, keeper.log_, keeper.options_.coordinator.log_path);
  if (!occupied) return tl::unexpected(occupied.error());
  return keeper;
}

Result<void> Keeper::start_coordinator() {
  auto ends = os::PacketSocket::pair();
  if (!ends) return tl::unexpected(std::move(ends.error()));
  const pid_t child = ::fork();
  if (child < 0) return os::system_failure("cannot fork the coordinator");
  if (child == 0) {
    // The child gets the table by the fork, so that no descriptor has to travel. It closes
    // everything that only the keeper needs, above all the keeper's end of the pair and the lock.
    (void)::prctl(PR_SET_NAME, "beelined");
    ends->first.close();
    socket_.close();
    signals_.reset();
    ends_.reset();
    child_pidfd_.reset();
    steward_.forget();
    files_->release();
    if (store_) store_->forget();
    if (options_.on_fork) options_.on_fork();
    ::_exit(run_coordinator(facts_, options_.coordinator, std::move(files_->listener()),
                            std::move(ends->second), std::move(table_)));
  }
  child_ = child;
  socket_ = std::move(ends->first);
  ends->second.close();  // so that we see when the child closes its end
  served_ = false;
  tell_at_ns_ = 0;    // the fork has given it the current listener and files
  ++facts_.restarts;  // as the next coordinator will count them
  auto pidfd = os::open_pidfd(child);
  if (!pidfd) {
    // Without a pidfd we could not see the child's end.
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
    // A signal meanwhile ends the wait and the keeper: there is no coordinator to end the hive in
    // order.
    quit_ = os::wait_readable(signals_.get(), kBackOff);
  }
}

Result<void> Keeper::run() {
  if (ServiceManager* const manager = options_.manager; manager != nullptr && manager->listens()) {
    store_.emplace(*manager, log_);
    table_ = store_->restore(*manager, facts_.since_boot_us);
    if (!table_.empty()) log_.info("table_restored", "records={}", table_.size());
  }
  if (auto started = start_coordinator(); !started) return started;
  while (!quit_) {
    wait_for_events();
    if (quit_ || !os::has_exited(child_pidfd_.get())) continue;
    drain();  // its last words
    read_signal();
    if (quit_) break;
    if (auto restarted = after_death(); !restarted) return restarted;
  }
  finish();
  return {};
}

void Keeper::wait_for_events() {
  constexpr std::size_t kEnds = 4;
  const std::array<int, 6> fds{socket_.fd(),       signals_.get(), child_pidfd_.get(),
                               files_->watch_fd(), ends_.get(),    steward_.fd()};
  auto timeout = std::chrono::nanoseconds::max();
  if (kill_at_ns_ != 0 || ready_) {
    std::int64_t until_ns = kill_at_ns_ != 0 ? kill_at_ns_ : files_->next_look_ns();
    if (tell_at_ns_ != 0) until_ns = std::min(until_ns, tell_at_ns_);
    if (steward_.next_ns() != 0) until_ns = std::min(until_ns, steward_.next_ns());
    timeout = std::chrono::nanoseconds(until_ns - os::monotonic_ns());
  }
  const std::vector<std::size_t> ready = os::poll_readable(fds, timeout);
  files_->notice();
  drain();
  read_signal();
  if (std::find(ready.begin(), ready.end(), kEnds) != ready.end()) reap();
  steward_.turn(log_);
  if (ready_ && !quit_ && os::monotonic_ns() >= files_->next_look_ns()) mend_files();
  if (tell_at_ns_ != 0 && os::monotonic_ns() >= tell_at_ns_) tell_files();
  if (kill_at_ns_ != 0 && os::monotonic_ns() >= kill_at_ns_) {
    log_.warn("coordinator_hangs", "process={}", child_);
    quit_ = true;
  }
}

void Keeper::mend_files() {
  // Files that vanish during an orderly end are not missed.
  if (kill_at_ns_ == 0 && files_->mend(log_)) tell_at_ns_ = os::monotonic_ns();
}

void Keeper::tell_files() {
  tell_at_ns_ = 0;
  if (!socket_.valid() || kill_at_ns_ != 0) return;
  const int listener = files_->listener().fd();
  const auto told = socket_.try_send(kFilesVerb, {&listener, 1});
  const bool failed = !told || !*told;
  if (failed) tell_at_ns_ = os::monotonic_ns() + kTellAgainNs;
  if (std::exchange(is_untold_, failed) || !failed) return;
  log_.warn("coordinator_not_told", "text={}",
            in_quotes(told ? "it takes nothing" : told.error().text));
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
    // A packet that did not arrive whole is lost, and only that one. After any other error the
    // packet is still in the socket. We wait for it whatever the machine lacks just now, because no
    // coordinator may start without it.
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
    const std::string key = key_after(kKeepVerb);
    table_[key] = KeptRecord{std::string(value), std::move(fds)};
    if (store_) store_->keep(table_, key);
  } else if (text.starts_with(kNoteVerb)) {
    // A record is made here if its keep packet was lost: a life that has ended may own links.
    const std::string key = key_after(kNoteVerb);
    table_[key].value = value;
    if (store_) store_->note(table_, key);
  } else if (text.starts_with(kDropVerb)) {
    const std::string key = key_after(kDropVerb);
    table_.erase(key);
    if (store_) store_->drop(table_, key);
  } else if (text == kServingVerb) {
    if (!std::exchange(ready_, true) && options_.on_ready) options_.on_ready();
    if (store_) (void)options_.manager->say("READY=1");
  } else if (text == kServedVerb) {
    served_ = true;
  } else if (text.starts_with(kFailedVerb)) {
    last_words_ = text.substr(sizeof(kFailedVerb) - 1);
  } else if (text == kFilesVerb) {
    tell_at_ns_ = os::monotonic_ns() + kTellAgainNs;
  } else if (text == kStewardVerb) {
    if (kill_at_ns_ == 0) steward_.call(log_);
  } else if (text == kQuitVerb) {
    quit_ = true;
  }
}

void Keeper::read_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
  log_.info("keeper_signal", "signal={}", info.ssi_signo);
  if (kill_at_ns_ == 0) {
    kill_at_ns_ = os::monotonic_ns() + (steward_.is_running() ? kDownWithStewardNs : kDownNs);
  }
  if (socket_.valid()) (void)socket_.try_send(kDownVerb);
}

void Keeper::reap() {
  signalfd_siginfo info{};
  while (::read(ends_.get(), &info, sizeof(info)) == sizeof(info)) continue;
  for (;;) {
    siginfo_t next{};
    if (::waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    // The end of the coordinator is dealt with elsewhere; those behind it come after that.
    if (next.si_pid == 0 || next.si_pid == child_) return;
    int status = 0;
    if (::waitpid(next.si_pid, &status, WNOHANG) != next.si_pid) return;
    steward_.ended(next.si_pid, status, log_);
  }
}

Result<void> Keeper::after_death() {
  int status = 0;
  (void)os::uninterrupted([&] { return ::waitpid(child_, &status, 0); });
  log_.warn("coordinator_died", "process={} {}={} records={}", child_,
            WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), table_.size());
  if (!ready_) return tl::unexpected(early_end(status));
  if (kill_at_ns_ != 0) {
    quit_ = true;  // no coordinator is left to end the hive in order
    return {};
  }
  const std::int64_t now_ns = os::monotonic_ns();
  if (served_) deaths_ns_.clear();
  deaths_ns_.push_back(now_ns);
  while (now_ns - deaths_ns_.front() > kQuickNs) deaths_ns_.pop_front();
  if (deaths_ns_.size() > kMaxQuickDeaths) (void)os::wait_readable(signals_.get(), kBackOff);
  child_ = 0;
  reap();
  mend_files();
  restart_coordinator();
  return {};
}

Error Keeper::early_end(int status) const {
  std::string text = "the coordinator ended before it served: ";
  if (!last_words_.empty()) {
    text += last_words_;
  } else if (WIFSIGNALED(status)) {
    text +=
        fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  } else {
    text += fmt::format("exit status {}", WEXITSTATUS(status));
  }
  if (files_->log_stays()) text += fmt::format("; see {}", options_.coordinator.log_path);
  return {ErrorCode::kClosed, 0, std::move(text)};
}

void Keeper::finish() {
  if (store_) {
    (void)options_.manager->say("STOPPING=1");
    store_->clear();
  }
  steward_.end(kLastOfStewardNs);
  files_->remove(log_);
  socket_.close();  // the coordinator ends when it sees this
  files_->listener().close();
  if (!os::wait_readable(child_pidfd_.get(), kLastWait)) {
    (void)os::send_signal(child_pidfd_.get(), SIGKILL);
  }
  (void)os::uninterrupted([&] { return ::waitpid(child_, nullptr, 0); });
  log_.info("keeper_ends", "hive={}", options_.paths.hive);
}

}  // namespace beeline::control
