#pragma once
// A fuzz target takes bytes and must end. It makes further demands with FUZZ_DEMAND, which ends the
// program in every build.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beeline::fuzz {

using Bytes = std::span<const std::uint8_t>;
using Input = std::vector<std::uint8_t>;
using TargetFunction = void (*)(Bytes);

// Longest input: the first two pages of a segment, and a byte. The input reaches later parts of a
// longer segment by offset: scribble().
inline constexpr std::size_t kMaxInput = 2 * 4096 + 1;

// Null if there is no target of that name.
[[nodiscard]] TargetFunction find_target(std::string_view name);
// The names of all targets, one per line.
void list_targets();

// The seeds of a target besides its corpus: sound inputs and single lies, with descriptive names.
// They are made, not stored, so that they follow the layout and the packets.
[[nodiscard]] std::map<std::string, Input> seeds_of(std::string_view target);

struct TargetRegistration {
  TargetRegistration(const char* name, TargetFunction function);
};

// BEELINE_FUZZ_TARGET(link) { ... input ... }
#define BEELINE_FUZZ_TARGET(name)                                                         \
  void target_##name(beeline::fuzz::Bytes input);                                         \
  const beeline::fuzz::TargetRegistration kRegister_target_##name(#name, &target_##name); \
  void target_##name([[maybe_unused]] beeline::fuzz::Bytes input)

#define FUZZ_DEMAND(what)                                                                  \
  do {                                                                                     \
    if (!(what)) {                                                                         \
      std::fprintf(stderr, "%s:%d: demanded and not so: %s\n", __FILE__, __LINE__, #what); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

// Consumes an input; after its end everything is zero.
class Feed {
 public:
  explicit Feed(Bytes input) : rest_(input) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  template <typename T>
  [[nodiscard]] T take() {
    T value{};
    const std::size_t count = std::min(sizeof(T), rest_.size());
    if (count != 0) std::memcpy(&value, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
  }
  [[nodiscard]] std::uint32_t below(std::uint32_t limit) { return take<std::uint32_t>() % limit; }
  [[nodiscard]] Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
};

// Writes where no owner would: as many writes as the feed has, but not more than `most`. `bytes` is
// a segment.
void scribble(Feed& feed, std::span<std::byte> bytes, std::size_t most);

}  // namespace beeline::fuzz
