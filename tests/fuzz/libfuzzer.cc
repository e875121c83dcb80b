// The same targets under libFuzzer: $BEELINE_FUZZ_TARGET says which one. Preset `fuzz`. If
// $BEELINE_FUZZ_SEEDS names a folder, the program first writes there the inputs to start from:
// those of seeds.cc, and those of the packed file that $BEELINE_FUZZ_CORPUS names.

#include <filesystem>
#include <fstream>

#include "tests/fuzz/corpus.h"
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
  auto inputs = beeline::fuzz::seeds_of(variable("BEELINE_FUZZ_TARGET"));
  if (const std::string corpus = variable("BEELINE_FUZZ_CORPUS"); !corpus.empty()) {
    for (auto& input : beeline::fuzz::read_packed(corpus)) {
      inputs.emplace("corpus-" + std::to_string(inputs.size()), std::move(input));
    }
  }
  for (const auto& [name, input] : inputs) {
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
