#pragma once
// What a scenario knows of each message: what has become of it before the operation that is swept,
// and after it. At every instruction in between it must be one of the two.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shm/entry.h"

namespace beeline::killpoints {

// What the next life of the receiver makes of a message.
struct Fate {
  enum class Kind : std::uint8_t {
    kUnsent,  // nobody ever sees it
    kLive,    // it is delivered, once; detail: deliveries before that ended without done
    kDead,    // it is a dead letter; detail: DeadReason
    kGone,    // it was done, and is never seen again
  };
  Kind kind = Kind::kUnsent;
  std::uint8_t detail = 0;
  friend constexpr bool operator==(const Fate&, const Fate&) = default;
};

inline constexpr Fate kUnsent{};
inline constexpr Fate kGone{Fate::Kind::kGone, 0};
[[nodiscard]] constexpr Fate live(std::uint8_t attempts = 0) {
  return {Fate::Kind::kLive, attempts};
}
[[nodiscard]] constexpr Fate dead(shm::DeadReason reason) {
  return {Fate::Kind::kDead, static_cast<std::uint8_t>(reason)};
}
inline constexpr std::uint8_t kMostAttempts = 3;
// What becomes of a message that is delivered and not done.
[[nodiscard]] constexpr Fate leased(Fate fate) {
  if (fate.kind != Fate::Kind::kLive) return fate;
  const auto attempts = static_cast<std::uint8_t>(fate.detail + 1);
  return attempts < kMostAttempts ? live(attempts) : dead(shm::DeadReason::kExhausted);
}
[[nodiscard]] std::string to_string(Fate fate);

struct Message {
  std::uint64_t id = 0;
  std::uint32_t length = 0;
  std::int32_t rank = shm::kRankNormal;
  std::uint16_t flags = 0;  // that it was sent with
  Fate fate;
};

inline constexpr std::size_t kMostMessages = 96;
using Fates = std::array<Fate, kMostMessages>;

class Ledger {
 public:
  Message& add(const Message& message);
  [[nodiscard]] std::vector<Message>& messages() { return messages_; }
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  // Null when no such message was ever thought of.
  [[nodiscard]] Message* find(std::uint64_t id);
  [[nodiscard]] std::size_t place(const Message& message) const {
    return static_cast<std::size_t>(&message - messages_.data());
  }
  [[nodiscard]] Fates fates() const;

 private:
  std::vector<Message> messages_;
};

// The payload of a message follows from its id, so that whoever sees it can tell every byte.
void fill_payload(std::uint64_t id, std::byte* to, std::size_t length);
[[nodiscard]] bool is_payload(std::uint64_t id, const std::byte* found, std::size_t length);

}  // namespace beeline::killpoints
