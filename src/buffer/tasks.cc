#include "src/buffer/tasks.h"

#include <utility>

#include <fmt/format.h>

#include "src/buffer/batch_row.h"
#include "src/buffer/task_row.h"
#include "src/buffer/times.h"

namespace beeline::buffer {
namespace {

bool has_ended(const Task& task) { return task.status == "completed" || task.status == "failed"; }

tl::unexpected<Error> wrong_status(const Task& task, const char* call, const char* wanted) {
  return fail(ErrorCode::kInvalid,
              fmt::format("{}: task {} is {}, it must be {}", call, task.id, task.status, wanted));
}

}  // namespace

Result<Tasks> Tasks::open(Database& database) {
  Tasks tasks(database);
  auto prepared = database.prepare_all({
      {&tasks.best_,
       "SELECT " BEELINE_TASK_COLUMNS " FROM buffer_batches AS a INDEXED BY buffer_batches_queue "
       "CROSS JOIN buffer_tasks AS t ON t.batch = a.id WHERE a.state = 'waiting' AND "
       "a.destination = 'spawn' ORDER BY a.priority, a.first_id LIMIT 1"},
      {&tasks.find_, "SELECT " BEELINE_TASK_COLUMNS " FROM " BEELINE_TASK_SOURCE " WHERE t.id = ?"},
      {&tasks.messages_, BEELINE_BATCH_MESSAGES},
      {&tasks.change_,
       "UPDATE buffer_tasks SET status = ?, pid = ?, exit_code = ?, result = ?, "
       "ended_at = nullif(?, '') WHERE id = ?"},
      {&tasks.note_,
       "INSERT INTO buffer_task_history (task, at, status, detail) VALUES (?, ?, ?, ?)"},
      {&tasks.batch_,
       "UPDATE buffer_batches SET state = ?, deliveries = deliveries + ?, "
       "ended_at = nullif(?, '') WHERE id = ?"},
      {&tasks.count_, "SELECT messages FROM buffer_batches WHERE id = ?"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return tasks;
}

Result<Task> Tasks::find(TaskId id, const char* call) {
  Cursor row(*database_, find_, id);
  if (row.next()) return task_at(row);
  if (row.has_failed()) return tl::unexpected(database_->failed("look for a task"));
  return fail(ErrorCode::kInvalid, fmt::format("{}: there is no task {}; list them", call, id));
}

Result<void> Tasks::change(const Task& task, std::string_view status, std::string_view detail,
                           std::int64_t now_ms) {
  const std::string now = format_time(now_ms);
  const std::string_view ended_at = has_ended(task) ? std::string_view(now) : "";
  auto done = task.exit_code ? Cursor(*database_, change_, status, task.pid,
                                      std::int64_t{*task.exit_code}, task.result, ended_at, task.id)
                                   .finish("change a task")
                             : Cursor(*database_, change_, status, task.pid, nullptr, task.result,
                                      ended_at, task.id)
                                   .finish("change a task");
  if (!done) return done;
  return Cursor(*database_, note_, task.id, now, status, detail)
      .finish("write the history of a task");
}

Result<void> Tasks::set_batch(BatchId batch, std::string_view state, bool is_delivery,
                              std::string_view ended_at) {
  return Cursor(*database_, batch_, state, std::int64_t{is_delivery}, ended_at, batch)
      .finish("change the batch of a task");
}

Result<std::optional<Task>> Tasks::begin(std::int64_t now_ms) {
  Task task;
  {
    Cursor row(*database_, best_);
    if (!row.next()) {
      if (row.has_failed()) return tl::unexpected(database_->failed("look for the next task"));
      return std::nullopt;
    }
    task = task_at(row);
  }
  task.status = "starting";
  auto done = change(task, task.status, "", now_ms);
  if (done) done = set_batch(task.batch, "leased", true, "");
  Batch batch{.id = task.batch};
  if (done) done = read_messages(*database_, messages_, batch);
  if (!done) return tl::unexpected(std::move(done.error()));
  task.messages = std::move(batch.messages);
  return task;
}

Result<void> Tasks::run(TaskId id, std::int64_t pid, std::int64_t now_ms) {
  auto task = find(id, "run a task");
  if (!task) return tl::unexpected(std::move(task.error()));
  // The spawn was asked for again. A new hive knows nothing of the first agent and starts another.
  const bool is_running = task->status == "running";
  if (is_running && task->pid == pid) return {};
  if (!is_running && task->status != "starting") {
    return wrong_status(*task, "run a task", "starting or running");
  }
  task->pid = pid;
  task->status = "running";
  return change(*task, task->status, fmt::format("pid {}", pid), now_ms);
}

Result<void> Tasks::postpone(TaskId id, std::string_view reason, std::int64_t now_ms) {
  auto task = find(id, "postpone a task");
  if (!task) return tl::unexpected(std::move(task.error()));
  if (task->status != "starting") return wrong_status(*task, "postpone a task", "starting");
  task->status = "waiting";
  auto done = change(*task, task->status, reason, now_ms);
  if (!done) return done;
  return set_batch(task->batch, "waiting", false, "");
}

Result<AckAnswer> Tasks::end(const TaskEnd& end, std::int64_t now_ms) {
  auto task = find(end.task, "end a task");
  if (!task) return tl::unexpected(std::move(task.error()));
  if (has_ended(*task)) return AckAnswer{};
  if (task->status == "waiting") return wrong_status(*task, "end a task", "starting or running");
  task->status = end.has_failed ? "failed" : "completed";
  task->exit_code = end.exit_code;
  task->result = end.result;
  auto done = change(*task, task->status, end.has_failed ? end.result : "", now_ms);
  if (done) done = set_batch(task->batch, "done", false, format_time(now_ms));
  if (!done) return tl::unexpected(std::move(done.error()));
  Cursor row(*database_, count_, task->batch);
  if (!row.next()) return tl::unexpected(database_->failed("count the messages of a task"));
  return AckAnswer{true, static_cast<std::uint64_t>(row.number(0))};
}

}  // namespace beeline::buffer
