// The daemon of a hive: keeper and coordinator. Usage: beelined --help.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <beeline/result.h>
#include <beeline/version.h>

#include "src/control/hive_files.h"
#include "src/control/hive_paths.h"
#include "src/control/keeper.h"
#include "src/control/ready_pipe.h"
#include "src/control/service_manager.h"
#include "src/os/error.h"
#include "src/os/inheritance.h"
#include "src/os/kernel.h"
#include "src/os/process.h"
#include "src/os/uninterrupted.h"

namespace {

using beeline::Error;
using beeline::ErrorCode;
using beeline::Result;
namespace control = beeline::control;
namespace os = beeline::os;

constexpr int kExitOk = 0;
constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitAlreadyRunning = 3;

constexpr std::int64_t kMostMilliseconds = 366LL * 24 * 3'600'000;
const std::map<std::string, std::int64_t> kMilliseconds{
    {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};

struct Options {
  std::string hive;
  std::string log;
  std::string peer_pidfd = "on";
  std::string group;
  std::uint64_t max_payload = beeline::shm::kDefaultMaxPayload;
  int ready_fd = -1;
  bool foreground = false;
  std::int64_t forget_empty_after_ms = 0;
};

int exit_code(const Error& error) {
  if (error.code == ErrorCode::kAlreadyRunning) return kExitAlreadyRunning;
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitError;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = os::uninterrupted([&] { return ::write(fd, text.data(), text.size()); });
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Tells the processes that started us how the start went, once.
class Reporter {
 public:
  void add(int fd) {
    if (fd >= 0) fds_.emplace_back(fd);
  }
  void ready() { report(std::string(1, control::kReadyByte)); }
  void failed(const Error& error) {
    const bool running = error.code == ErrorCode::kAlreadyRunning;
    report((running ? std::string(1, control::kAlreadyRunningByte) : "") + error.text);
  }
  // Closes the descriptors without a word.
  void forget() { fds_.clear(); }

 private:
  void report(const std::string& text) {
    for (const os::UniqueFd& fd : fds_) write_all(fd.get(), text);
    fds_.clear();
  }

  std::vector<os::UniqueFd> fds_;
};

void print_error(std::string_view text) { write_all(2, fmt::format("beelined: {}\n", text)); }

// Empty: there is no file, lines go to stderr.
std::string log_path(const Options& options, const control::HivePaths& paths) {
  if (options.foreground && options.log.empty()) return {};
  return options.log.empty() ? paths.log : options.log;
}

Result<os::UniqueFd> open_log(const std::string& path) {
  if (path.empty()) return os::UniqueFd();
  os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return os::system_failure(fmt::format("cannot open the log {}", path));
  return fd;
}

// Runs the hive with files that are ours until it ends.
Result<void> keep_files(const Options& options, const control::HivePaths& paths,
                        control::HiveFiles& files, control::ServiceManager& manager,
                        Reporter& reporter) {
  const std::string path = log_path(options, paths);
  const auto log = open_log(path);
  if (!log) return tl::unexpected(log.error());
  control::KeeperOptions keeper_options;
  keeper_options.paths = paths;
  keeper_options.coordinator.peer_pidfd = options.peer_pidfd != "off";
  keeper_options.coordinator.log_fd = log->valid() ? log->get() : STDERR_FILENO;
  keeper_options.coordinator.log_path = path;
  keeper_options.coordinator.forget_empty_after_ns = options.forget_empty_after_ms * 1'000'000;
  keeper_options.max_payload_bytes = options.max_payload;
  keeper_options.on_ready = [&] { reporter.ready(); };
  keeper_options.on_fork = [&] { reporter.forget(); };
  keeper_options.manager = &manager;
  auto keeper = control::Keeper::open(std::move(keeper_options), files);
  if (!keeper) return tl::unexpected(std::move(keeper.error()));
  return keeper->run();
}

// Runs the hive in this process until it ends.
Result<void> keep_hive(const Options& options, const control::HivePaths& paths,
                       Reporter& reporter) {
  if (auto kernel = os::require_kernel(); !kernel) return kernel;
  std::optional<gid_t> group;
  if (!options.group.empty()) {
    const auto found = control::find_group(options.group);
    if (!found) return tl::unexpected(found.error());
    group = *found;
    if (auto reachable = control::check_reachable(paths, *group); !reachable) return reachable;
  }
  auto files = control::HiveFiles::acquire(paths, group);
  if (!files) return tl::unexpected(std::move(files.error()));
  auto manager = control::ServiceManager::from_environment();
  files->adopt(manager.take_listener(paths.socket));
  auto kept = keep_files(options, paths, *files, manager, reporter);
  if (!kept) files->leave_as_found();
  return kept;
}

int run_in_foreground(const Options& options, const control::HivePaths& paths) {
  Reporter reporter;
  reporter.add(options.ready_fd);
  const auto kept = keep_hive(options, paths, reporter);
  if (kept) return kExitOk;
  reporter.failed(kept.error());
  print_error(kept.error().text);
  return exit_code(kept.error());
}

// Cuts all ties to our starter except the two descriptors of the reporter. Errors: kSystem; a tie
// that is left would last as long as the hive.
Result<void> cut_ties(int ready_fd, int report_fd) {
  const std::array<int, 2> reporters{ready_fd, report_fd};
  if (auto closed = os::close_all_but(reporters); !closed) return closed;
  (void)::chdir("/");
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return os::system_failure("cannot open /dev/null");
  for (const int standard : {0, 1, 2}) {
    if (::dup2(null, standard) < 0) return os::system_failure("cannot leave standard streams");
  }
  if (null > 2) ::close(null);
  return {};
}

int run_daemon(const Options& options, const control::HivePaths& paths, int report_fd) {
  Reporter reporter;
  reporter.add(report_fd);
  reporter.add(options.ready_fd);
  auto kept = cut_ties(options.ready_fd, report_fd);
  os::give_up_inheritance();  // a hive serves all agents, not only those of its starter
  if (kept) kept = keep_hive(options, paths, reporter);
  if (!kept) reporter.failed(kept.error());
  return kept ? kExitOk : exit_code(kept.error());
}

// Waits for the daemon's word and shows it to the user.
int await_daemon(const Options& options, int fd) {
  std::string report;
  std::array<char, 1024> bytes{};
  while (!report.starts_with(control::kReadyByte)) {
    const ssize_t count = os::uninterrupted([&] { return ::read(fd, bytes.data(), bytes.size()); });
    if (count <= 0) break;
    report.append(bytes.data(), static_cast<std::size_t>(count));
  }
  if (report.starts_with(control::kReadyByte)) return kExitOk;
  const bool running = report.starts_with(control::kAlreadyRunningByte);
  if (running) report.erase(0, 1);
  if (report.empty()) report = "the daemon ended before it was ready";
  // With --ready-fd the starter has the text already.
  if (options.ready_fd < 0) print_error(report);
  return running ? kExitAlreadyRunning : kExitError;
}

int detach(const Options& options, const control::HivePaths& paths) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    print_error(os::system_error("cannot make a pipe").text);
    return kExitError;
  }
  const pid_t child = ::fork();
  if (child < 0) {
    print_error(os::system_error("cannot fork").text);
    return kExitError;
  }
  if (child == 0) {
    ::setsid();
    const pid_t grandchild = ::fork();
    if (grandchild != 0) ::_exit(grandchild < 0 ? kExitError : kExitOk);
    ::_exit(run_daemon(options, paths, ends[1]));
  }
  ::close(ends[1]);
  if (options.ready_fd >= 0) ::close(options.ready_fd);
  (void)::waitpid(child, nullptr, 0);
  return await_daemon(options, ends[0]);
}

int run(int argc, char** argv) {
  if (const auto filled = os::fill_standard_streams(); !filled) {
    print_error(filled.error().text);
    return kExitError;
  }
  Options options;
  CLI::App app{"The daemon of a Beeline hive: keeper and coordinator."};
  app.set_version_flag("--version", fmt::format("beelined {}", beeline::kVersion));
  app.add_option("--hive", options.hive,
                 "name of the hive (default: $BEELINE_HIVE or \"default\")");
  app.add_flag("--foreground", options.foreground, "do not detach; log to stderr");
  app.add_option("--ready-fd", options.ready_fd, "descriptor that is told when the hive serves");
  app.add_option("--log", options.log, "log file (default: beelined.log in the hive's directory)");
  app.add_option("--max-payload", options.max_payload, "largest payload of a message in bytes")
      ->check(CLI::Range(beeline::shm::kMinMaxPayload, beeline::shm::kMaxMaxPayload));
  app.add_option("--group", options.group,
                 "group whose members may join beside the user of the hive: a name or a number");
  app.add_option(
         "--forget-empty-after", options.forget_empty_after_ms,
         "forget an agent that has been away for this long and for which nothing waits, such "
         "as 30s or 12h (default: never)")
      ->transform(CLI::AsNumberWithUnit(kMilliseconds))
      ->check(CLI::Range(std::int64_t{1}, kMostMilliseconds));
  app.add_option("--peer-pidfd", options.peer_pidfd,
                 "off: agents prove who they are by a pidfd that they send")
      ->check(CLI::IsMember({"on", "off"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a log at the limit of file sizes takes nothing, and kills no
                                  // process
  (void)os::raise_fd_limit();
  const auto paths = control::find_hive(options.hive);
  if (!paths) {
    print_error(paths.error().text);
    return exit_code(paths.error());
  }
  return options.foreground ? run_in_foreground(options, *paths) : detach(options, *paths);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    print_error(error.what());
    return kExitError;
  }
}
