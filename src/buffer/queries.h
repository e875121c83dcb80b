#pragma once

// Everything that only reads. It may have a connection of its own, also beside a buffer that runs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "src/buffer/batch.h"
#include "src/buffer/database.h"
#include "src/buffer/status.h"
#include "src/buffer/task.h"

namespace beeline::buffer {

// How many messages are not done: the threshold counts them.
struct OpenMessages {
  std::uint64_t unrouted = 0;
  std::uint64_t routed = 0;  // in batches that are not done
};

class Queries {
 public:
  [[nodiscard]] static Result<Queries> open(Database& database);

  // The time grows with the number of unrouted messages.
  [[nodiscard]] Result<Status> status(std::int64_t now_ms);
  [[nodiscard]] Result<OpenMessages> open_messages();
  // Messages that wait for the router, in its order.
  [[nodiscard]] Result<std::vector<Message>> unrouted(std::uint32_t most);
  // The main agent's batches that are not done, in the order in which they are handed out.
  [[nodiscard]] Result<std::vector<Batch>> batches(std::uint32_t most,
                                                   const std::string& state = {});
  // The newest first; `status` empty: any.
  [[nodiscard]] Result<std::vector<Task>> tasks(const std::string& status, std::uint32_t most);
  // One row with everything that belongs to it; nothing if there is none.
  [[nodiscard]] Result<std::optional<Message>> message(RowId id);
  [[nodiscard]] Result<std::optional<Batch>> batch(BatchId id);
  [[nodiscard]] Result<std::optional<Task>> task(TaskId id);

 private:
  explicit Queries(Database& database) : database_(&database) {}
  [[nodiscard]] Result<void> read_history(Task& task);

  Database* database_;
  Statement channels_;
  Statement states_;
  Statement count_unrouted_;
  Statement unrouted_;
  Statement leased_batches_;
  Statement waiting_batches_;
  Statement tasks_;
  Statement tasks_of_status_;
  Statement message_;
  Statement batch_;
  Statement task_;
  Statement batch_messages_;
  Statement history_;
};

}  // namespace beeline::buffer
