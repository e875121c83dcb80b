#include "tests/steward/chaos_ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "src/os/pid_fd.h"
#include "src/steward/child_process.h"

namespace beeline::steward::test {

namespace {

// The note of this process, for the handler of SIGTERM.
int note_fd = -1;
std::array<char, 128> last_line{};
std::size_t last_line_size = 0;
int planned_code = 0;

}  // namespace

ChaosNote::ChaosNote(const std::string& key, int code) {
  const char* const path = ::getenv(kChaosVariable);
  note_fd = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (note_fd < 0) ::_exit(120);
  const std::string last = key + " end " + std::to_string(code) + "\n";
  last_line_size = last.copy(last_line.data(), last_line.size());
  planned_code = code;
  const std::string first = key + " begin " + std::to_string(::getpid()) + " " +
                            std::to_string(start_ticks_of(::getpid())) + "\n";
  if (::write(note_fd, first.data(), first.size()) < 0) ::_exit(121);
  ::signal(SIGTERM, [](int) { leave(planned_code); });
}

void ChaosNote::leave(int code) {
  if (code == planned_code && ::write(note_fd, last_line.data(), last_line_size) < 0) ::_exit(122);
  ::_exit(code);
}

ChaosLedger::ChaosLedger()
    : path_((std::filesystem::temp_directory_path() / "chaos-ledger-XXXXXX").string()) {
  fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
  EXPECT_GE(fd_, 0) << path_;
}

ChaosLedger::~ChaosLedger() {
  ::close(fd_);
  ::unlink(path_.c_str());
}

void ChaosLedger::read_on() {
  std::array<char, 4096> bytes{};
  for (ssize_t got = 0; (got = ::read(fd_, bytes.data(), bytes.size())) > 0;) {
    rest_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
    std::istringstream words(rest_.substr(0, end));
    rest_.erase(0, end + 1);
    std::string key;
    std::string word;
    words >> key >> word;
    std::vector<Run>& runs = runs_[key];
    if (word == "begin") {
      Run run;
      words >> run.pid >> run.start_ticks;
      runs.push_back(run);
      open_.insert(key);
    } else if (!runs.empty()) {
      words >> runs.back().code;
    }
  }
}

std::size_t ChaosLedger::count_runs(const std::string& key) {
  const std::lock_guard lock(mutex_);
  read_on();
  return runs_[key].size();
}

// The number may belong to another process by now: the start tells them apart, and the descriptor
// stays with the one that was looked at.
bool ChaosLedger::kill_run(Run& run) {
  const auto pidfd = os::open_pidfd(run.pid);
  if (!pidfd || start_ticks_of(run.pid) != run.start_ticks) return false;
  run.is_killed = true;
  return os::send_signal(pidfd->get(), SIGKILL).has_value();
}

bool ChaosLedger::kill_one(std::mt19937& random) {
  const std::lock_guard lock(mutex_);
  read_on();
  std::vector<std::string> keys(open_.begin(), open_.end());
  std::shuffle(keys.begin(), keys.end(), random);
  for (const std::string& key : keys) {
    open_.erase(key);
    if (kill_run(runs_[key].back())) return true;
  }
  return false;
}

void ChaosLedger::close(const std::string& key) {
  const std::lock_guard lock(mutex_);
  open_.erase(key);
}

std::string ChaosLedger::find_lie(const std::string& key, const ChildExit& end) {
  const std::lock_guard lock(mutex_);
  read_on();
  const std::vector<Run>& runs = runs_[key];
  if (runs.size() != 1) return std::to_string(runs.size()) + " processes have run";
  const Run& run = runs.front();
  if (!end.known) return "its end is unknown";
  if (end.signal == SIGKILL) return run.is_killed ? "" : "nobody has killed it";
  if (end.signal != 0) return "it got no signal " + std::to_string(end.signal);
  if (run.code < 0) return "it has not exited";
  return run.code == end.exit_code ? "" : "it exited with " + std::to_string(run.code);
}

bool ChaosLedger::was_killed(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const std::vector<Run>& runs = runs_[key];
  return std::ranges::any_of(runs, [](const Run& run) { return run.is_killed; });
}

std::vector<std::string> ChaosLedger::repeated() {
  const std::lock_guard lock(mutex_);
  read_on();
  std::vector<std::string> keys;
  for (const auto& [key, runs] : runs_) {
    if (runs.size() > 1) keys.push_back(key);
  }
  return keys;
}

}  // namespace beeline::steward::test
