#include "src/look/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_holder.h"
#include "src/control/hive_paths.h"
#include "src/control/hive_place.h"
#include "src/look/keeper_sight.h"
#include "src/look/segment_name.h"
#include "src/os/error.h"

namespace beeline::look {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

std::optional<pid_t> pid_from(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || pid <= 0 || end != text.data() + text.size()) return std::nullopt;
  return pid;
}

std::string read_link(const std::string& path) {
  std::array<char, 512> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

enum class Search : std::uint8_t { kDone, kGone, kRefused };

// Collects the segments of a hive among the descriptors of processes.
class Collector {
 public:
  explicit Collector(std::string_view hive) : hive_(hive) {}

  // SUBTLE: a holder may move a segment to another descriptor while we read; we miss one that
  // moves to a number behind us. So we repeat the search until it finds nothing new.
  Search search(pid_t pid) {
    constexpr int kMostLooks = 16;
    Search search = Search::kDone;
    for (int look = 0; look < kMostLooks; ++look) {
      const std::size_t before = found_.size();
      search = look_into(pid);
      if (found_.size() == before) break;
    }
    return search;
  }

  [[nodiscard]] bool empty() const { return found_.empty(); }

  std::vector<Source> take() {
    std::sort(found_.begin(), found_.end(), [](const Source& a, const Source& b) {
      return a.name != b.name ? a.name < b.name : a.inode < b.inode;
    });
    return std::move(found_);
  }

 private:
  Search look_into(pid_t pid) {
    const std::string folder = fmt::format("/proc/{}/fd", pid);
    const Directory directory(::opendir(folder.c_str()));
    if (directory == nullptr) {
      return errno == EACCES || errno == EPERM ? Search::kRefused : Search::kGone;
    }
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string path = fmt::format("{}/{}", folder, entry->d_name);
      if (parse_segment_name(memfd_name(read_link(path)), hive_)) add(path);
    }
    // SUBTLE: a process that may not be inspected can show an empty folder instead of an error.
    return Search::kDone;
  }

  // Open the file once and ask only this descriptor, because the number may mean another file by
  // now.
  void add(const std::string& path) {
    const os::UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat found {};
    if (!file.valid() || ::fstat(file.get(), &found) != 0) return;
    const std::string target = read_link(fmt::format("/proc/self/fd/{}", file.get()));
    const std::string_view name = memfd_name(target);
    if (!parse_segment_name(name, hive_)) return;
    Source source{std::string(name), path, false, false, found.st_dev, found.st_ino};
    if (known_.emplace(source.device, source.inode).second) found_.push_back(std::move(source));
  }

  std::string hive_;
  std::vector<Source> found_;
  std::set<std::pair<dev_t, ino_t>> known_;
};

std::optional<uid_t> owner_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return found.st_uid;
}

// Looks into every process of the hive's user, because hives of other users may have the same
// name.
bool search_all(Collector& collector, std::optional<uid_t> user) {
  bool refused = false;
  const Directory processes(::opendir("/proc"));
  if (processes == nullptr) return false;
  while (const dirent* entry = ::readdir(processes.get())) {
    const auto pid = pid_from(entry->d_name);
    if (!pid || *pid == ::getpid()) continue;
    if (user && owner_of(fmt::format("/proc/{}", *pid)) != user) continue;
    refused = collector.search(*pid) == Search::kRefused || refused;
  }
  return refused;
}

tl::unexpected<Error> denied(const control::HivePaths& paths, pid_t keeper) {
  const auto user = owner_of(fmt::format("/proc/{}", keeper));
  return fail(ErrorCode::kDenied,
              fmt::format("may not read /proc/{0}/fd, the descriptors of the keeper of hive '{1}': "
                          "it runs as uid {2}, we are uid {3}; ask as that user or as root "
                          "(sudo), or look with shm-dump at files that it has saved",
                          keeper, paths.hive, user ? fmt::to_string(*user) : "?", ::geteuid()));
}

