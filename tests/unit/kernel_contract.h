#pragma once
// The tests of the kernel's contract print one line for each fact: it holds, it fails, or it was
// not tried and why.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>

#include "os_test_support.h"

namespace beeline::os {

inline constexpr std::size_t kContractPage = 4096;
inline constexpr std::size_t kContractBytes = 16 * kContractPage;
inline void fact(const std::string& sentence, bool holds, const std::string& found = "") {
  std::cout << (holds ? "  holds  " : "  FAILS  ") << sentence << '\n';
  EXPECT_TRUE(holds) << "this kernel behaves differently: " << sentence
                     << (found.empty() ? "" : "; found: ") << found
                     << "; see what in docs/ rests on it before it is allowed";
}

// For facts that need more rights than this user or another kernel. scripts/run-tests shows these
// lines.
inline void not_tried(const std::string& sentence, const std::string& why) {
  std::cout << "NOT TRIED " << why << ": " << sentence << '\n';
}

// The call must fail with one of these errors.
inline void refused(const std::string& sentence, long result, std::initializer_list<int> errors) {
  const int sys_errno = errno;
  const bool holds =
      result < 0 && std::find(errors.begin(), errors.end(), sys_errno) != errors.end();
  fact(sentence, holds, result < 0 ? std::strerror(sys_errno) : "it succeeded");
}

inline std::byte* map_shared(int fd, int protection) {
  void* const at = ::mmap(nullptr, kContractBytes, protection, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}
inline long tries_to_map(int fd, int protection, int flags) {
  void* const at = ::mmap(nullptr, kContractBytes, protection, flags, fd, 0);
  return at == MAP_FAILED ? -1 : 0;
}

inline UniqueFd reopen(int fd, int flags) {
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_CLOEXEC));
}

// A file in memory and its owner's writable mapping, not sealed.
struct Memory {
  Memory() : fd(::memfd_create("contract", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(fd.get(), kContractBytes), 0);
    EXPECT_EQ(::fallocate(fd.get(), 0, 0, kContractPage), 0);
    at = map_shared(fd.get(), PROT_READ | PROT_WRITE);
    EXPECT_NE(at, nullptr);
  }
  ~Memory() { ::munmap(at, kContractBytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] long blocks() const {
    struct stat status {};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return status.st_blocks;
  }
  [[nodiscard]] std::atomic<std::uint32_t>& word(std::size_t index = 0) const {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(at)[index];
  }
  UniqueFd fd;
  std::byte* at = nullptr;
};

// A child that runs `body` and ends; its wait status.
inline int status_of_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    // These signals are expected, so no report of them is wanted.
    for (const int number : {SIGBUS, SIGSEGV}) ::signal(number, SIG_DFL);
    body();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}
inline bool dies_of(int number, const std::function<void()>& body) {
  const int status = status_of_child(body);
  return WIFSIGNALED(status) && WTERMSIG(status) == number;
}

}  // namespace beeline::os
