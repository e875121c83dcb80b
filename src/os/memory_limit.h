#pragma once

// The limits on a segment's memory: the machine, the memory cgroups of this process (both
// versions), and the limit on the size of a file. When one of them is exceeded the kernel does not
// refuse: it kills. So we look first.

#include <cstdint>
#include <optional>
#include <string>

namespace beeline::os {

// The memory that a segment leaves to the rest of the machine, or of a large memory cgroup.
inline constexpr std::uint64_t kReserveBytes = 32 << 20;

class MemoryLimit {
 public:
  // Finds the mount points of cgroups. Everything is read below `root`: "" outside of tests.
  explicit MemoryLimit(std::string root = "");

  // Says why `bytes` more of memory would be too much: the limit that would leave the least, in
  // numbers and with its path. Nothing: the memory can be had, as far as we can tell. A cgroup
  // keeps a sixteenth of its limit, at most kReserveBytes; its page cache counts as free. A limit
  // that cannot be read counts as none. Reads everything anew, because a process may be moved and
  // a limit changed.
  [[nodiscard]] std::optional<std::string> refusal(std::uint64_t bytes) const;

  // The mount point of one cgroup version, and the cgroup that is shown there.
  struct Mount {
    std::string point;
    std::string root;
  };

 private:
  std::string root_;
  std::optional<Mount> version1_;
  std::optional<Mount> version2_;
};

// Says why a file of this process must not become so long: RLIMIT_FSIZE, `ulimit -f`. Nothing: it
// may.
[[nodiscard]] std::optional<std::string> file_size_refusal(std::uint64_t bytes);

}  // namespace beeline::os
