// beeline-fuzz TARGET [--runs N] [--seed N] [--only N] [FILE...]

#include "tests/fuzz/driver.h"

namespace beeline::fuzz {
namespace {

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--runs" && has_value) {
      options.runs = std::stoull(argv[++i]);
    } else if (word == "--seed" && has_value) {
      options.seed = std::stoull(argv[++i]);
    } else if (word == "--only" && has_value) {
      options.only = std::stoll(argv[++i]);
    } else if (options.target.empty()) {
      options.target = word;
    } else {
      options.files.push_back(word);
    }
  }
  return options;
}

}  // namespace
}  // namespace beeline::fuzz

int main(int argc, char** argv) { return beeline::fuzz::run(beeline::fuzz::parse(argc, argv)); }
