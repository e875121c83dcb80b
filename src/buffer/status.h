#pragma once

// How full the buffer is, as a value.

#include <cstdint>
#include <string>
#include <vector>

namespace beeline::buffer {

struct ChannelDepth {
  std::string channel{};
  std::uint64_t unrouted = 0;
  std::int64_t oldest_age_ms = 0;
};

struct Status {
  std::uint64_t unrouted = 0;
  std::int64_t oldest_age_ms = 0;        // of an unrouted message; 0: there is none
  std::vector<ChannelDepth> channels{};  // by name; those with unrouted messages
  // Routed and not done.
  std::uint64_t waiting_batches = 0;
  std::uint64_t waiting_messages = 0;
  std::uint64_t leased_batches = 0;
  std::uint64_t leased_messages = 0;
  std::uint64_t waiting_tasks = 0;
  std::uint64_t open_tasks = 0;  // starting or running
};

}  // namespace beeline::buffer
