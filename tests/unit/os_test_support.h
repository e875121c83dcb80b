#pragma once

// Helpers that the tests of src/os share.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/os/mapping.h"
#include "src/os/memfd.h"
#include "src/os/pid_fd.h"

namespace beeline::os {

using namespace std::chrono_literals;

constexpr std::uint64_t kSize = 1 << 20;
constexpr std::uint64_t kFirstExtent = 64 * 1024;
constexpr std::size_t kMaxPacket = 64 * 1024;
constexpr auto kLong = 10s;  // longer than anything here takes; never measured

// Whether a result has a value; if not, the failure shows the error text.
template <typename T>
testing::AssertionResult is_ok(const Result<T>& result) {
  if (result.has_value()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().text;
}

// Whether a result is an error of this kind with a text.
template <typename T>
testing::AssertionResult has_error(const Result<T>& result, ErrorCode expected) {
  if (result.has_value()) return testing::AssertionFailure() << "it succeeded";
  if (result.error().code == expected && !result.error().text.empty()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << to_string(result.error().code) << ": " << result.error().text;
}

inline int count_open_fds() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// A child that waits to be killed, and its pidfd. Killed and reaped by the destructor.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
    auto fd = open_pidfd(pid_);
    if (fd) pidfd_ = std::move(*fd);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  void reap() {
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
  UniqueFd pidfd_;
};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "beeline-os-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A segment as its owner makes it.
struct Segment {
  UniqueFd fd;
  Mapping mapping;
};

inline Result<Segment> make_segment() {
  auto fd = create_memfd("os-test", kSize);
  if (!fd) return tl::unexpected<Error>(fd.error());
  if (auto done = allocate(fd->get(), {0, kFirstExtent}); !done) {
    return tl::unexpected<Error>(done.error());
  }
  auto mapping = Mapping::map_writable(fd->get(), kSize);
  if (!mapping) return tl::unexpected<Error>(mapping.error());
  if (auto done = seal(fd->get()); !done) return tl::unexpected<Error>(done.error());
  return Segment{std::move(*fd), std::move(*mapping)};
}

}  // namespace beeline::os
