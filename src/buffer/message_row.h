#pragma once

// A row of the table `buffer`, read in a fixed order of columns.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "src/buffer/database.h"
#include "src/buffer/message.h"

namespace beeline::buffer {

// SELECT columns FROM buffer AS b ... join.
#define BEELINE_MESSAGE_COLUMNS                                                                 \
  "b.id, b.channel, b.sender, b.conversation, b.payload, b.received_at, b.priority, b.routed, " \
  "coalesce(o.is_explicit, FALSE)"
#define BEELINE_MESSAGE_ORIGIN "LEFT JOIN buffer_origins AS o ON o.id = b.id"

// Other programs may write any number.
[[nodiscard]] inline std::int32_t priority_of(std::int64_t stored) noexcept {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(stored, Limits::min(), Limits::max()));
}

[[nodiscard]] inline Message message_at(const Cursor& row) {
  Message message;
  message.id = row.number(0);
  message.channel = row.text(1);
  message.sender = row.text(2);
  message.conversation = row.text(3);
  message.payload = row.text(4);
  message.received_at = row.text(5);
  message.priority = priority_of(row.number(6));
  message.is_routed = row.number(7) != 0;
  message.is_explicit = row.number(8) != 0;
  return message;
}

}  // namespace beeline::buffer
