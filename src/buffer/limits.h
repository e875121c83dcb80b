#pragma once

// The sizes that the buffer accepts, and the defaults of the document.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace beeline::buffer {

// A channel, a sender, a conversation or a key.
inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxPayloadBytes = 16 << 20;

inline constexpr std::int32_t kDefaultPriority = 100;
inline constexpr std::uint32_t kDefaultRetentionDays = 7;
inline constexpr std::chrono::milliseconds kDefaultBatchWindow{500};
inline constexpr std::uint64_t kDefaultWarnThreshold = 1000;
inline constexpr std::uint32_t kDefaultBatchMessages = 100;
inline constexpr std::uint64_t kDefaultBatchBytes = 1 << 20;
inline constexpr std::uint32_t kDefaultMaxTasks = 8;

// One step of the router and one of the retention, so that no step holds up the senders.
inline constexpr std::uint32_t kRouteRows = 256;
inline constexpr std::uint64_t kRouteBytes = 8 << 20;
inline constexpr std::uint32_t kPruneRows = 1000;

// A list of rows ends with the row that goes beyond it.
inline constexpr std::size_t kMostListBytes = 8 << 20;

// Orders between the thread that receives and the thread that writes.
inline constexpr std::size_t kMostOrders = 4096;

// A longer wait for another program that holds the database is an error.
inline constexpr std::chrono::milliseconds kLockPatience{5000};

}  // namespace beeline::buffer
