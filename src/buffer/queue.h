#pragma once

// The queue of the main agent. A batch that is handed out is leased until its holder acknowledges
// it; if the holder dies, it is given back and comes again.

#include <cstdint>
#include <optional>
#include <string_view>

#include <beeline/result.h>

#include "src/buffer/batch.h"
#include "src/buffer/database.h"

namespace beeline::buffer {

struct AckAnswer {
  bool was_open = false;       // false: it was acknowledged before
  std::uint64_t messages = 0;  // in the batch
};

class Queue {
 public:
  [[nodiscard]] static Result<Queue> open(Database& database);

  // All calls REQUIRE a transaction.
  // Leases the best waiting batch: the smallest priority, then the smallest id of a message.
  [[nodiscard]] Result<std::optional<Batch>> next(std::string_view holder);
  // Ends a batch that was handed out. Errors: kInvalid, if it was not, or does not exist.
  [[nodiscard]] Result<AckAnswer> ack(BatchId batch, std::int64_t now_ms);
  // Puts a batch that is leased back to its place; 0: all of them. It does not grow any more, since
  // it was seen. Returns how many they were.
  [[nodiscard]] Result<std::uint64_t> give_back(BatchId batch);

 private:
  explicit Queue(Database& database) : database_(&database) {}

  Database* database_;
  Statement best_;
  Statement lease_;
  Statement messages_;
  Statement find_;
  Statement end_;
  Statement give_back_;
};

}  // namespace beeline::buffer
