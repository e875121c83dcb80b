#pragma once
// Payloads that prove themselves: sender, receiver, number, and a body that follows from these.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace beeline::test {

struct PayloadHead {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint64_t sequence = 0;
  std::uint64_t checksum = 0;  // of the fields above, the length and the body
};
static_assert(sizeof(PayloadHead) == 24);

// A number that looks random and depends only on `seed`.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed) {
  seed += 0x9e3779b97f4a7c15ULL;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebULL;
  return seed ^ (seed >> 31);
}

[[nodiscard]] inline std::uint64_t checksum_of(const PayloadHead& head, std::size_t length,
                                               std::span<const std::byte> body) {
  std::uint64_t sum = mix(head.sequence ^ (std::uint64_t{head.sender} << 32 | head.receiver));
  sum = mix(sum ^ length);
  std::size_t at = 0;
  for (; at + 8 <= body.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, body.data() + at, 8);
    sum = (sum ^ word) * 0x100000001b3ULL;
  }
  for (; at < body.size(); ++at) {
    sum = (sum ^ std::to_integer<std::uint64_t>(body[at])) * 0x100000001b3ULL;
  }
  return sum;
}

// Writes a payload over all of `to`. REQUIRES: it holds at least a head.
inline void write_payload(std::span<std::byte> to, PayloadHead head) {
  const auto body = to.subspan(sizeof(PayloadHead));
  std::uint64_t word = mix(head.sequence + head.sender);
  for (std::size_t at = 0; at < body.size(); at += 8) {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(body.data() + at, &word, body.size() - at < 8 ? body.size() - at : 8);
  }
  head.checksum = checksum_of(head, to.size(), body);
  std::memcpy(to.data(), &head, sizeof(head));
}

// The head of a payload that proves itself; nothing for any other payload.
[[nodiscard]] inline std::optional<PayloadHead> read_payload(std::span<const std::byte> from) {
  PayloadHead head;
  if (from.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, from.data(), sizeof(head));
  const auto body = from.subspan(sizeof(head));
  if (head.checksum != checksum_of(head, from.size(), body)) return std::nullopt;
  return head;
}

// A mix of lengths: most lie in the lane, some in slabs of each of the three small classes.
[[nodiscard]] constexpr std::size_t mixed_length(std::uint64_t random) {
  const std::uint64_t kind = random % 100;
  const std::uint64_t more = random >> 16;
  if (kind < 75) return sizeof(PayloadHead) + more % 41;  // up to 64
  if (kind < 95) return 65 + more % 960;
  if (kind < 99) return 1025 + more % 7000;
  return 8193 + more % 50000;
}

}  // namespace beeline::test
