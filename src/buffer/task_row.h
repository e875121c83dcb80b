#pragma once

// A row of the table `buffer_tasks` with its batch, read in a fixed order of columns.

#include "src/buffer/database.h"
#include "src/buffer/task.h"

namespace beeline::buffer {

#define BEELINE_TASK_COLUMNS                                                                     \
  "t.id, t.batch, a.channel, a.conversation, t.template, t.task, t.status, t.pid, t.exit_code, " \
  "t.result, t.created_at, t.ended_at"
#define BEELINE_TASK_SOURCE "buffer_tasks AS t JOIN buffer_batches AS a ON a.id = t.batch"

[[nodiscard]] inline Task task_at(const Cursor& row) {
  Task task;
  task.id = row.number(0);
  task.batch = row.number(1);
  task.channel = row.text(2);
  task.conversation = row.text(3);
  task.agent_template = row.text(4);
  task.text = row.text(5);
  task.status = row.text(6);
  task.pid = row.number(7);
  if (!row.is_null(8)) task.exit_code = static_cast<std::int32_t>(row.number(8));
  task.result = row.text(9);
  task.created_at = row.text(10);
  task.ended_at = row.text(11);
  return task;
}

}  // namespace beeline::buffer
