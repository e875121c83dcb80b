#include "src/control/hive_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/os/file_identity.h"
#include "src/os/lock_file.h"

namespace beeline::control {
namespace {

constexpr std::string_view kSocket = "/socket";

std::string above(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

// Adds the directories below each of our places.
void add_placed(std::vector<std::string>& directories) {
  for (const std::string& place : shared_places()) {
    std::error_code error;
    std::filesystem::directory_iterator each(place, error);
    for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
      directories.push_back(each->path().string());
    }
  }
}

// Adds the directories with a listening packet socket of this name. The kernel tells the path to
// which each was bound.
void add_listening(std::vector<std::string>& directories) {
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const bool listens = line.find(" 00010000 0005 ") != std::string::npos;  // flags and type
    const std::size_t path = line.find(" /");
    if (!listens || path == std::string::npos || !line.ends_with(kSocket)) continue;
    directories.push_back(above(line.substr(path + 1)));
  }
}

// The hive in a directory; nothing if there is none, or if it is closed to us.
std::optional<FoundHive> look_at(const std::string& directory) {
  const HivePaths paths = paths_in(directory, directory.substr(directory.find_last_of('/') + 1));
  struct stat found {};
  if (::lstat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return std::nullopt;
  auto holder = read_holder(paths.lock);
  if (!holder) return std::nullopt;
  FoundHive hive{paths.hive, directory, found.st_uid, std::move(*holder), false};
  if (!hive.holder.hive.empty()) hive.hive = hive.holder.hive;
  hive.runs = os::LockFile::is_held(paths.lock).value_or(false);
  if (hive.user == ::geteuid()) return hive;
  const bool may_join = ::faccessat(AT_FDCWD, paths.socket.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
  return hive.runs && may_join ? std::optional(std::move(hive)) : std::nullopt;
}

// True if it is where find_hive() would put a hive of its user.
bool is_placed(const FoundHive& hive) {
  const std::string place = above(hive.directory);
  return hive.directory == place + '/' + hive.hive &&
         (place.ends_with("/beeline") || place == fmt::format("/tmp/beeline-{}", hive.user));
}

bool is_ours(uid_t user) {
  if (user == ::geteuid()) return true;
  const char* const before = ::secure_getenv("SUDO_UID");
  return ::geteuid() == 0 && before != nullptr && fmt::format("{}", user) == before;
}

}  // namespace

std::vector<FoundHive> find_hives() {
  std::vector<std::string> directories;
  if (const auto chosen = find_hive("")) directories.push_back(chosen->directory);
  add_placed(directories);
  add_listening(directories);
  std::vector<FoundHive> hives;
  std::vector<os::FileIdentity> seen;
  for (const std::string& directory : directories) {
    const auto identity = os::FileIdentity::at(directory);
    if (!identity || std::find(seen.begin(), seen.end(), *identity) != seen.end()) continue;
    seen.push_back(*identity);
    if (auto hive = look_at(directory)) hives.push_back(std::move(*hive));
  }
  return hives;
}

std::vector<std::string> same_name_elsewhere(const HivePaths& paths) {
  std::vector<std::string> elsewhere;
  if (paths.place == Place::kNamed) return elsewhere;
  const auto here = os::FileIdentity::at(paths.directory);
  for (const FoundHive& each : find_hives()) {
    const bool is_another = each.runs && os::FileIdentity::at(each.directory) != here;
    if (is_another && each.hive == paths.hive && is_ours(each.user) && is_placed(each)) {
      elsewhere.push_back(each.directory);
    }
  }
  return elsewhere;
}

}  // namespace beeline::control