tl::unexpected<Error> no_hive(const control::HivePaths& paths, const std::string& lock,
                              bool refused) {
  return fail(ErrorCode::kNoCoordinator,
              fmt::format("no such hive '{}': {}, and no process that we may inspect holds a "
                          "memfd beeline-{}-*{}; see its agents with `beeline --hive {} status`, "
                          "start it with `beeline --hive {} up`, or name saved files",
                          paths.hive, lock, paths.hive,
                          refused ? " (some may not be inspected: try as root)" : "", paths.hive,
                          paths.hive));
}

Result<os::UniqueFd> open_at(const Source& source, const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) {
    const int reason = errno;
    if (reason == EACCES || reason == EPERM) {
      return os::system_failure(ErrorCode::kDenied, reason,
                                fmt::format("cannot open {} (ask as its owner or as root)", path));
    }
    const bool gone = !source.saved && (reason == ENOENT || reason == ENXIO);
    return os::system_failure(gone ? ErrorCode::kClosed : ErrorCode::kSystem, reason,
                              fmt::format("cannot open {}", path));
  }
  struct stat found {};
  const bool looked = ::fstat(fd.get(), &found) == 0;
  if (!source.saved && (!looked || found.st_dev != source.device || found.st_ino != source.inode)) {
    return fail(ErrorCode::kClosed,
                fmt::format("{} is not {} any more: its holder has closed it", path, source.name));
  }
  return fd;
}

// The present path of a segment that its holder had under another descriptor; empty if there is
// none.
std::string find_moved(const Source& source) {
  const std::string folder = source.path.substr(0, source.path.rfind('/'));
  const Directory directory(::opendir(folder.c_str()));
  if (directory == nullptr) return {};
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string path = fmt::format("{}/{}", folder, entry->d_name);
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) continue;
    if (found.st_dev == source.device && found.st_ino == source.inode) return path;
  }
  return {};
}

}  // namespace

Result<std::vector<Source>> find_segments(std::string_view hive) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  if (auto good = control::check_place(*paths); !good) return tl::unexpected(good.error());
  Collector collector(paths->hive);
  std::string lock_says;
  bool is_refused = false;  // the process that the lock file names refused
  const auto holder = control::read_holder(paths->lock);
  if (!holder) {
    if (holder.error().sys_errno == EACCES) {
      return fail(ErrorCode::kDenied,
                  fmt::format("{}: only the user of hive '{}' and root may look into its memory; "
                              "ask as one of them (sudo)",
                              holder.error().text, paths->hive));
    }
    lock_says = holder.error().text;
  } else if (holder->pid == 0) {
    lock_says = fmt::format("lock file {} names no pid", paths->lock);
  } else {
    const Search search = collector.search(holder->pid);
    is_refused = search == Search::kRefused;
    lock_says = search == Search::kGone
                    ? fmt::format("keeper {} of lock file {} has ended", holder->pid, paths->lock)
                    : fmt::format("process {} of lock file {} holds no segment of it", holder->pid,
                                  paths->lock);
  }
  if (collector.empty()) {
    if (const auto keeper = find_keeper(paths->lock)) (void)collector.search(*keeper);
  }
  if (collector.empty()) {
    const bool refused = search_all(collector, owner_of(paths->directory));
    if (collector.empty() && is_refused) return denied(*paths, holder->pid);
    const std::string hidden = collector.empty() ? why_keeper_is_hidden(*paths) : "";
    if (!hidden.empty()) return fail(ErrorCode::kDenied, hidden);
    if (collector.empty()) return no_hive(*paths, lock_says, refused);
  }
  return collector.take();
}

Source saved_file(const std::string& path) {
  Source source;
  source.path = path;
  source.saved = true;
  std::string_view name = path;
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  source.saved_live = name.ends_with(kSavedLiveSuffix);
  const std::string_view suffix = source.saved_live ? kSavedLiveSuffix : kSavedSuffix;
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  source.name = name;
  return source;
}

Result<os::UniqueFd> open_source(const Source& source) {
  constexpr int kMostLooks = 16;
  auto fd = open_at(source, source.path);
  for (int look = 0; look < kMostLooks && !source.saved; ++look) {
    if (fd || fd.error().code != ErrorCode::kClosed) break;
    const std::string path = find_moved(source);
    if (path.empty()) break;
    fd = open_at(source, path);
  }
  return fd;
}

}  // namespace beeline::look
