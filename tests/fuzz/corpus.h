#pragma once
// The corpus of a target: inputs that libFuzzer has found, packed into one file of text. A line is
// one input, two hexadecimal digits for each byte.

#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace beeline::fuzz {

inline constexpr std::string_view kPacked = ".hex";

// Ends the program if the file cannot be read or a line is no input.
[[nodiscard]] std::vector<Input> read_packed(const std::string& path);

}  // namespace beeline::fuzz
