#pragma once

// When the oldest messages of an inbox were sent, read from copies of segments. Senders write these
// times into their links, so they are clamped to plausible values.

#include <cstdint>
#include <optional>
#include <vector>

#include "shm/verify.h"

namespace beeline::look {

// The smaller one of a known time, if any, and another time.
[[nodiscard]] std::int64_t older(std::optional<std::int64_t> known, std::int64_t sent_ns) noexcept;

// The oldest among the entries of a home.
struct OldestEntries {
  std::optional<std::int64_t> waiting_ns;
  std::optional<std::int64_t> in_hand_ns;
  std::uint64_t aside = 0;  // queued, but not to be handed out in their present state
};
// `now_ns`: the time when the copy was taken.
[[nodiscard]] OldestEntries oldest_entries(shm::ByteView view, const shm::HomeShape& shape,
                                           std::int64_t now_ns);

// When the link of a row was last seen empty: no message in it was sent before that. See
// Intake::time_sent().
[[nodiscard]] std::int64_t empty_until(shm::ByteView view, const shm::HomeShape& shape,
                                       shm::RowIndex row, std::int64_t now_ns);

// When each message that a lane still holds was sent.
class LaneTimes {
 public:
  LaneTimes() = default;
  LaneTimes(shm::ByteView view, const shm::LaneShape& shape, std::uint64_t tail);

  // The smallest time at `position` or behind it, if the lane holds any message there.
  [[nodiscard]] std::optional<std::int64_t> oldest_from(std::uint64_t position) const noexcept;

 private:
  std::uint64_t first_ = 0;          // position of the first time
  std::vector<std::int64_t> times_;  // -1 if the slot does not hold the message
};

}  // namespace beeline::look
