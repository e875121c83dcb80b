#pragma once
// Type and channel names, interned once for each link. The owner writes a string, then raises
// `string_count`; slots carry the number. Number 0 is the empty string. A string is a length byte
// and up to 31 bytes of UTF-8. A message carries both at the end of its slab if one of them has no
// place in the table.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "shm/check.h"
#include "shm/link.h"

namespace beeline::shm {

inline constexpr std::size_t kMaxStringLength = kStringBytes - 1;

struct StringCopy {
  unsigned char length = 0;
  char text[kMaxStringLength] = {};
  [[nodiscard]] std::string_view view() const { return {text, length}; }
};
static_assert(sizeof(StringCopy) == kStringBytes);

[[nodiscard]] inline StringCopy to_string_copy(std::string_view text) {
  BEELINE_CHECK(text.size() <= kMaxStringLength, text.size());
  StringCopy copy;
  copy.length = static_cast<unsigned char>(text.size());
  std::copy(text.begin(), text.end(), copy.text);
  return copy;
}

// Appends a string and returns its number, or 0 when the table is full or the text too long.
// REQUIRES: the strings of the link are allocated.
inline std::uint32_t append_string(const Link& link, std::string_view text) {
  const std::uint32_t count = link.control().string_count.relaxed_load();
  if (count >= kMaxStrings || text.size() > kMaxStringLength) return 0;
  link.string(count + 1).store(to_string_copy(text));
  // SYNC(link.strings): release, pairs with the observe of string_count before read_string().
  link.control().string_count.publish(count + 1);
  return count + 1;
}

// A private copy of a string. REQUIRES: number <= a string_count that was observed and verified. A
// length that is too large is cut to the size of the field.
template <typename T>
[[nodiscard]] StringCopy read_string(const BasicLink<T>& link, std::uint32_t number) {
  auto copy = link.string(number).template load<StringCopy>();
  if (copy.length > kMaxStringLength) copy.length = kMaxStringLength;
  return copy;
}

// The type and channel that a message carries itself.
struct CarriedTexts {
  StringCopy type;
  StringCopy channel;
};
static_assert(sizeof(CarriedTexts) == kCarriedBytes);

// Writes them at the end of a slab. REQUIRES: the payload of the slab leaves room
// for them.
inline void carry_texts(const Link& link, SlabIndex slab, std::string_view type,
                        std::string_view channel) {
  const CarriedTexts texts{to_string_copy(type), to_string_copy(channel)};
  std::memcpy(link.carried(slab), &texts, sizeof(texts));
}

// A private copy of the carried texts. A length that is too large is cut to the size of the field.
// REQUIRES: the window of the slab was shown.
template <typename T>
[[nodiscard]] CarriedTexts read_carried(const BasicLink<T>& link, SlabIndex slab) {
  CarriedTexts texts;
  std::memcpy(&texts, link.carried(slab), sizeof(texts));
  for (StringCopy* const text : {&texts.type, &texts.channel}) {
    if (text->length > kMaxStringLength) text->length = kMaxStringLength;
  }
  return texts;
}

}  // namespace beeline::shm
