// Feeds the invariant walkers with hostile segments: the input itself, and a sound segment into
// which the input writes. A walk must stay inside and end; what it finds does not matter.
//
//   cmake -B build-fuzz -DCMAKE_CXX_COMPILER=clang++-14 -DBEELINE_FUZZ=ON
//   cmake --build build-fuzz --target verify_fuzz && build-fuzz/bin/verify_fuzz -max_total_time=60

#include <array>
#include <vector>

#include "shm/verify.h"
#include "tests/unit/verify_samples.h"

namespace {

using beeline::shm::Taken;
using beeline::test::Sample;

/// One write into a sound segment, as the input spells it.
struct Write {
  std::uint32_t at;
  std::uint32_t width;
  std::uint64_t value;
};

void look(std::span<const std::byte> bytes) {
  for (const Taken taken : {Taken::kAfterDeath, Taken::kAtRest, Taken::kWhileLive}) {
    static_cast<void>(beeline::shm::verify_segment(bytes, taken));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::array<Sample, 4> sound = {beeline::test::sample_link(), beeline::test::sample_home(),
                                        beeline::test::sample_status(),
                                        beeline::test::sample_directory()};
  static std::array<Sample, 4> samples = sound;
  look(std::as_bytes(std::span(data, size)));
  if (size == 0) return 0;
  const std::size_t which = data[0] % samples.size();
  const std::span<std::byte> bytes = samples[which].bytes();
  std::vector<std::pair<std::size_t, std::size_t>> written;
  for (std::size_t at = 1; at + sizeof(Write) <= size; at += sizeof(Write)) {
    Write write;
    std::memcpy(&write, data + at, sizeof(write));
    const std::size_t offset = write.at % bytes.size();
    const std::size_t width = std::min<std::size_t>(1U << write.width % 4, bytes.size() - offset);
    std::memcpy(bytes.data() + offset, &write.value, width);
    written.emplace_back(offset, width);
  }
  look(bytes);
  for (const auto& [offset, width] : written) {
    std::memcpy(bytes.data() + offset, sound[which].data() + offset, width);
  }
  return 0;
}
