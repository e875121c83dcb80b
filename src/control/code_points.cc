#include "src/control/code_points.h"

#include <algorithm>
#include <array>

namespace beeline::control {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kSteering = {
    Range{0x0000, 0x001f},    // control
    Range{0x007f, 0x009f},    // delete, control
    Range{0x00ad, 0x00ad},    // soft hyphen
    Range{0x034f, 0x034f},    // grapheme joiner
    Range{0x061c, 0x061c},    // Arabic letter mark
    Range{0x180e, 0x180e},    // Mongolian vowel separator
    Range{0x200b, 0x200f},    // zero width, directions
    Range{0x2028, 0x202e},    // separators, directions
    Range{0x2060, 0x206f},    // joiners, directions
    Range{0xfeff, 0xfeff},    // byte order mark
    Range{0xfff9, 0xfffb},    // annotations
    Range{0x1bca0, 0x1bca3},  // shorthand formats
    Range{0x1d173, 0x1d17a},  // musical formats
    Range{0xe0000, 0xe0fff},  // tags, variation selectors
};

}  // namespace

std::optional<CodePoint> first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return CodePoint{first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return std::nullopt;
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return std::nullopt;
  return CodePoint{code, length};
}

bool is_steering(char32_t code) {
  return std::any_of(kSteering.begin(), kSteering.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

}  // namespace beeline::control
