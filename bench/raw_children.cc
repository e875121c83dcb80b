#include "bench/raw_children.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "bench/spawn_child.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/uninterrupted.h"

extern char** environ;

namespace beeline::bench {

Result<RawChildren> RawChildren::prepare() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return os::system_failure("make a pipe");
  return RawChildren(os::UniqueFd(ends[0]), os::UniqueFd(ends[1]));
}

RawChildren::RawChildren(RawChildren&& other) noexcept
    : read_end_(std::move(other.read_end_)),
      write_end_(std::move(other.write_end_)),
      processes_(std::exchange(other.processes_, {})) {}

RawChildren::~RawChildren() {
  for (const pid_t process : processes_) ::kill(process, SIGKILL);
  for (const pid_t process : processes_) {
    (void)os::uninterrupted([&] { return ::waitpid(process, nullptr, 0); });
  }
}

Result<void> RawChildren::start(const std::vector<std::string>& command) {
  std::vector<char*> words;
  // posix_spawn takes pointers to non-const for historical reasons and writes through none of them.
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end_.get(), kChildFd);
  pid_t process = 0;
  const int failed =
      ::posix_spawn(&process, words.front(), &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  errno = failed;
  if (failed != 0) return os::system_failure("posix_spawn " + command.front());
  processes_.push_back(process);
  return {};
}

Result<void> RawChildren::await_all(std::chrono::nanoseconds patience) {
  // The end of all children ends the pipe.
  write_end_.reset();
  const std::int64_t end = os::monotonic_ns() + patience.count();
  for (std::size_t attached = 0; attached < processes_.size();) {
    const std::chrono::nanoseconds left(end - os::monotonic_ns());
    if (!os::wait_readable(read_end_.get(), left) && left.count() <= 0) {
      return fail(ErrorCode::kTimeout,
                  fmt::format("{} of {} processes attached in {} s", attached, processes_.size(),
                              patience.count() / 1'000'000'000));
    }
    std::array<char, 256> bytes{};
    const auto got =
        os::uninterrupted([&] { return ::read(read_end_.get(), bytes.data(), bytes.size()); });
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[static_cast<std::size_t>(i)] == kChildFailed) {
        return fail(ErrorCode::kSystem, "a process could not attach; it has said why");
      }
    }
    if (got <= 0) return fail(ErrorCode::kSystem, "a process ended before it had attached");
    attached += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace beeline::bench
