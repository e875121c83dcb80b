#include "src/control/hive_paths.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_place.h"
#include "src/control/names.h"
#include "src/os/error.h"
#include "src/os/process.h"

namespace beeline::control {
namespace {

constexpr auto kLock = "/lock";
constexpr auto kRunPlace = "/run/beeline";
constexpr mode_t kGroupMode = 0750;  // of the directory, where a group may join

bool may_write(const char* directory) { return ::access(directory, W_OK | X_OK) == 0; }

// The daemon changes its working directory, so paths must not depend on it.
std::string absolute(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path.starts_with('/')) return std::string(path);
  std::array<char, 4096> here{};
  if (::getcwd(here.data(), here.size()) == nullptr) return std::string(path);
  return fmt::format("{}/{}", here.data(), path);
}

// $XDG_RUNTIME_DIR/beeline; empty if the variable is not set.
std::string runtime_place() {
  const auto runtime = os::variable("XDG_RUNTIME_DIR");
  return runtime.empty() ? std::string() : absolute(runtime) + "/beeline";
}

std::string tmp_place() { return fmt::format("/tmp/beeline-{}", ::geteuid()); }

// The place if $BEELINE_DIR is not set.
std::pair<Place, std::string> choose_place() {
  if (std::string runtime = runtime_place(); !runtime.empty()) {
    return {Place::kRuntime, std::move(runtime)};
  }
  if (may_write(kRunPlace) || (::access(kRunPlace, F_OK) != 0 && may_write("/run"))) {
    return {Place::kRun, kRunPlace};
  }
  return {Place::kTmp, tmp_place()};
}

// The name of a hive: the wanted one, else that of the hive in the directory.
Result<std::string> hive_name(std::string_view wanted, const std::string& directory) {
  std::string held;
  if (!directory.empty()) {
    if (const auto holder = read_holder(directory + kLock)) held = holder->hive;
  }
  if (held.empty()) return std::string(wanted.empty() ? "default" : wanted);
  if (wanted.empty() || wanted == held) return held;
  return fail(
      ErrorCode::kInvalid,
      fmt::format("hive \"{}\" is asked for (--hive or BEELINE_HIVE), but BEELINE_DIR={} "
                  "belongs to hive \"{}\": name that one, unset BEELINE_DIR, or remove {}{} "
                  "if that hive was killed",
                  wanted, directory, held, directory, kLock));
}

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return os::system_failure(fmt::format("cannot create directory {}", path));
}

// Refuses, for root, to leave a new directory in one of another user: that user could not use it.
// REQUIRES: the directory is $BEELINE_DIR.
Result<void> check_above(const std::string& directory) {
  struct stat found {};
  if (::geteuid() != 0 || ::lstat(directory.c_str(), &found) == 0) return {};
  const std::string above =
      directory.substr(0, std::max<std::size_t>(1, directory.find_last_of('/')));
  if (::stat(above.c_str(), &found) != 0 || found.st_uid == 0) return {};  // mkdir fails as well
  return fail(ErrorCode::kDenied,
              fmt::format("root makes no directory for BEELINE_DIR={}: {} belongs to uid {}; unset "
                          "BEELINE_DIR, run as that user, or make the directory before",
                          directory, above, found.st_uid));
}

Result<void> check_owner(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    return os::system_failure(fmt::format("cannot look at directory {}", path));
  }
  if (!S_ISDIR(found.st_mode)) {
    return fail(ErrorCode::kDenied, fmt::format("{} is not a directory", path));
  }
  if (found.st_uid != ::geteuid()) {
    return fail(ErrorCode::kDenied,
                fmt::format("directory {} belongs to uid {}, we are uid {}: set BEELINE_DIR", path,
                            found.st_uid, ::geteuid()));
  }
  if ((found.st_mode & 022) != 0) {
    return fail(ErrorCode::kDenied,
                fmt::format("directory {} has mode {:o}, others may write: chmod 700 it", path,
                            found.st_mode & 0777));
  }
  return {};
}

// True if the members of the group may pass the directory.
bool lets_pass(const DirectoryAccess& access, gid_t group) {
  const mode_t needed = access.group == group ? 010 : 01;
  return (access.mode & needed) != 0;
}

// The mode in which close_directory() first closes it to all groups: if we are killed before the
// directory is given back, it is open to no group.
mode_t without_groups(mode_t mode) { return mode & ~static_cast<mode_t>(S_IRWXG); }

// True if the directory is as admit_group() makes it, or as a keeper left it that was killed while
// opening or closing it.
bool is_as_we_leave_it(const DirectoryAccess& now, const DirectoryOpening& opening) {
  const auto& [before, group] = opening;
  if (lets_pass(before, group)) return false;  // then it was not touched
  const bool half_closed = now.mode == without_groups(before.mode);
  if (now.group == group) return half_closed || now.mode == kGroupMode || now.mode == before.mode;
  return now.group == before.group && half_closed;
}

}  // namespace

Result<HivePaths> find_hive(std::string_view hive) {
  const auto given = os::variable("BEELINE_DIR");
  std::string directory = given.empty() ? std::string() : absolute(given);
  auto name = hive_name(hive.empty() ? os::variable("BEELINE_HIVE") : hive, directory);
  if (!name) return tl::unexpected(std::move(name.error()));
  if (auto good = check_hive_name(*name); !good) return tl::unexpected(std::move(good.error()));
  Place place = Place::kNamed;
  if (directory.empty()) {
    std::tie(place, directory) = choose_place();
    directory += '/' + *name;
  }
  HivePaths paths = paths_in(std::move(directory), std::move(*name));
  paths.place = place;
  return paths;
}

