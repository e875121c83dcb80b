#include "src/control/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "src/control/name_search.h"
#include "src/control/quotes.h"

namespace beeline::control {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that nobody sees, that change how their neighbours look, or that mean nothing outside
// of one program: two names could differ by them alone. Rising. A blank is allowed between others.
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

bool is_visible(char32_t code) {
  if ((code & 0xfffe) == 0xfffe) return false;  // the last two of each plane are no characters
  return std::none_of(kNotVisible.begin(), kNotVisible.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

struct CodePoint {
  char32_t code = 0;
  std::size_t length = 0;  ///< bytes
};

/// What the UTF-8 at the start of `text` says; nothing for overlong forms, surrogates and numbers
/// beyond U+10FFFF. REQUIRES: `text` is not empty.
std::optional<CodePoint> first_of(std::string_view text) {
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

constexpr std::string_view kRule =
    "a name is UTF-8 of visible characters, without '/' and without a blank at either end";

tl::unexpected<Error> wrong(std::string_view role, std::string_view text, std::size_t at,
                            std::string_view what) {
  return fail(ErrorCode::kInvalid, fmt::format("the {} has {} at byte {}, after {}: {}", role, what,
                                               at, in_quotes(text.substr(0, at)), kRule));
}

/// A sign and digits: it would look like a pid.
bool looks_like_a_number(std::string_view name) {
  const bool has_sign = name.front() == '+' || name.front() == '-';
  return is_number(name.substr(has_sign ? 1 : 0));
}

}  // namespace

Result<void> check_utf8(std::string_view role, std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto next = first_of(text.substr(i));
    if (!next) {
      return wrong(
          role, text, i,
          fmt::format("byte 0x{:02x}, which is no UTF-8,", static_cast<unsigned char>(text[i])));
    }
    i += next->length;
  }
  return {};
}

Result<void> check_agent_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return fail(ErrorCode::kInvalid,
                fmt::format("the name has {} bytes, 1 to {} are allowed: take another one",
                            name.size(), kMaxNameBytes));
  }
  if (auto good = check_utf8("name", name); !good) return good;
  for (std::size_t i = 0; i < name.size();) {
    const CodePoint next = *first_of(name.substr(i));
    const bool at_end = i == 0 || i + next.length == name.size();
    if (!is_visible(next.code) || next.code == '/' || (next.code == ' ' && at_end)) {
      return wrong("name", name, i, fmt::format("U+{:04X}", static_cast<std::uint32_t>(next.code)));
    }
    i += next.length;
  }
  if (looks_like_a_number(name)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an agent cannot be named \"{}\": a number always means the pid of an "
                            "agent; add a letter",
                            name));
  }
  if (name.starts_with(kQueuePrefix)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an agent cannot be named \"{}\": what begins with \"{}\" means a "
                            "named queue; leave that out",
                            name, kQueuePrefix));
  }
  return {};
}

Result<void> check_target(std::string_view target) {
  if (auto text = check_utf8("receiver", target); !text) return text;
  if (!target.starts_with(kQueuePrefix)) return {};
  return fail(ErrorCode::kNoRoute,
              fmt::format("no queue \"{}\": this version has no named queues; send to an agent, "
                          "by name or pid (`beeline tree` shows who is there)",
                          target.substr(kQueuePrefix.size())));
}

Result<void> check_hive_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxHiveBytes) {
    return fail(ErrorCode::kInvalid, fmt::format("name of a hive has {} bytes, 1 to {} are allowed",
                                                 name.size(), kMaxHiveBytes));
  }
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (name.find_first_not_of(kAllowed) != std::string_view::npos || name.front() == '.') {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("hive \"{}\": the name of a hive consists of A-Z a-z 0-9 . _ - and does "
                    "not start with a dot",
                    name));
  }
  return {};
}

}  // namespace beeline::control
