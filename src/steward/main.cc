// Pid 1 of a hive: starts, ends and restarts the processes of agents. The keeper starts it.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <beeline/agent.h>
#include <beeline/king.h>
#include <beeline/version.h>

#include "src/control/hive_paths.h"
#include "src/os/error.h"
#include "src/os/process.h"
#include "src/os/timer_fd.h"
#include "src/service/log.h"
#include "src/steward/steward.h"

namespace {

using beeline::Result;
namespace os = beeline::os;
namespace steward = beeline::steward;

constexpr int kExitOk = 0;
constexpr int kExitError = 1;
constexpr int kExitUsage = 2;

// stderr is the log of the hive from here on.
void open_log() {
  const std::string_view number = os::variable("BEELINE_LOG_FD");
  int fd = -1;
  std::from_chars(number.data(), number.data() + number.size(), fd);
  if (fd <= STDERR_FILENO) return;
  (void)::dup2(fd, STDERR_FILENO);
  ::close(fd);
}

// The keeper ends the hive in good order; a signal for its whole process group must not be faster.
void ignore_signals() {
  for (const int number : {SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGXFSZ}) ::signal(number, SIG_IGN);
}

Result<std::string> make_directory(const std::string& hive_directory) {
  std::string directory = hive_directory + "/steward";
  for (const std::string& path : {directory, directory + "/output"}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return os::system_failure(fmt::format("make the directory {}", path));
    }
  }
  return directory;
}

beeline::AttachOptions king_options(const std::string& hive) {
  beeline::AttachOptions options;
  options.hive = hive;
  options.name = "king";
  options.start_coordinator = false;
  options.inbox_capacity = 16'384;
  // A request is not to blame for the deaths of its steward.
  options.max_attempts = 255;
  options.wait = beeline::WaitMode::kSleep;
  return options;
}

Result<void> run() {
  auto keeper = steward::KeeperLine::from_environment();
  if (!keeper) return tl::unexpected(std::move(keeper.error()));
  const std::string secret(os::variable("BEELINE_KING"));
  const auto paths = beeline::control::find_hive("");
  if (!paths) return tl::unexpected(paths.error());
  auto directory = make_directory(paths->directory);
  if (!directory) return tl::unexpected(std::move(directory.error()));
  std::string remark;
  auto store = steward::Store::open(*directory + "/steward.db", remark);
  if (!store) return tl::unexpected(std::move(store.error()));
  if (!remark.empty()) beeline::service::log_warn("store_broken", remark);
  auto watch = steward::Watch::open();
  if (!watch) return tl::unexpected(std::move(watch.error()));
  auto timer = os::create_timer_fd();
  if (!timer) return tl::unexpected(std::move(timer.error()));
  // Hears of lives before it asks who lives.
  auto king = beeline::King::open(paths->hive, secret);
  if (!king) return tl::unexpected(std::move(king.error()));
  auto agent = beeline::Agent::attach(king_options(paths->hive));
  if (!agent) return tl::unexpected(std::move(agent.error()));
  steward::Steward work({paths->hive, std::move(*directory), std::move(*agent), std::move(*king),
                         std::move(*keeper), std::move(*store), std::move(*watch),
                         std::move(*timer)});
  if (auto settled = work.settle(); !settled) return settled;
  work.run();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc == 2 ? argv[1] : "";
  if (word == "--version") {
    return ::printf("beeline-steward %s\n", std::string(beeline::kVersion).c_str()) < 0 ? kExitError
                                                                                        : kExitOk;
  }
  if (argc != 1) {
    ::fprintf(stderr, "usage: beeline-steward [--version]; beelined starts it, people do not\n");
    return kExitUsage;
  }
  open_log();
  ignore_signals();
  try {
    const auto done = run();
    if (done) return kExitOk;
    beeline::service::log_warn("steward_failed", done.error().text);
    return done.error().code == beeline::ErrorCode::kInvalid ? kExitUsage : kExitError;
  } catch (const std::exception& error) {
    beeline::service::log_warn("steward_failed", error.what());
    return kExitError;
  }
}
