#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <string>

namespace beeline::os {

// Identifies the file behind a descriptor or a path, whatever its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;

  // Nothing if the descriptor is not open.
  [[nodiscard]] static std::optional<FileIdentity> of(int fd) noexcept {
    struct stat found {};
    if (::fstat(fd, &found) != 0) return std::nullopt;
    return FileIdentity{found.st_dev, found.st_ino};
  }
  // Nothing if there is no file. Does not follow a symbolic link. Looks once more if the system
  // has no memory to look.
  [[nodiscard]] static std::optional<FileIdentity> at(const std::string& path) noexcept {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0 &&
        (errno != ENOMEM || ::lstat(path.c_str(), &found) != 0)) {
      return std::nullopt;
    }
    return FileIdentity{found.st_dev, found.st_ino};
  }
};

// True if `path` names the file that is open as `fd`.
[[nodiscard]] inline bool is_at(const std::string& path, int fd) noexcept {
  const auto open = FileIdentity::of(fd);
  return open.has_value() && open == FileIdentity::at(path);
}

}  // namespace beeline::os
