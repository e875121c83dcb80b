#include "tests/fuzz/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/target.h"

namespace beeline::fuzz {
namespace {

// The inputs of packed files, and other files as they are.
std::vector<Input> read_corpus(const std::vector<std::string>& files) {
  std::vector<Input> inputs;
  for (const std::string& file : files) {
    if (file.ends_with(kPacked)) {
      const std::vector<Input> packed = read_packed(file);
      inputs.insert(inputs.end(), packed.begin(), packed.end());
      continue;
    }
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "beeline-fuzz: cannot read %s\n", file.c_str());
      std::exit(2);
    }
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// Numbers that sit on the edges of fields.
std::uint64_t edge(std::mt19937_64& random) {
  constexpr std::uint64_t kEdges[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff};
  const std::uint64_t some = kEdges[random() % std::size(kEdges)];
  return random() % 4 == 0 ? ~some : some;
}

Input mutate(const std::vector<Input>& corpus, std::mt19937_64& random) {
  Input input;
  if (!corpus.empty() && random() % 8 != 0) input = corpus[random() % corpus.size()];
  const std::size_t changes = 1 + random() % 8;
  if (input.empty()) {
    input.resize(1 + random() % 2048);
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
  }
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = random() % input.size();
    switch (random() % 5) {
      case 0:
        input[at] = static_cast<std::uint8_t>(random());
        break;
      case 1: {
        const std::uint64_t value = edge(random);
        std::memcpy(&input[at], &value, std::min<std::size_t>(8, input.size() - at));
        break;
      }
      case 2:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + random() % 16,
                     static_cast<std::uint8_t>(random()));
        break;
      case 3:
        input.resize(at + 1);
        break;
      default:
        if (!corpus.empty()) {
          const Input& other = corpus[random() % corpus.size()];
          input.insert(input.end(), other.begin(), other.end());
        }
    }
  }
  input.resize(std::min(input.size(), kMaxInput));
  return input;
}

}  // namespace

int run(const Options& options) {
  const TargetFunction target = find_target(options.target);
  if (target == nullptr) {
    std::fprintf(stderr, "no target \"%s\"; there are:\n", options.target.c_str());
    list_targets();
    return 2;
  }
  std::vector<Input> corpus = read_corpus(options.files);
  for (auto& [name, input] : seeds_of(options.target)) corpus.push_back(std::move(input));
  std::printf("%s: %zu inputs of the corpus, then %llu mutations from seed %llu\n",
              options.target.c_str(), corpus.size(), static_cast<unsigned long long>(options.runs),
              static_cast<unsigned long long>(options.seed));
  if (options.only < 0) {
    for (const Input& input : corpus) target(input);
  }
  for (std::uint64_t i = 0; i < options.runs; ++i) {
    if (options.only >= 0 && i != static_cast<std::uint64_t>(options.only)) continue;
    // The last line of a run that breaks off shows its present input.
    std::printf("\r--seed %llu --only %llu", static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(i));
    std::fflush(stdout);
    std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15ULL + i);
    target(mutate(corpus, random));
  }
  std::printf("\ndone\n");
  return 0;
}

}  // namespace beeline::fuzz
