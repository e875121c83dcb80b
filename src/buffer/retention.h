#pragma once

// Removes what is done and old, in steps that do not hold up the senders. An unrouted message, and
// one in an open batch or task, is never removed.

#include <cstdint>
#include <string>

#include <beeline/result.h>

#include "src/buffer/database.h"
#include "src/buffer/message.h"

namespace beeline::buffer {

// A step begins after this message, in the order of time and id.
struct PrunePlace {
  std::string received_at{};
  RowId id = 0;
};

struct PruneAnswer {
  std::uint64_t messages = 0;  // that were removed
  std::uint64_t batches = 0;
  bool has_more = false;
  PrunePlace next{};  // for the next step
};

class Retention {
 public:
  [[nodiscard]] static Result<Retention> open(Database& database);

  // Looks at the next `most` messages received before `before_ms`. When no message is left, removes
  // up to `most` batches that ended before then, with their tasks, and
  // the jobs of that time. REQUIRES: a transaction.
  [[nodiscard]] Result<PruneAnswer> prune(std::int64_t before_ms, const PrunePlace& from,
                                          std::uint32_t most);

 private:
  explicit Retention(Database& database) : database_(&database) {}
  [[nodiscard]] Result<void> remove_message(RowId id);
  [[nodiscard]] Result<void> remove_batches(const std::string& before, std::uint32_t most,
                                            PruneAnswer& answer);

  Database* database_;
  Statement old_;
  Statement remove_;
  Statement remove_origin_;
  Statement remove_note_;
  Statement old_batches_;
  Statement remove_history_;
  Statement remove_task_;
  Statement remove_batch_;
  Statement remove_jobs_;
};

}  // namespace beeline::buffer
