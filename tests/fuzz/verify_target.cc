// The invariant walkers over hostile segments: the input itself, and a sound segment that the input
// writes into. A walk must stay inside and end; its findings do not matter.

#include <array>

#include "shm/verify.h"
#include "tests/fuzz/target.h"
#include "tests/unit/verify_samples.h"

namespace beeline::fuzz {
namespace {

void walk(std::span<const std::byte> bytes) {
  for (const shm::Taken taken :
       {shm::Taken::kAfterDeath, shm::Taken::kAtRest, shm::Taken::kWhileLive}) {
    (void)shm::verify_segment(bytes, taken);
  }
}

BEELINE_FUZZ_TARGET(verify) {
  using test::Sample;
  static const std::array<Sample, 5> sound = {test::sample_link(), test::sample_home(),
                                              test::sample_status(), test::sample_directory(),
                                              test::sample_history()};
  walk(std::as_bytes(input));
  Feed feed(input);
  Sample sample = sound[feed.take<std::uint8_t>() % sound.size()];
  scribble(feed, sample.bytes(), 64);
  walk(sample.bytes());
}

}  // namespace
}  // namespace beeline::fuzz
