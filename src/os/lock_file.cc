#include "src/os/lock_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "src/os/error.h"
#include "src/os/file_identity.h"
#include "src/os/memfd.h"

namespace beeline::os {
namespace {

constexpr std::size_t kMaxTextBytes = 64 * 1024;
constexpr int kAcquireTries = 100;

struct flock whole_file() noexcept {
  struct flock whole {};  // zeros: all of the file, and no pid as F_OFD_SETLK demands
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

Error held_error(const std::string& path, int sys_errno) {
  const auto text = LockFile::read_text(path);
  const std::string holder = text && !text->empty() ? *text : "(nothing)";
  return system_error(ErrorCode::kAlreadyRunning, sys_errno,
                      "lock '" + path + "': another process holds it and wrote: " + holder +
                          "; use that one, or end it first");
}

tl::unexpected<Error> about(const std::string& what, Error error) {
  error.text = what + ": " + error.text;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<LockFile> LockFile::acquire(const std::string& path) {
  for (int attempt = 0; attempt < kAcquireTries; ++attempt) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return system_failure("open lock file '" + path + "'");
    // A process that may read the file can queue for a lock on it and get that when ours ends.
    if (::fchmod(fd.get(), 0600) != 0) return system_failure("lock file '" + path + "'");
    struct flock whole = whole_file();
    if (::fcntl(fd.get(), F_OFD_SETLK, &whole) != 0) {
      const int sys_errno = errno;
      if (sys_errno == EAGAIN || sys_errno == EACCES) {
        return tl::unexpected<Error>(held_error(path, sys_errno));
      }
      return system_failure(ErrorCode::kSystem, sys_errno, "lock '" + path + "'");
    }
    // If another process removed or replaced the file between our open and our lock, the lock is on
    // a file that no process will find.
    if (is_at(path, fd.get())) return LockFile(std::move(fd), path);
  }
  return fail(ErrorCode::kSystem, "lock '" + path + "': the file was removed " +
                                      std::to_string(kAcquireTries) +
                                      " times while we took it; find out who removes it");
}

Result<bool> LockFile::is_held(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid() && errno == ENOENT) return false;
  if (!fd.valid()) return system_failure("open lock file '" + path + "'");
  struct flock whole = whole_file();
  if (::fcntl(fd.get(), F_OFD_GETLK, &whole) == 0) return whole.l_type != F_UNLCK;
  return system_failure("ask who holds the lock '" + path + "'");
}

bool LockFile::is_in_place() const noexcept { return held() && is_at(path_, fd_.get()); }

Result<void> LockFile::write_text(std::string_view text) {
  if (!held()) return fail(ErrorCode::kClosed, "write lock file: it is not held");
  if (auto written = write_at(fd_.get(), 0, std::as_bytes(std::span(text))); !written) {
    return about("lock file '" + path_ + "'", std::move(written.error()));
  }
  if (::ftruncate(fd_.get(), static_cast<off_t>(text.size())) == 0) return {};
  return system_failure("cut lock file '" + path_ + "'");
}

Result<std::string> LockFile::read_text(const std::string& path) {
  // O_NONBLOCK: opening does not wait, whatever kind of file it is.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return system_failure("open lock file '" + path + "'");
  std::string text(kMaxTextBytes, '\0');
  auto length = read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)));
  if (!length) return about("lock file '" + path + "'", std::move(length.error()));
  text.resize(*length);
  return text;
}

}  // namespace beeline::os
