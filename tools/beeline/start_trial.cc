#include "tools/beeline/start_trial.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "src/os/error.h"
#include "src/os/fd.h"
#include "tools/beeline/scratch_hive.h"

namespace beeline::cli {
namespace {

using Level = Finding::Level;

constexpr std::size_t kProbeBytes = 64 * 1024;  // larger than a new log and a new state file

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Directories that a start makes; they exist while this object does.
class TrialPlace {
 public:
  explicit TrialPlace(const control::HivePaths& paths) : paths_(paths) {
    for (const std::string& path : control::own_directories(paths)) {
      if (!is_there(path)) missing_.push_back(path);
    }
  }
  TrialPlace(const TrialPlace&) = delete;
  TrialPlace& operator=(const TrialPlace&) = delete;
  ~TrialPlace() {
    // Directories that another program uses meanwhile stay.
    for (auto path = missing_.rbegin(); path != missing_.rend(); ++path) ::rmdir(path->c_str());
  }

  // Makes the directory as a start does, and writes a file in it.
  [[nodiscard]] Result<void> make() const {
    if (auto made = control::prepare_directory(paths_); !made) return made;
    const std::string path = fmt::format("{}/doctor-{}", paths_.directory, ::getpid());
    const os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return os::system_failure(fmt::format("cannot make {}", path));
    // Unlink it before writing, so that a kill cannot leave it there.
    if (::unlink(path.c_str()) != 0) {
      return os::system_failure(fmt::format("cannot remove {} (remove it by hand)", path));
    }
    const std::string bytes(kProbeBytes, '.');
    errno = ENOSPC;  // a short write means a full disk
    const bool written =
        ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    auto outcome =
        written ? Result<void>()
                : os::system_failure(fmt::format("cannot write {} bytes to {}", kProbeBytes, path));
    return outcome;
  }

 private:
  const control::HivePaths& paths_;
  std::vector<std::string> missing_;  // the outermost first
};

Result<void> send_a_message() {
  AttachOptions options;
  options.name = "receiver";
  auto receiver = Agent::attach(options);
  if (!receiver) return tl::unexpected(receiver.error());
  options.name = "sender";
  auto sender = Agent::attach(options);
  if (!sender) return tl::unexpected(sender.error());
  if (const auto sent = sender->send("receiver", "doctor"); !sent) {
    return fail(ErrorCode::kSystem, fmt::format("send: {}", to_string(sent.status)));
  }
  if (receiver->receive({.timeout = std::chrono::seconds(10)})) return {};
  return fail(ErrorCode::kTimeout, "it did not arrive within 10 s");
}

}  // namespace

std::vector<Finding> try_start(const control::HivePaths& paths) {
  const TrialPlace place(paths);
  if (const auto made = place.make(); !made) {
    return {{"directory", Level::kFailed, made.error().text}};
  }
  std::vector<Finding> findings{
      {"directory", Level::kOk, fmt::format("the files of the hive lie in {}", paths.directory)}};
  ::setenv("TMPDIR", paths.directory.c_str(), 1);
  auto hive = ScratchHive::start("doctor");
  if (!hive) {
    findings.push_back({"start", Level::kFailed, hive.error().text});
    return findings;
  }
  findings.push_back({"start", Level::kOk, "a hive was started here, and ended"});
  const auto sent = send_a_message();
  findings.push_back({"message", sent ? Level::kOk : Level::kFailed,
                      sent ? "one agent sent another one a message" : sent.error().text});
  if (const auto closed = hive->close(); !closed) {
    findings.push_back({"end", Level::kWarning, closed.error().text});
  }
  return findings;
}

}  // namespace beeline::cli
