#include "src/control/hive_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "src/os/error.h"

namespace beeline::control {
namespace {

bool is_trusted_owner(uid_t user) { return user == ::geteuid() || user == 0; }

std::string parent_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

std::string how_to_join(const HivePaths& paths) {
  return fmt::format("to join a hive of another user, set BEELINE_DIR={}", paths.directory);
}

// Checks $XDG_RUNTIME_DIR itself. It may be a symbolic link: only its owner counts.
Result<void> check_runtime(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return os::system_failure(
        fmt::format("cannot use the runtime directory XDG_RUNTIME_DIR={} (unset it, make the "
                    "directory, or set BEELINE_DIR)",
                    path));
  }
  if (!S_ISDIR(found.st_mode)) {
    return fail(ErrorCode::kDenied,
                fmt::format("XDG_RUNTIME_DIR={} is not a directory: unset XDG_RUNTIME_DIR, or set "
                            "BEELINE_DIR",
                            path));
  }
  if (is_trusted_owner(found.st_uid)) return {};
  return fail(ErrorCode::kDenied,
              fmt::format("the runtime directory XDG_RUNTIME_DIR={} belongs to uid {}, we are uid "
                          "{}: unset XDG_RUNTIME_DIR, or set BEELINE_DIR",
                          path, found.st_uid, ::geteuid()));
}

// The error when we cannot look at `path`, because the directory above does not let us in.
tl::unexpected<Error> no_way_to(const HivePaths& paths, const std::string& path) {
  const int reason = errno;
  const std::string above = parent_of(path);
  struct stat found {};
  if (reason != EACCES || ::lstat(above.c_str(), &found) != 0) {
    return os::system_failure(ErrorCode::kSystem, reason,
                              fmt::format("cannot look at directory {}", path));
  }
  return fail(
      ErrorCode::kDenied,
      fmt::format("cannot enter directory {}: it belongs to uid {} and has mode {:o}, we "
                  "are uid {}; let that user remove it, or set BEELINE_DIR to a directory "
                  "other than {}",
                  above, found.st_uid, found.st_mode & 07777, ::geteuid(), paths.directory));
}

Result<void> check_one(const HivePaths& paths, const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return no_way_to(paths, path);
  }
  if (!is_trusted_owner(found.st_uid)) {
    return fail(ErrorCode::kDenied,
                fmt::format("directory {} belongs to uid {}, we are uid {}: that user could read "
                            "our messages; {}",
                            path, found.st_uid, ::geteuid(), how_to_join(paths)));
  }
  if (S_ISDIR(found.st_mode)) return {};
  return fail(ErrorCode::kDenied,
              fmt::format("{} is not a directory: remove it, or set BEELINE_DIR "
                          "to another one",
                          path));
}

}  // namespace

Result<void> check_place(const HivePaths& paths) {
  if (paths.place == Place::kNamed) return {};
  const std::string parent = parent_of(paths.directory);
  if (paths.place == Place::kRuntime) {
    if (auto good = check_runtime(parent_of(parent)); !good) return good;
  }
  if (auto good = check_one(paths, parent); !good) return good;
  return check_one(paths, paths.directory);
}

Result<os::PacketSocket> connect_to_hive(const HivePaths& paths) {
  if (auto good = check_place(paths); !good) return tl::unexpected(std::move(good.error()));
  auto socket = os::PacketSocket::connect(paths.socket);
  if (!socket && socket.error().code == ErrorCode::kDenied) {
    struct stat found {};
    if (::lstat(paths.socket.c_str(), &found) != 0) return no_way_to(paths, paths.socket);
  }
  if (!socket || paths.place == Place::kNamed) return socket;
  const auto listener = socket->peer_user();
  if (!listener) return tl::unexpected(listener.error());
  if (is_trusted_owner(*listener)) return socket;
  return fail(ErrorCode::kDenied,
              fmt::format("the hive at {} is run by uid {}, we are uid {}: it could read our "
                          "messages; {}",
                          paths.directory, *listener, ::geteuid(), how_to_join(paths)));
}

}  // namespace beeline::control
