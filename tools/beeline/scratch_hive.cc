#include "tools/beeline/scratch_hive.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/control/client.h"
#include "src/control/hive_paths.h"
#include "src/os/error.h"
#include "src/os/lock_file.h"
#include "tools/beeline/command_guard.h"
#include "tools/beeline/hive_programs.h"

namespace beeline::cli {
namespace {

constexpr int kStopTries = 50;
constexpr auto kStopPause = std::chrono::milliseconds(100);
// A command of `beeline reply` gets one grace to end, and the processes that it left behind get
// another.
constexpr std::chrono::seconds kProgramPatience(3 * kCommandGraceSeconds);

// Ends the hive that the environment names; that hive may be just starting.
void take_down() {
  const auto paths = control::find_hive("");
  if (!paths) return;
  for (int i = 0; i < kStopTries; ++i) {
    control::ClientOptions options;
    options.start = false;
    if (auto client = control::Client::connect(options); client && client->down()) return;
    // The keeper holds the lock while it lives: if nobody holds it, there is no hive to end.
    if (::access(paths->lock.c_str(), F_OK) != 0 || os::LockFile::acquire(paths->lock)) return;
    std::this_thread::sleep_for(kStopPause);
  }
}

std::string hive_directory(const std::string& place) { return place + "/hive"; }

// Moves the directory away, ends the hive in it, waits for the programs that worked in it, and
// removes it. The move keeps a program that still runs from starting a coordinator there again.
// The hive may be just starting.
bool clear(const std::string& place) {
  const std::string moved = place + ".end";
  // If the directory is missing, a guard that was interrupted may have moved it.
  if (::rename(place.c_str(), moved.c_str()) != 0 && errno != ENOENT) return false;
  ::setenv("BEELINE_DIR", hive_directory(moved).c_str(), 1);
  take_down();
  const bool all_ended = outlive_programs(hive_directory(place), kProgramPatience);
  std::error_code error;
  std::filesystem::remove_all(moved, error);
  return all_ended && !error;
}

[[noreturn]] void run_guard(int pipe, const std::string& place) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  // Let go of our output, because its reader must not wait for us.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(null, fd);
  char byte = 0;
  while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(clear(place) ? 0 : 1);
}

Result<std::string> make_place(const std::string& purpose) {
  const char* place = ::secure_getenv("TMPDIR");
  std::string path = fmt::format("{}/beeline-{}-XXXXXX",
                                 place != nullptr && *place != '\0' ? place : "/tmp", purpose);
  if (::mkdtemp(path.data()) == nullptr) {
    return os::system_failure(fmt::format("cannot make the directory {} (set TMPDIR)", path));
  }
  return path;
}

}  // namespace

Result<ScratchHive> ScratchHive::start(const std::string& purpose) {
  auto place = make_place(purpose);
  if (!place) return tl::unexpected(std::move(place.error()));
  ::setenv("BEELINE_DIR", hive_directory(*place).c_str(), 1);
  ::unsetenv("BEELINE_HIVE");

  ScratchHive hive;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    auto failure = os::system_failure("cannot make a pipe");
    (void)::rmdir(place->c_str());
    return failure;
  }
  const os::UniqueFd read_end(ends[0]);
  hive.guard_pipe_.reset(ends[1]);
  hive.guard_ = ::fork();
  if (hive.guard_ < 0) {
    auto failure = os::system_failure("cannot fork the guard of the scratch hive");
    (void)::rmdir(place->c_str());
    return failure;
  }
  if (hive.guard_ == 0) {
    hive.guard_pipe_.reset();
    run_guard(read_end.get(), *place);
  }
  hive.place_ = std::move(*place);
  if (auto client = control::Client::connect({}); !client) {
    return tl::unexpected(std::move(client.error()));
  }
  return hive;
}

ScratchHive::ScratchHive(ScratchHive&& other) noexcept
    : place_(std::exchange(other.place_, {})),
      guard_pipe_(std::move(other.guard_pipe_)),
      guard_(std::exchange(other.guard_, 0)) {}

ScratchHive::~ScratchHive() { (void)close(); }

Result<void> ScratchHive::close() {
  if (place_.empty()) return {};
  const std::string place = std::exchange(place_, {});
  guard_pipe_.reset();
  int status = 0;
  while (::waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (clear(place)) return {};  // the guard was killed
  return fail(ErrorCode::kSystem,
              fmt::format("cannot remove {}: end the program that uses it, then remove it yourself",
                          place));
}

}  // namespace beeline::cli
