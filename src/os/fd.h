#pragma once

#include <utility>

#include <beeline/result.h>

namespace beeline::os {

/// The numbers below are the standard streams'. They stay theirs while the program has closed them:
/// whoever writes to a stream then writes to what has its number.
inline constexpr int kFirstFd = 3;

/// Owns one file descriptor and closes it. Moved-from and default objects own none (-1). It never
/// owns a number below kFirstFd: one that it is given is moved up, closed on exec, before it is
/// used for anything, so get() may be another number than was given. Where none is free it owns
/// none and errno says why (EMFILE), as after the call that makes a descriptor.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  /// Takes ownership of `fd`; any negative value means none.
  explicit UniqueFd(int fd) noexcept : fd_(fd >= kFirstFd ? fd : move_up(fd)) {}
  ~UniqueFd() { reset(); }

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  /// The descriptor, still owned by this object; -1 if none.
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  /// Gives up ownership: the caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes what is owned and takes ownership of `fd`. `errno` is preserved.
  void reset(int fd = -1) noexcept;

 private:
  static int move_up(int fd) noexcept;

  int fd_ = -1;
};

/// A second descriptor of the same open file, closed on exec. The caller keeps `fd` and owns the
/// result. Errors: kSystem (EBADF, or EMFILE: raise the limit of open files).
[[nodiscard]] Result<UniqueFd> duplicate(int fd);

}  // namespace beeline::os
