// The same targets under libFuzzer: $BEELINE_FUZZ_TARGET says which one. Preset `fuzz`.

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const beeline::fuzz::TargetFunction target = [] {
    const char* name = std::getenv("BEELINE_FUZZ_TARGET");
    const auto found = beeline::fuzz::find_target(name == nullptr ? "" : name);
    if (found == nullptr) {
      std::fputs("set BEELINE_FUZZ_TARGET to one of:\n", stderr);
      beeline::fuzz::list_targets();
      std::exit(2);
    }
    return found;
  }();
  target({data, size});
  return 0;
}
