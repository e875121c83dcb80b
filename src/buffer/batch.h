#pragma once

// Batches as values.

#include <cstdint>
#include <string>
#include <vector>

#include "src/buffer/message.h"
#include "src/buffer/rules.h"

namespace beeline::buffer {

struct Batch {
  BatchId id = 0;
  std::string channel{};
  std::string conversation{};
  Destination destination = Destination::kMain;
  std::string state{};  // waiting, leased, done
  std::int32_t priority = 0;
  std::uint64_t message_count = 0;
  std::uint64_t bytes = 0;       // of the payloads
  std::uint32_t deliveries = 0;  // how often it was handed out
  std::string holder{};          // of a leased one
  std::string created_at{};
  std::string ended_at{};           // empty while it is open
  std::vector<Message> messages{};  // by id; empty in lists
  [[nodiscard]] bool is_redelivered() const noexcept { return deliveries > 1; }
};

}  // namespace beeline::buffer
