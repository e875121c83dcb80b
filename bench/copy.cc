#include "bench/copy.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "src/os/clock.h"

namespace beeline::bench {

void time_copies(std::size_t bytes, double seconds, Histogram& histogram) {
  const std::size_t copies = copied_per_clock(bytes) / bytes;
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes);
  std::int64_t begin = os::monotonic_ns();
  for (const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9); begin < end;) {
    for (std::size_t i = 0; i < copies; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
    const std::int64_t now = os::monotonic_ns();
    histogram.record(now - begin);
    begin = now;
  }
}

}  // namespace beeline::bench
