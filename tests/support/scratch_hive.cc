#include "tests/support/scratch_hive.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>
#include <vector>

#include "src/os/process.h"
#include "src/os/text_file.h"

namespace beeline::test {

namespace {

namespace fs = std::filesystem;

// All processes that we may inspect.
std::vector<pid_t> list_processes() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc() && *parsed.ptr == '\0') pids.push_back(pid);
  }
  return pids;
}

// Processes that were started with this BEELINE_DIR: daemon and roles, without this one.
std::vector<pid_t> processes_of(const std::string& directory) {
  const std::string wanted = std::string("BEELINE_DIR=") + directory + '\0';
  std::vector<pid_t> found;
  for (const pid_t pid : list_processes()) {
    const std::string environment =
        os::read_text_file(fs::path("/proc") / std::to_string(pid) / "environ");
    if (pid != ::getpid() && environment.find(wanted) != std::string::npos) found.push_back(pid);
  }
  return found;
}

pid_t parent_of(pid_t pid) {
  const std::string text = os::read_text_file(fs::path("/proc") / std::to_string(pid) / "stat");
  // pid (name) state parent ...; a name may hold anything.
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || text.size() < end + 4) return 0;
  return static_cast<pid_t>(std::strtol(text.c_str() + end + 4, nullptr, 10));
}

// For a process that does not answer: the call that it waits in, and how much it has computed.
std::string what_it_does(const std::string& name, pid_t pid) {
  const fs::path place = fs::path("/proc") / std::to_string(pid);
  return "\n  " + name + " " + std::to_string(pid) + ": system call " +
         os::read_text_file(place / "syscall") + "  stat " + os::read_text_file(place / "stat") +
         "  ns on a CPU, waiting for one: " + os::read_text_file(place / "schedstat");
}

}  // namespace

std::size_t count_open_fds(pid_t process) {
  const fs::directory_iterator listing("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(listing), end(listing)));
}

ScratchHive::ScratchHive() : fds_before_(count_open_fds()) {
  static std::atomic<int> count{0};
  name_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  directory_ = (fs::temp_directory_path() / "beeline-test-XXXXXX").string();
  EXPECT_NE(::mkdtemp(directory_.data()), nullptr) << directory_;
  ::setenv("BEELINE_DIR", directory_.c_str(), 1);
  ::setenv("BEELINE_HIVE", name_.c_str(), 1);
  // ctest sets the folder of the programs; a test that is run by hand lies in a folder below it.
  ::setenv("BEELINE_BIN", (os::executable_directory() + "/..").c_str(), 0);
  find_keeper();
}

ScratchHive::~ScratchHive() {
  if (!closed_) close();
  kill_all();
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

void ScratchHive::find_keeper() {
  keeper_ = static_cast<pid_t>(status().keeper_pid);
  EXPECT_GT(keeper_, 0);
}

control::Client ScratchHive::client() const {
  auto client = control::Client::connect();
  if (client) return std::move(*client);
  ADD_FAILURE() << client.error().text;
  return {};
}

std::string ScratchHive::log() const {
  return os::read_text_file(fs::path(directory_) / "beelined.log");
}

control::StatusAnswer ScratchHive::status() const {
  // The tests do not judge how long an answer takes.
  constexpr int kTries = 6;
  for (int tries = 1;; ++tries) {
    auto status = client().status();
    if (status) return *status;
    std::cerr << status.error().text << what_it_does("keeper", keeper_)
              << what_it_does("coordinator", coordinator()) << std::endl;
    if (status.error().code == ErrorCode::kTimeout && tries < kTries) continue;
    ADD_FAILURE() << status.error().text;
    return {};
  }
}

void ScratchHive::close() {
  closed_ = true;
  control::ClientOptions options;
  options.start = false;
  auto connected = control::Client::connect(options);
  ASSERT_TRUE(connected) << connected.error().text;
  const auto down = connected->down();
  EXPECT_TRUE(down) << down.error().text;
  connected->close();
  for (const pid_t pid : processes_of(directory_)) {
    ADD_FAILURE() << "process " << pid << " is left: "
                  << os::read_text_file(fs::path("/proc") / std::to_string(pid) / "cmdline");
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    if (entry.path().filename() == "beelined.last.log") continue;
    ADD_FAILURE() << "file " << entry.path() << " is left";
  }
  // A thread of an attach that was given up may still close its own.
  constexpr auto kSoon = std::chrono::seconds(10);
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (count_open_fds() != fds_before_ && std::chrono::steady_clock::now() < end) ::usleep(1000);
  EXPECT_EQ(count_open_fds(), fds_before_) << "descriptors are left open";
}

void ScratchHive::kill_all() const {
  // The keeper first, because it would start its coordinator again.
  if (parent_of(keeper_) == 0) return;
  std::vector<pid_t> left = processes_of(directory_);
  std::stable_partition(left.begin(), left.end(), [&](pid_t pid) { return pid == keeper_; });
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
}

pid_t ScratchHive::coordinator() const {
  for (const pid_t pid : list_processes()) {
    if (parent_of(pid) == keeper_) return pid;
  }
  return 0;
}

}  // namespace beeline::test
