#pragma once

#include <utility>

#include <beeline/result.h>

namespace beeline::os {

// Lower numbers belong to the standard streams, even while the program has closed them: a write to
// a stream goes to the file that has its number.
inline constexpr int kFirstFd = 3;

// Owns one file descriptor and closes it. Moved-from and default objects own none (-1). A UniqueFd
// never owns a number below kFirstFd: the constructor moves such a descriptor up, closed on exec,
// before any use, so get() may differ from the number given. If no number is free, the object owns
// none and errno says why (EMFILE), as after the call that makes a descriptor.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  // Takes ownership of `fd`; any negative value means none.
  explicit UniqueFd(int fd) noexcept : fd_(fd >= kFirstFd ? fd : move_up(fd)) {}
  ~UniqueFd() { reset(); }

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  // The descriptor, still owned by this object; -1 if none.
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  // Gives up ownership: the caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  // Closes the owned descriptor and takes ownership of `fd`. `errno` is preserved.
  void reset(int fd = -1) noexcept;

 private:
  static int move_up(int fd) noexcept;

  int fd_ = -1;
};

// A second descriptor of the same open file, closed on exec. The caller keeps `fd` and owns the
// result. Errors: kSystem (EBADF, or EMFILE: raise the limit of open files).
[[nodiscard]] Result<UniqueFd> duplicate(int fd);

}  // namespace beeline::os
