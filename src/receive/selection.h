#pragma once
// Selective receive: by sender, type, channel or the message that is answered, in delivery order or
// the oldest first. The rest of the inbox is not disturbed.

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/receive/entries.h"

namespace beeline::receive {

// The messages that a selective receive looks for; empty fields match everything.
struct Selection {
  std::uint32_t from = 0;
  std::string_view type{};
  std::string_view channel{};
  std::uint64_t reply_to = 0;
  bool oldest_first = false;  // of one agent in the order in which it sent, else by the clock
};

[[nodiscard]] bool matches(const Entries& entries, shm::EntryIndex at, const Selection& selection);

// The first message in the order that matches, or kNoEntry.
[[nodiscard]] shm::EntryIndex find_selected(const Entries& entries, const Selection& selection);

// All messages that match and have not expired, in the same order.
[[nodiscard]] std::vector<shm::EntryIndex> list(const Entries& entries, const Selection& selection);

}  // namespace beeline::receive
