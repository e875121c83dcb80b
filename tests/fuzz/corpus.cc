#include "tests/fuzz/corpus.h"

#include <charconv>
#include <fstream>

namespace beeline::fuzz {
namespace {

// Empty if the line is no input.
Input from_hex(const std::string& line) {
  if (line.size() % 2 != 0) return {};
  Input input(line.size() / 2);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const char* const digits = &line[2 * i];
    if (std::from_chars(digits, digits + 2, input[i], 16).ptr != digits + 2) return {};
  }
  return input;
}

}  // namespace

std::vector<Input> read_packed(const std::string& path) {
  std::vector<Input> inputs;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    inputs.push_back(from_hex(line));
    if (!inputs.back().empty()) continue;
    std::fprintf(stderr, "beeline-fuzz: %s:%zu is no input: two hexadecimal digits for each byte\n",
                 path.c_str(), inputs.size());
    std::exit(2);
  }
  if (!inputs.empty()) return inputs;
  std::fprintf(stderr, "beeline-fuzz: cannot read %s\n", path.c_str());
  std::exit(2);
}

}  // namespace beeline::fuzz
