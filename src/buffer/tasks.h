#pragma once

// The life of the tasks: waiting, starting, running, completed or failed. Each step is a row of the
// history. A task that waits may still grow; begin() freezes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/buffer/database.h"
#include "src/buffer/queue.h"
#include "src/buffer/task.h"

namespace beeline::buffer {

class Tasks {
 public:
  [[nodiscard]] static Result<Tasks> open(Database& database);

  // All calls REQUIRE a transaction. Errors: kInvalid, if there is no such task or it has not the
  // status that the call needs; else as of Database::failed().
  // Takes the best waiting task, with its messages; its id is the key of the spawn.
  [[nodiscard]] Result<std::optional<Task>> begin(std::int64_t now_ms);
  // Its agent was spawned.
  [[nodiscard]] Result<void> run(TaskId task, std::int64_t pid, std::int64_t now_ms);
  // The spawn was refused for now: it waits again.
  [[nodiscard]] Result<void> postpone(TaskId task, std::string_view reason, std::int64_t now_ms);
  // `was_open` is false if it ended before; then its first end stays.
  [[nodiscard]] Result<AckAnswer> end(const TaskEnd& end, std::int64_t now_ms);

 private:
  explicit Tasks(Database& database) : database_(&database) {}
  [[nodiscard]] Result<Task> find(TaskId task, const char* call);
  [[nodiscard]] Result<void> change(const Task& task, std::string_view status,
                                    std::string_view detail, std::int64_t now_ms);
  [[nodiscard]] Result<void> set_batch(BatchId batch, std::string_view state, bool is_delivery,
                                       std::string_view ended_at);

  Database* database_;
  Statement best_;
  Statement find_;
  Statement messages_;
  Statement change_;
  Statement note_;
  Statement batch_;
  Statement count_;
};

}  // namespace beeline::buffer
