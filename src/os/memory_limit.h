#pragma once

// What stands between a segment and its memory: the machine, the memory cgroups of this process
// (both versions), and the limit on the size of a file. Where one of them is exceeded the kernel
// does not refuse: it kills. So we look first.

#include <cstdint>
#include <optional>
#include <string>

namespace beeline::os {

/// What a segment leaves to the rest of the machine, or of a memory cgroup that is large.
inline constexpr std::uint64_t kReserveBytes = 32 << 20;

class MemoryLimit {
 public:
  /// Looks where cgroups are mounted. Everything is read below `root`: "" outside of tests.
  explicit MemoryLimit(std::string root = "");

  /// Why `bytes` of memory more would be too much: the limit that would leave the least, in numbers
  /// and with its path. Nothing: they can be had, as far as anybody can tell. A cgroup keeps a
  /// sixteenth of its limit, kReserveBytes at most; its page cache counts as free. A limit that
  /// cannot be read is none. Reads everything anew: a process may be moved, and a limit be changed.
  [[nodiscard]] std::optional<std::string> refusal(std::uint64_t bytes) const;

  /// Where the cgroups of a version are mounted, and which of them is shown there.
  struct Mount {
    std::string point;
    std::string root;
  };

 private:
  std::string root_;
  std::optional<Mount> version1_;
  std::optional<Mount> version2_;
};

/// Why a file of this process must not become so long: RLIMIT_FSIZE, `ulimit -f`. Nothing: it may.
[[nodiscard]] std::optional<std::string> file_size_refusal(std::uint64_t bytes);

}  // namespace beeline::os
