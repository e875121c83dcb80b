#include "src/control/code_points.h"

#include <algorithm>
#include <array>

#include "shm/check.h"

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

// Characters that people do not see, that change how their neighbours look, or that mean nothing
// outside of one program: two names could differ by them alone. Rising. A blank is allowed between
// others.
constexpr std::array kNotVisible = {
    Range{0x0000, 0x001f},     // control
    Range{0x007f, 0x00a0},     // control, no-break space
    Range{0x00ad, 0x00ad},     // soft hyphen
    Range{0x034f, 0x034f},     // grapheme joiner
    Range{0x061c, 0x061c},     // Arabic letter mark
    Range{0x115f, 0x1160},     // Hangul fillers
    Range{0x1680, 0x1680},     // Ogham space
    Range{0x17b4, 0x17b5},     // Khmer inherent vowels
    Range{0x180b, 0x180f},     // Mongolian selectors
    Range{0x2000, 0x200f},     // spaces, zero width, directions
    Range{0x2028, 0x202f},     // separators, directions, narrow space
    Range{0x205f, 0x206f},     // space, joiners, directions
    Range{0x2800, 0x2800},     // empty Braille pattern
    Range{0x3000, 0x3000},     // ideographic space
    Range{0x3164, 0x3164},     // Hangul filler
    Range{0xe000, 0xf8ff},     // private use
    Range{0xfdd0, 0xfdef},     // no characters
    Range{0xfe00, 0xfe0f},     // variation selectors
    Range{0xfeff, 0xfeff},     // byte order mark
    Range{0xffa0, 0xffa0},     // half-width Hangul filler
    Range{0xfff0, 0xfffb},     // unassigned, annotations
    Range{0x13430, 0x1345f},   // Egyptian formats
    Range{0x1bca0, 0x1bca3},   // shorthand formats
    Range{0x1d159, 0x1d159},   // empty note head
    Range{0x1d173, 0x1d17a},   // musical formats
    Range{0xe0000, 0xe0fff},   // tags, variation selectors
    Range{0xf0000, 0x10ffff},  // private use
};

}  // namespace

std::optional<CodePoint> first_code_point(std::string_view text) {
  BEELINE_CHECK(!text.empty());
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

bool is_visible(char32_t code) {
  if ((code & 0xfffe) == 0xfffe) return false;  // the last two of each plane are no characters
  return std::none_of(kNotVisible.begin(), kNotVisible.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

}  // namespace beeline::control
