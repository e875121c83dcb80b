#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// Proof that we alone hold a path. The lock belongs to the open file (F_OFD_SETLK), so it lives
// until the last duplicate of the descriptor is closed: in us, in a child made by fork, or in a
// process that was sent fd(). A crash gives it back. The file itself stays and is never removed.
class LockFile {
 public:
  LockFile() noexcept = default;

  // Opens or makes the file (mode 0644, not through a symbolic link, closed on exec) and locks it.
  // Does not wait. Errors: kAlreadyRunning (held; the text quotes the holder's text), kSystem.
  [[nodiscard]] static Result<LockFile> acquire(const std::string& path);

  // Replaces the text of the file, for people and tools (pids, versions). Errors: kClosed (not
  // held), kSystem.
  [[nodiscard]] Result<void> write_text(std::string_view text);

  // Reads the text of a lock file, held or not, at most 64 KiB. It may be torn or stale: it is no
  // proof of anything. Errors: kSystem (ENOENT: no process ever held it).
  [[nodiscard]] static Result<std::string> read_text(const std::string& path);

  // True if another process holds the lock of the file; false if there is no such file. Errors:
  // kSystem (EACCES: we may not look).
  [[nodiscard]] static Result<bool> is_held(const std::string& path);

  // True if the path still names the file that we hold. If not, another process can hold the path.
  [[nodiscard]] bool is_in_place() const noexcept;

  // The descriptor that carries the lock, still owned by this object; -1 if not held.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] bool held() const noexcept { return fd_.valid(); }
  // Closes our descriptor; the lock ends with the last duplicate.
  void close() noexcept { fd_.reset(); }

 private:
  LockFile(UniqueFd fd, std::string path) noexcept : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace beeline::os
