#include "src/control/hive_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_search.h"
#include "src/control/state_file.h"
#include "src/os/clock.h"
#include "src/os/error.h"

namespace beeline::control {
namespace {

constexpr std::int64_t kLookNs = 10'000'000'000;  // between looks without a reason
constexpr std::int64_t kMendNs = 1'000'000'000;   // shortest time between two repairs
constexpr std::int64_t kRemovalNs = 20'000'000;   // time for a program that removes a directory

bool is_there(const std::string& path) { return os::FileIdentity::at(path).has_value(); }

// A descriptor of the directory that holds a shared flock on it; none if it cannot be had now.
os::UniqueFd hold_directory(const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) fd.reset();
  return fd;
}

}  // namespace

HiveFiles::HiveFiles(HivePaths paths, std::optional<gid_t> group, HiveClaim claim)
    : paths_(std::move(paths)),
      group_(group),
      lock_(std::move(claim.lock)),
      text_before_(std::move(claim.text_before)),
      made_directory_(claim.made_directory) {
  there_before_ = all_paths();
  std::erase_if(there_before_, [](const std::string& path) { return !is_there(path); });
}

Result<HiveFiles> HiveFiles::acquire(HivePaths paths, std::optional<gid_t> group) {
  auto claim = acquire_hive(paths);
  if (!claim) return tl::unexpected(std::move(claim.error()));
  return HiveFiles(std::move(paths), group, std::move(*claim));
}

std::vector<std::string> HiveFiles::all_paths() const {
  return {paths_.socket, paths_.state, StateFile::bad_path(paths_.state), paths_.log,
          Log::old_path(paths_.log)};
}

bool HiveFiles::log_stays() const {
  return log_path_ == paths_.log ? was_there(log_path_) : !log_path_.empty();
}

bool HiveFiles::was_there(const std::string& path) const {
  return std::find(there_before_.begin(), there_before_.end(), path) != there_before_.end();
}

// ---- The start ----------------------------------------------------------------------------------

Result<void> HiveFiles::occupy(const std::string& since, Log& log, std::string log_path) {
  since_ = since;
  log_path_ = std::move(log_path);
  if (auto settled = settle_directory(log); !settled) return settled;
  if (auto listening = listen(); !listening) return listening;
  protect();
  watch();
  for (const std::string& elsewhere : same_name_elsewhere(paths_)) {
    log.warn("same_name_elsewhere", "hive={} directory={} other={}", paths_.hive,
             in_quotes(paths_.directory), in_quotes(elsewhere));
  }
  return {};
}

Result<void> HiveFiles::settle_directory(Log& log) {
  // A hive that was killed has left the directory open to its group.
  const auto left = read_holder(paths_.lock);
  if (left && left->opening) {
    if (const auto closed = close_directory(paths_, *left->opening); !closed) {
      log.warn("directory_not_restored", "text={}", in_quotes(closed.error().text));
    }
  }
  const auto found = directory_access(paths_);
  if (!found) return tl::unexpected(found.error());
  access_ = *found;
  if (group_) {
    opening_ = {*found, *group_};
  } else if ((found->mode & 077) != 0) {
    log.info("directory_is_wide",
             "directory={} mode={:o} text=\"others may look into it, as its owner has set it; the "
             "socket is for the owner alone\"",
             in_quotes(paths_.directory), found->mode);
  }
  // Before the directory is opened, so that the next keeper knows its old mode even if we are
  // killed.
  return write_holder();
}

Result<void> HiveFiles::write_holder() {
  return lock_.write_text(holder_text({paths_.hive, ::getpid(), since_, opening_}));
}

Result<void> HiveFiles::listen() {
  listener_is_given_ = given_.valid();
  if (listener_is_given_) {
    auto listener = os::PacketSocket::from_fd(std::move(given_));
    if (!listener) return tl::unexpected(std::move(listener.error()));
    // Once more: a client takes the process that has called this last for the keeper.
    if (auto listening = listener->start_listening(); !listening) return listening;
    socket_ = os::FileIdentity::at(paths_.socket);
    listener_ = std::move(*listener);
    return {};
  }
  // A hive that was killed has left its socket behind.
  struct stat found {};
  if (::lstat(paths_.socket.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) {
      return fail(ErrorCode::kSystem,
                  fmt::format("{} is not a socket: move it away, the hive must listen there",
                              paths_.socket));
    }
    (void)::unlink(paths_.socket.c_str());
  }
  // Bind under the final name: the kernel knows a socket by the name that it was bound to. A
  // renamed socket would look unused to a program that cleans up.
  const mode_t before = ::umask(0077);
  auto listener = os::PacketSocket::bind(paths_.socket);
  ::umask(before);
  if (!listener) return tl::unexpected(std::move(listener.error()));
  socket_ = os::FileIdentity::at(paths_.socket);
  // First, so that no member of the group is turned away for its mode.
  if (group_) {
    if (auto admitted = admit_group(paths_, paths_.socket, *group_); !admitted) return admitted;
  }
  if (auto listening = listener->start_listening(); !listening) return listening;
  listener_ = std::move(*listener);
  return {};
}

void HiveFiles::protect() {
  const std::vector<std::string> paths = own_directories(paths_);
  directories_.resize(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!os::is_at(paths[i], directories_[i].get())) directories_[i] = hold_directory(paths[i]);
  }
}

void HiveFiles::watch() {
  // If the directory is gone, watch the nearest one above it, to learn that it is there again.
  if (std::exchange(watches_above_, !is_there(paths_.directory))) watch_ = os::DirectoryWatch();
  std::string path = paths_.directory;
  while (watch_.fd() >= 0 && !watch_.add(path) && path.size() > 1) {
    path.resize(std::max<std::size_t>(1, path.find_last_of('/')));
  }
  next_look_ns_ = os::monotonic_ns() + kLookNs;
}

