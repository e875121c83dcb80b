#pragma once

// When the oldest messages of an inbox were sent, read from copies of segments. Senders write these
// times into their links, so they are cut to what can be.

#include <cstdint>
#include <optional>
#include <vector>

#include "shm/verify.h"

namespace beeline::cli {

/// The smaller of a time, if there is one, and another.
[[nodiscard]] std::int64_t older(std::optional<std::int64_t> known, std::int64_t sent_ns) noexcept;

/// The oldest among the entries of a home.
struct OldestEntries {
  std::optional<std::int64_t> waiting_ns;
  std::optional<std::int64_t> in_hand_ns;
  std::uint64_t aside = 0;  ///< queued, and nobody is to be handed them as they are
};
/// `now_ns`: when the copy was taken.
[[nodiscard]] OldestEntries oldest_entries(shm::ByteView view, const shm::HomeShape& shape,
                                           std::int64_t now_ns);

/// When the link of a row was last seen empty: what lies in it was not sent before. See
/// Receiver::time_sent().
[[nodiscard]] std::int64_t empty_until(shm::ByteView view, const shm::HomeShape& shape,
                                       std::uint32_t row, std::int64_t now_ns);

/// When each message that a lane still holds was sent.
class LaneTimes {
 public:
  LaneTimes() = default;
  LaneTimes(shm::ByteView view, const shm::LaneShape& shape, std::uint64_t tail);

  /// The smallest of those at `position` and behind it, if the lane holds any.
  [[nodiscard]] std::optional<std::int64_t> oldest_from(std::uint64_t position) const noexcept;

 private:
  std::uint64_t first_ = 0;          ///< position of the first time
  std::vector<std::int64_t> times_;  ///< -1 where the slot does not hold the message
};

}  // namespace beeline::cli
