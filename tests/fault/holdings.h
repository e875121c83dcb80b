#pragma once
// What a leak would raise.

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace beeline::test {

struct Holdings {
  std::size_t descriptors = 0;  // of this process
  std::size_t segments = 0;     // mapped by this process
  std::size_t of_keeper = 0;    // descriptors
  std::size_t of_coordinator = 0;
  bool operator==(const Holdings&) const = default;
};

[[nodiscard]] Holdings holdings_of(pid_t keeper, pid_t coordinator);
[[nodiscard]] std::string describe(const Holdings& held);

}  // namespace beeline::test
