#include "src/look/keeper_sight.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "src/control/hive_holder.h"
#include "src/os/lock_file.h"

namespace beeline::look {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

enum class Sight : std::uint8_t {
  kSeen,     // the process holds the lock
  kAnother,  // the process of that number does not hold it, or there is no such process
  kRefused,
  kUnknown,  // a call failed: the reader of the segments reports the reason
};

// The sight that follows from the errno of a call that inspected the process.
Sight sight_after(int failure) {
  if (failure == ENOENT) return Sight::kAnother;
  return failure == EACCES || failure == EPERM ? Sight::kRefused : Sight::kUnknown;
}

// The keeper is the process that has the lock file open.
Sight look_for_lock(pid_t pid, const std::string& lock_path) {
  struct stat lock {};
  if (::stat(lock_path.c_str(), &lock) != 0) return Sight::kUnknown;
  const std::string path = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) return sight_after(errno);
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    struct stat found {};
    const bool is_there = ::stat(fmt::format("{}/{}", path, entry->d_name).c_str(), &found) == 0;
    if (is_there && found.st_dev == lock.st_dev && found.st_ino == lock.st_ino) return Sight::kSeen;
    if (!is_there && errno != ENOENT) return sight_after(errno);
    errno = 0;
  }
  return errno == 0 ? Sight::kAnother : Sight::kUnknown;
}

}  // namespace

std::optional<pid_t> find_keeper(const std::string& lock_path) {
  const std::unique_ptr<DIR, CloseFolder> processes(::opendir("/proc"));
  if (processes == nullptr) return std::nullopt;
  while (const dirent* entry = ::readdir(processes.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && look_for_lock(pid, lock_path) == Sight::kSeen) return pid;
  }
  return std::nullopt;
}

std::string why_keeper_is_hidden(const control::HivePaths& paths) {
  const auto holder = control::read_holder(paths.lock);
  const auto is_held = os::LockFile::is_held(paths.lock);
  if (!holder || holder->pid == 0 || !is_held || !*is_held) return {};
  const Sight sight = look_for_lock(holder->pid, paths.lock);
  if (sight == Sight::kSeen || sight == Sight::kUnknown || find_keeper(paths.lock)) return {};
  if (sight == Sight::kRefused) {
    return fmt::format(
        "we, uid {}, may not inspect process {}, the keeper of hive '{}': ask as "
        "its user or as root, in its user namespace",
        ::geteuid(), holder->pid, paths.hive);
  }
  return fmt::format(
      "the keeper of hive '{}' lives in another pid namespace, where it is process "
      "{}: ask there, for example in its container",
      paths.hive, holder->pid);
}

}  // namespace beeline::look
