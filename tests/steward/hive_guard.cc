#include "tests/steward/hive_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/uninterrupted.h"
#include "tests/support/program.h"

namespace beeline::steward::test {

namespace {

constexpr auto kEndPatience = std::chrono::seconds(60);

[[noreturn]] void guard(int line, const std::string& directory) {
  // A signal for the group of the test ends the test alone.
  ::setsid();
  char word = 0;
  if (os::uninterrupted([&] { return ::read(line, &word, 1); }) == 1) ::_exit(0);
  for (;;) {
    const auto left = beeline::test::processes_with("BEELINE_DIR", directory);
    if (left.empty()) break;
    for (const pid_t process : left) ::kill(process, SIGKILL);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  ::_exit(0);
}

}  // namespace

HiveGuard::HiveGuard(const std::string& directory) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  os::UniqueFd end(ends[0]);
  line_.reset(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  line_.reset();
  guard(end.get(), directory);
}

HiveGuard::~HiveGuard() {
  EXPECT_EQ(::write(line_.get(), "o", 1), 1);
  (void)os::uninterrupted([&] { return ::waitpid(pid_, nullptr, 0); });
}

void expect_all_end(const std::string& directory) {
  const auto end = std::chrono::steady_clock::now() + kEndPatience;
  for (;;) {
    const auto left = beeline::test::processes_with("BEELINE_DIR", directory);
    if (left.empty()) return;
    for (const pid_t process : left) {
      const auto pidfd = os::open_pidfd(process);
      if (!pidfd || os::wait_readable(pidfd->get(), end - std::chrono::steady_clock::now()))
        continue;
      ADD_FAILURE() << "process " << process << " is left";
      ::kill(process, SIGKILL);
    }
  }
}

}  // namespace beeline::steward::test
