#pragma once
// The kernel's figures for a process: time on CPUs, memory, descriptors, all read from outside.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include <beeline/result.h>

namespace beeline::bench {

// Nanoseconds that all threads of a process have run. Errors: kSystem (it has ended).
[[nodiscard]] Result<std::int64_t> cpu_ns_of(pid_t process);

struct Footprint {
  std::uint64_t resident_kib = 0;  // of the process image, shared pages included
  std::uint64_t page_table_kib = 0;
  std::size_t fds = 0;
  std::size_t mappings = 0;  // of segments
};
[[nodiscard]] Footprint footprint_of(pid_t process);

// Memory of all segments that a process holds descriptors of, each counted once, in KiB.
[[nodiscard]] std::uint64_t segment_kib_of(pid_t process);

}  // namespace beeline::bench
