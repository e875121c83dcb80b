#pragma once
// The fate of each message before the swept operation, and after it. At every instruction in
// between it must be one of the two.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shm/entry.h"

namespace beeline::killpoints {

// The fate of a message with the next life of the receiver.
struct Fate {
  enum class Kind : std::uint8_t {
    kUnsent,  // never seen
    kLive,    // delivered once; detail: earlier deliveries that ended without done
    kDead,    // a dead letter; detail: DeadReason
    kGone,    // done, and never seen again
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
// The fate of a message that is delivered and not done.
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
  std::uint16_t flags = 0;  // flags of its send
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
  // Null if there is no such message.
  [[nodiscard]] Message* find(std::uint64_t id);
  [[nodiscard]] std::size_t place(const Message& message) const {
    return static_cast<std::size_t>(&message - messages_.data());
  }
  [[nodiscard]] Fates fates() const;

 private:
  std::vector<Message> messages_;
};

// The id of a message determines its payload, so that every byte can be checked.
void fill_payload(std::uint64_t id, std::byte* to, std::size_t length);
[[nodiscard]] bool is_payload(std::uint64_t id, const std::byte* found, std::size_t length);

}  // namespace beeline::killpoints
