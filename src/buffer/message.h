#pragma once

// Messages of the buffer as values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beeline::buffer {

using RowId = std::int64_t;
using BatchId = std::int64_t;
using TaskId = std::int64_t;

// A message on its way into the buffer.
struct Put {
  std::string channel{};
  std::string sender{};
  std::string conversation{};
  std::string payload{};
  std::optional<std::int32_t>
      priority{};                     // nothing: that of the route, the channel, or the default
  std::int64_t received_unix_ms = 0;  // 0: now
  std::string key{};  // the second put of a channel with the same key gets the row of the first
  // A message of a hive that can come twice: the start of the hive, and the id of the message. They
  // are its key if it has none.
  std::string hive_start{};
  std::uint64_t hive_message = 0;
};

// A row of the table `buffer`.
struct Message {
  RowId id = 0;
  std::string channel{};
  std::string sender{};
  std::string conversation{};
  std::string payload{};
  std::string received_at{};  // as it is in the row
  std::int32_t priority = 0;
  bool is_routed = false;
  bool is_explicit = false;  // its sender named the priority
};

// Messages of one conversation on one channel; never empty.
struct Group {
  std::string channel{};
  std::string conversation{};
  std::vector<Message> messages{};  // by id
};

}  // namespace beeline::buffer
