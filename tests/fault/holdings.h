#pragma once
// The resources of a process, as the kernel reports them: descriptors, mappings, memory.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace beeline::test {

struct Holdings {
  std::size_t fds = 0;
  std::size_t mappings = 0;
  std::size_t private_kib = 0;  // resident memory that is its own: heap and stack
  std::size_t segment_kib = 0;  // memory of the segments that its descriptors name, each once
};

// All zero if there is no such process.
[[nodiscard]] Holdings holdings_of(pid_t process);

[[nodiscard]] std::string describe(const Holdings& holdings);

// The counts that a leak would raise, here and in the hive.
struct Leftovers {
  std::size_t fds = 0;       // of this process
  std::size_t segments = 0;  // mappings of them in this process; a link has several for each end
  std::size_t links = 0;     // links that their ends here have mapped, each end once
  std::size_t keeper_fds = 0;
  std::size_t coordinator_fds = 0;
  bool operator==(const Leftovers&) const = default;
  // Whether nothing has grown.
  [[nodiscard]] bool fits(const Leftovers& most) const {
    return fds <= most.fds && segments <= most.segments && links <= most.links &&
           keeper_fds <= most.keeper_fds && coordinator_fds <= most.coordinator_fds;
  }
};

inline constexpr std::size_t kMany = 1'000'000;
inline constexpr Leftovers kAnyLeftovers{kMany, kMany, kMany, kMany, kMany};
[[nodiscard]] Leftovers operator+(const Leftovers& one, const Leftovers& other);
[[nodiscard]] Leftovers least_of(const Leftovers& one, const Leftovers& other);
[[nodiscard]] Leftovers leftovers_of(pid_t keeper, pid_t coordinator);
[[nodiscard]] std::string describe(const Leftovers& left);

}  // namespace beeline::test
