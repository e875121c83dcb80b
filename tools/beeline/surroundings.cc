#include "tools/beeline/surroundings.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "shm/directory.h"
#include "shm/home.h"
#include "shm/link.h"
#include "src/os/directory_watch.h"
#include "src/os/memory_limit.h"
#include "src/os/process.h"

namespace beeline::cli {
namespace {

using Level = Finding::Level;

// An agent needs one each for home, status page, directory, eventfd, epoll and control socket. A
// peer needs a link each way, its status page and its eventfd.
constexpr std::uint64_t kFdsOfAnAgent = 6;
constexpr std::uint64_t kFdsOfAPeer = 4;
constexpr std::uint64_t kLeastPeers = 60;  // a parent with many children
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kLeastMemory = 8 * kMiB;  // of a hive with two agents
constexpr std::uint64_t kSomeMemory = 64 * kMiB;

constexpr std::uint64_t home_bytes() { return shm::HomeLayout(shm::HomeOptions().capacity).bytes; }
std::uint64_t link_bytes() { return shm::LinkLayout(shm::LinkContract()).bytes; }

std::string count_text(std::uint64_t limit) {
  return limit == os::kNoFdLimit ? "no limit" : fmt::format("{}", limit);
}

rlim_t soft_limit(int which) {
  rlimit limit{};
  return ::getrlimit(static_cast<__rlimit_resource>(which), &limit) == 0 ? limit.rlim_cur
                                                                         : RLIM_INFINITY;
}

// Coordinators and agents raise the soft limit to the hard one.
Finding open_files() {
  const os::FdLimit limit = os::fd_limit();
  const std::uint64_t left = limit.hard > kFdsOfAnAgent ? limit.hard - kFdsOfAnAgent : 0;
  const std::uint64_t peers = std::min<std::uint64_t>(left / kFdsOfAPeer, shm::kMaxAgents);
  std::string text = fmt::format("{} for each process ({} at most): an agent can have {} peers",
                                 count_text(limit.soft), count_text(limit.hard), peers);
  if (peers < kLeastPeers) text += "; raise the hard limit of open files (ulimit -Hn)";
  return {"open_files", peers >= kLeastPeers ? Level::kOk : Level::kFailed, text};
}

Finding file_size() {
  const rlim_t limit = soft_limit(RLIMIT_FSIZE);
  if (limit == RLIM_INFINITY) return {"file_size", Level::kOk, "no limit"};
  const std::uint64_t least = std::max<std::uint64_t>(shm::DirectoryLayout::kBytes, home_bytes());
  std::string text = fmt::format("a file may have {} bytes (ulimit -f), ", limit);
  if (limit < least) {
    text += fmt::format("segments of a hive have {}: raise the limit", least);
    return {"file_size", Level::kFailed, text};
  }
  text += "which bounds payloads and log: raise the limit";
  return {"file_size", Level::kWarning, text};
}

Finding address_space() {
  const rlim_t limit = soft_limit(RLIMIT_AS);
  if (limit == RLIM_INFINITY) return {"address_space", Level::kOk, "no limit"};
  const std::uint64_t left = limit > home_bytes() ? limit - home_bytes() : 0;
  const std::uint64_t peers = left / (2 * link_bytes());
  return {
      "address_space", peers >= kLeastPeers ? Level::kOk : Level::kWarning,
      fmt::format("{} bytes for each process (ulimit -v): an agent can map the full links of {} "
                  "peers{}",
                  limit, peers, peers >= kLeastPeers ? "" : "; raise the limit")};
}

Finding memory() {
  const os::MemoryLimit limit;
  if (const auto refusal = limit.refusal(kLeastMemory)) {
    return {"memory", Level::kFailed, *refusal + ": make room, or raise that limit"};
  }
  if (const auto refusal = limit.refusal(kSomeMemory)) {
    return {"memory", Level::kWarning,
            *refusal + ": payloads that find no room are refused (no_memory)"};
  }
  return {"memory", Level::kOk, fmt::format("{} MiB can be had", kSomeMemory / kMiB)};
}

Finding huge_pages() {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  std::string setting;
  std::getline(std::ifstream(path), setting);
  const bool always =
      setting.find("[always]") != std::string::npos || setting.find("[force]") != std::string::npos;
  if (!always) return {"shared_huge_pages", Level::kOk, "not for segments that ask for none"};
  return {"shared_huge_pages", Level::kWarning,
          fmt::format("each segment takes whole huge pages, a multiple of the memory that it uses: "
                      "echo advise > {}",
                      path)};
}

Finding inotify(const control::HivePaths& paths) {
  os::DirectoryWatch watch;
  std::string above = paths.directory;
  bool watched = watch.add(above);
  while (!watched && watch.fd() >= 0 && above.size() > 1) {
    above.resize(std::max<std::size_t>(1, above.find_last_of('/')));
    watched = watch.add(above);
  }
  if (watched) return {"inotify", Level::kOk, "for seeing at once that files of a hive go"};
  return {"inotify", Level::kWarning,
          "none is left: a keeper sees only every 10 s that files of its hive go; raise "
          "fs.inotify.max_user_instances and max_user_watches"};
}

Finding runtime_directory() {
  const char* const named = std::getenv("BEELINE_DIR");
  if (named != nullptr && *named != '\0') {
    return {"runtime_directory", Level::kOk, "not used: BEELINE_DIR names the place"};
  }
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime == nullptr || *runtime == '\0') {
    const std::string usual = fmt::format("/run/user/{}", ::geteuid());
    if (::access(usual.c_str(), W_OK | X_OK) != 0) {
      return {"runtime_directory", Level::kOk, "XDG_RUNTIME_DIR is not set"};
    }
    return {"runtime_directory", Level::kWarning,
            fmt::format("XDG_RUNTIME_DIR is not set, and {} is there: a login of the same user has "
                        "another hive; set XDG_RUNTIME_DIR={} or BEELINE_DIR for both",
                        usual, usual)};
  }
  if (::access(runtime, W_OK | X_OK) == 0) {
    return {"runtime_directory", Level::kOk, fmt::format("XDG_RUNTIME_DIR is {}", runtime)};
  }
  return {"runtime_directory", Level::kFailed,
          fmt::format("XDG_RUNTIME_DIR is {}, where we cannot make a file: log in again, or set "
                      "BEELINE_DIR",
                      runtime)};
}

}  // namespace

std::vector<Finding> look_at_surroundings(const control::HivePaths& paths) {
  return {open_files(), file_size(),    address_space(),    memory(),
          huge_pages(), inotify(paths), runtime_directory()};
}

}  // namespace beeline::cli