std::vector<std::string> shared_places() {
  std::vector<std::string> places = {fmt::format("/run/user/{}/beeline", ::geteuid()), kRunPlace,
                                     tmp_place()};
  if (std::string runtime = runtime_place(); !runtime.empty()) {
    places.insert(places.begin(), std::move(runtime));
  }
  return places;
}

HivePaths paths_in(std::string directory, std::string hive) {
  HivePaths paths;
  paths.hive = std::move(hive);
  paths.directory = std::move(directory);
  paths.socket = paths.directory + "/socket";
  paths.lock = paths.directory + kLock;
  paths.state = paths.directory + "/state.json";
  paths.log = paths.directory + "/beelined.log";
  paths.last_log = paths.directory + "/beelined.last.log";
  return paths;
}

std::string last_log(const std::string& directory) {
  std::string path = paths_in(directory, "").last_log;
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
}

Result<void> prepare_directory(const HivePaths& paths) {
  const std::string parent = paths.directory.substr(0, paths.directory.find_last_of('/'));
  // Only parents that we name ourselves are ours to make; the parent of $BEELINE_DIR is the user's.
  if (paths.place != Place::kNamed) {
    if (auto good = check_place(paths); !good) return good;
    if (auto made = make_directory(parent); !made) return made;
    if (paths.place == Place::kTmp) {
      if (auto good = check_owner(parent); !good) return good;
    }
  } else if (auto good = check_above(paths.directory); !good) {
    return good;
  }
  if (auto made = make_directory(paths.directory); !made) return made;
  return check_owner(paths.directory);
}

std::vector<std::string> own_directories(const HivePaths& paths) {
  if (paths.place == Place::kNamed) return {paths.directory};
  return {paths.directory.substr(0, paths.directory.find_last_of('/')), paths.directory};
}

Result<void> check_directory(const HivePaths& paths) {
  if (auto good = check_place(paths); !good) return good;
  struct stat found {};
  if (::lstat(paths.directory.c_str(), &found) != 0 && errno == ENOENT) {
    return paths.place == Place::kNamed ? check_above(paths.directory) : Result<void>();
  }
  const bool may_join = ::faccessat(AT_FDCWD, paths.socket.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
  if (found.st_uid != ::geteuid() && (found.st_mode & 022) == 0 && may_join) return {};
  return check_owner(paths.directory);
}

Result<void> check_reachable(const HivePaths& paths, gid_t group) {
  for (std::size_t end = paths.directory.find('/', 1); end != std::string::npos;
       end = paths.directory.find('/', end + 1)) {
    const std::string above = paths.directory.substr(0, end);
    struct stat found {};
    const bool is_there = ::stat(above.c_str(), &found) == 0;
    if (!is_there && errno != ENOENT) {
      return os::system_failure(fmt::format("cannot look at directory {}", above));
    }
    // A missing directory will be made for our user alone; an access list decides for itself.
    const mode_t needed = found.st_gid == group ? 010 : 011;
    if (is_there && (found.st_mode & needed) != 0) continue;
    if (is_there && ::getxattr(above.c_str(), "system.posix_acl_access", nullptr, 0) > 0) continue;
    return fail(ErrorCode::kDenied,
                fmt::format("the group {} cannot reach the hive at {}: {} is closed to it (mode "
                            "{:o}); set BEELINE_DIR, for the hive and all its users, to a "
                            "directory below one that the group may pass, /srv/hive for example",
                            group, paths.directory, above,
                            is_there ? found.st_mode & 07777 : mode_t{0700}));
  }
  return {};
}

Result<DirectoryAccess> directory_access(const HivePaths& paths) {
  struct stat found {};
  if (::stat(paths.directory.c_str(), &found) != 0) {
    return os::system_failure(fmt::format("cannot look at directory {}", paths.directory));
  }
  return DirectoryAccess{found.st_mode & 07777, found.st_gid};
}

Result<void> admit_group(const HivePaths& paths, const std::string& socket, gid_t group) {
  const auto now = directory_access(paths);
  if (!now) return tl::unexpected(now.error());
  const auto open = [group](const std::string& path, mode_t mode) -> Result<void> {
    if (::chown(path.c_str(), static_cast<uid_t>(-1), group) == 0 &&
        ::chmod(path.c_str(), mode) == 0) {
      return {};
    }
    return os::system_failure(fmt::format("cannot open {} to group {}", path, group));
  };
  if (!lets_pass(*now, group)) {
    if (auto opened = open(paths.directory, kGroupMode); !opened) return opened;
  }
  return open(socket, 0660);
}

Result<void> close_directory(const HivePaths& paths, const DirectoryOpening& opening) {
  const auto now = directory_access(paths);
  if (!now) return tl::unexpected(now.error());
  const DirectoryAccess& before = opening.before;
  const bool changed = now->mode != before.mode || now->group != before.group;
  if (!changed || !is_as_we_leave_it(*now, opening)) return {};
  const char* const path = paths.directory.c_str();
  if (::chmod(path, without_groups(before.mode)) == 0 &&
      (now->group == before.group || ::chown(path, static_cast<uid_t>(-1), before.group) == 0) &&
      ::chmod(path, before.mode) == 0) {
    return {};
  }
  return os::system_failure(
      fmt::format("cannot give {} the mode {:o} and the group {} again, as it was before a group "
                  "was admitted",
                  paths.directory, before.mode, before.group));
}

Result<gid_t> find_group(const std::string& name) {
  gid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  constexpr gid_t kNone = static_cast<gid_t>(-1);  // means for chown(): leave it as it is
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (is_number && number != kNone) return number;
  std::array<char, 16384> memory{};
  struct group entry {};
  struct group* found = nullptr;
  (void)::getgrnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return fail(ErrorCode::kInvalid,
              fmt::format("there is no group \"{}\": name one, or give its number", name));
}

}  // namespace beeline::control
