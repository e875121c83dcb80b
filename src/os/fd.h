#pragma once

#include <utility>

#include <beeline/result.h>

namespace beeline::os {

/// Owns one file descriptor and closes it. Moved-from and default objects own none (-1).
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  /// Takes ownership of `fd`; any negative value means none.
  explicit UniqueFd(int fd) noexcept : fd_(fd < 0 ? -1 : fd) {}
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
  int fd_ = -1;
};

/// A second descriptor of the same open file, closed on exec. The caller keeps `fd` and owns the
/// result. Errors: kSystem (EBADF, or EMFILE: raise the limit of open files).
[[nodiscard]] Result<UniqueFd> duplicate(int fd);

}  // namespace beeline::os