// ---- While it runs ------------------------------------------------------------------------------

void HiveFiles::notice() noexcept {
  if (!watch_.drain()) return;
  // A program that removes files all the time, or a file that cannot be made, must not keep us
  // busy.
  const std::int64_t soon_ns = os::monotonic_ns() + kRemovalNs;
  const std::int64_t again_ns = mended_ns_ == 0 ? 0 : mended_ns_ + kMendNs;
  next_look_ns_ = std::min(next_look_ns_, std::max(soon_ns, again_ns));
}

std::string HiveFiles::gone() const {
  std::string names;
  const auto add = [&names](bool is_gone, std::string_view name) {
    if (is_gone) names += (names.empty() ? "" : " ") + std::string(name);
  };
  add(!is_there(paths_.directory), "directory");
  add(!lock_.is_in_place(), "lock");
  add(!socket_ || os::FileIdentity::at(paths_.socket) != socket_, "socket");
  return names;
}

bool HiveFiles::mend(Log& log) {
  const std::string names = gone();
  // The log may lie in the directory, which is ours while we have the lock.
  const bool other_log = lock_.is_in_place() && log.follow();
  const bool stateless = !is_there(paths_.state);
  if (!names.empty() || stateless) mended_ns_ = os::monotonic_ns();
  if (names.empty()) {
    protect();
    watch();
    said_.clear();
    return other_log || stateless;
  }
  const auto restored = restore();
  watch();
  if (!restored) {
    const bool taken = restored.error().code == ErrorCode::kAlreadyRunning;
    say(log, taken ? "files_taken" : "files_gone",
        fmt::format(
            "{}: {} in {}: {}; its agents go on, new ones cannot find it",
            taken ? "another hive is in the place of this one" : "removed and not made again",
            names, paths_.directory, restored.error().text));
    return other_log;
  }
  (void)log.follow();
  log.warn("files_restored", "text={}",
           in_quotes(fmt::format("removed while the hive was in use, and made again: {} in {}",
                                 names, paths_.directory)));
  said_.clear();
  return true;
}

void HiveFiles::say(Log& log, std::string_view event, std::string text) {
  if (text == said_) return;
  log.warn(event, "text={}", in_quotes(text));
  said_ = std::move(text);
}

Result<void> HiveFiles::restore() {
  if (!lock_.is_in_place()) {
    if (auto prepared = prepare_directory(paths_); !prepared) return prepared;
    // The place belongs to the keeper that locks the file with this name. That is another keeper if
    // it was quicker. The old lock ends once we have the new one.
    auto lock = os::LockFile::acquire(paths_.lock);
    if (!lock) return tl::unexpected(std::move(lock.error()));
    lock_ = std::move(*lock);
    if (auto restored = restore_access(); !restored) return restored;
    if (auto written = write_holder(); !written) return written;
  }
  protect();
  if (socket_ && os::FileIdentity::at(paths_.socket) == socket_) return {};
  return listen();
}

Result<void> HiveFiles::restore_access() const {
  if (!directories_.empty() && os::is_at(paths_.directory, directories_.back().get())) return {};
  const auto now = directory_access(paths_);
  if (!now) return tl::unexpected(now.error());
  const char* const path = paths_.directory.c_str();
  const bool good =
      (now->group == access_.group || ::chown(path, static_cast<uid_t>(-1), access_.group) == 0) &&
      (now->mode == access_.mode || ::chmod(path, access_.mode) == 0);
  if (good) return {};
  return os::system_failure(fmt::format("cannot give {} the mode {:o} and the group {} again",
                                        paths_.directory, access_.mode, access_.group));
}

// ---- The end ------------------------------------------------------------------------------------

void HiveFiles::unlink_socket() const {
  if (socket_ && !listener_is_given_ && os::FileIdentity::at(paths_.socket) == socket_) {
    (void)::unlink(paths_.socket.c_str());
  }
}

void HiveFiles::remove(Log& log) {
  unlink_socket();
  if (!lock_.is_in_place()) {
    log.warn("files_left", "text={}",
             in_quotes(fmt::format("{} is another hive's, or gone: nothing in it is removed",
                                   paths_.directory)));
    return;
  }
  // Keep the log, so that a user looking for the reason of an end finds it, also when the next hive
  // runs.
  (void)std::rename(paths_.log.c_str(), paths_.last_log.c_str());
  for (const std::string& path : all_paths()) {
    if (path != paths_.socket) (void)::unlink(path.c_str());
  }
  // While we still hold the lock: it keeps the old mode of the directory, and no other hive begins
  // here.
  if (opening_) (void)close_directory(paths_, *opening_);
  (void)::unlink(paths_.lock.c_str());
  (void)::rmdir(paths_.directory.c_str());  // a directory with other files in it stays
}

void HiveFiles::leave_as_found() {
  // If a dead socket was there before, our dead one stays in its place.
  if (!was_there(paths_.socket)) unlink_socket();
  if (!lock_.is_in_place()) return;
  for (const std::string& path : all_paths()) {
    if (path != paths_.socket && !was_there(path)) (void)::unlink(path.c_str());
  }
  if (opening_) (void)close_directory(paths_, *opening_);
  if (!text_before_.empty()) {
    (void)lock_.write_text(text_before_);
    return;
  }
  (void)::unlink(paths_.lock.c_str());
  if (made_directory_) (void)::rmdir(paths_.directory.c_str());
}

void HiveFiles::release() noexcept {
  directories_.clear();
  watch_.close();
  lock_.close();
}

}  // namespace beeline::control
