// The same targets under libFuzzer: $BEELINE_FUZZ_TARGET names the target. Preset `fuzz`. Its seeds
// (seeds.cc) are written into $BEELINE_FUZZ_SEEDS first, if that names a folder.

#include <filesystem>
#include <fstream>

#include "tests/fuzz/target.h"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const std::filesystem::path folder = variable("BEELINE_FUZZ_SEEDS");
  if (folder.empty()) return 0;
  for (const auto& [name, input] : beeline::fuzz::seeds_of(variable("BEELINE_FUZZ_TARGET"))) {
    std::ofstream file(folder / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
    if (file) continue;
    std::fprintf(stderr, "beeline-fuzz: cannot write a seed into %s\n", folder.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const beeline::fuzz::TargetFunction target = [] {
    const auto found = beeline::fuzz::find_target(variable("BEELINE_FUZZ_TARGET"));
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
