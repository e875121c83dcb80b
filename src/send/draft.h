#pragma once
// A message on its way into a link.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "shm/slab.h"
#include "shm/slot.h"

namespace beeline::send {

// The fields of a message besides its payload.
struct Envelope {
  std::int32_t rank = shm::kRankNormal;
  std::string_view type{};
  std::string_view channel{};
  std::uint64_t reply_to = 0;
  std::uint32_t ttl_ms = 0;
  std::uint16_t hops = 0;
  const shm::Extension* extension = nullptr;  // null: the message has no extension
  std::uint16_t flags =
      0;  // kFlagRequiresAck, kFlagCut ...; those of kExtendedFlags need an extension
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

// The envelope of a message without options, as kPlainSend says.
inline constexpr Envelope kPlainEnvelope{};

struct Draft {
  std::span<const std::byte> payload{};  // to be copied, or the bytes of the loan
  const Envelope& envelope = kPlainEnvelope;
  std::uint64_t id = 0;                 // from SendPath::reserve_id(); 0: none yet
  shm::SlabPool::Loan* loan = nullptr;  // its slab is kNoSlab once the link has taken it over

  // Costs nothing if the compiler knows the envelope.
  [[nodiscard]] bool is_plain() const { return &envelope == &kPlainEnvelope; }
  [[nodiscard]] shm::Lane lane() const {
    return envelope.rank <= shm::kRankCritical ? shm::Lane::kUrgent : shm::Lane::kNormal;
  }
  // The payload lies in its slot, behind the extension if there is one.
  [[nodiscard]] bool lies_inline() const {
    const std::size_t front = envelope.extension != nullptr ? sizeof(shm::Extension) : 0;
    return loan == nullptr && payload.size() <= shm::kInlineBytes - front;
  }
};

}  // namespace beeline::send
