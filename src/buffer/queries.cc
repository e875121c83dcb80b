#include "src/buffer/queries.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "src/buffer/batch_row.h"
#include "src/buffer/task_row.h"
#include "src/buffer/times.h"

namespace beeline::buffer {
namespace {

// The clock may have been set back since.
std::int64_t age_of(const std::string& received_at, std::int64_t now_ms) {
  return std::max<std::int64_t>(now_ms - parse_time(received_at).value_or(now_ms), 0);
}

}  // namespace

Result<Queries> Queries::open(Database& database) {
  Queries queries(database);
  auto prepared = database.prepare_all({
      {&queries.channels_,
       "SELECT channel, count(*), min(received_at) FROM buffer INDEXED BY idx_buffer_unrouted "
       "WHERE routed = FALSE GROUP BY channel ORDER BY channel"},
      {&queries.states_,
       "SELECT destination, state, count(*), sum(messages) FROM buffer_batches "
       "WHERE state = 'waiting' GROUP BY destination UNION ALL "
       "SELECT destination, state, count(*), sum(messages) FROM buffer_batches "
       "WHERE state = 'leased' GROUP BY destination"},
      {&queries.count_unrouted_,
       "SELECT count(*) FROM buffer INDEXED BY idx_buffer_unrouted WHERE routed = FALSE"},
      {&queries.unrouted_,
       "SELECT " BEELINE_MESSAGE_COLUMNS
       " FROM buffer AS b INDEXED BY idx_buffer_unrouted " BEELINE_MESSAGE_ORIGIN
       " WHERE b.routed = FALSE ORDER BY b.priority, b.id LIMIT ?"},
      {&queries.leased_batches_,
       "SELECT " BEELINE_BATCH_COLUMNS
       " FROM buffer_batches WHERE state = 'leased' AND destination = 'main' AND ?1 <> 'waiting' "
       "ORDER BY priority, first_id LIMIT ?2"},
      {&queries.waiting_batches_,
       "SELECT " BEELINE_BATCH_COLUMNS
       " FROM buffer_batches WHERE state = 'waiting' AND destination = 'main' AND ?1 <> 'leased' "
       "ORDER BY priority, first_id LIMIT ?2"},
      {&queries.tasks_,
       "SELECT " BEELINE_TASK_COLUMNS " FROM " BEELINE_TASK_SOURCE " ORDER BY t.id DESC LIMIT ?"},
      {&queries.tasks_of_status_, "SELECT " BEELINE_TASK_COLUMNS " FROM " BEELINE_TASK_SOURCE
                                  " WHERE t.status = ?2 ORDER BY t.id DESC LIMIT ?1"},
      {&queries.message_, "SELECT " BEELINE_MESSAGE_COLUMNS
                          " FROM buffer AS b " BEELINE_MESSAGE_ORIGIN " WHERE b.id = ?"},
      {&queries.batch_, "SELECT " BEELINE_BATCH_COLUMNS " FROM buffer_batches WHERE id = ?"},
      {&queries.task_,
       "SELECT " BEELINE_TASK_COLUMNS " FROM " BEELINE_TASK_SOURCE " WHERE t.id = ?"},
      {&queries.batch_messages_, BEELINE_BATCH_MESSAGES},
      {&queries.history_,
       "SELECT at, status, detail FROM buffer_task_history WHERE task = ? ORDER BY id"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return queries;
}

Result<Status> Queries::status(std::int64_t now_ms) {
  Status status;
  Cursor channel(*database_, channels_);
  while (channel.next()) {
    const auto count = static_cast<std::uint64_t>(channel.number(1));
    const std::int64_t age = age_of(channel.text(2), now_ms);
    status.channels.push_back({channel.text(0), count, age});
    status.unrouted += count;
    status.oldest_age_ms = std::max(status.oldest_age_ms, age);
  }
  if (channel.has_failed()) return tl::unexpected(database_->failed("count the messages"));
  Cursor state(*database_, states_);
  while (state.next()) {
    const bool is_main = state.text(0) == "main";
    const bool is_waiting = state.text(1) == "waiting";
    const auto batches = static_cast<std::uint64_t>(state.number(2));
    if (!is_main) {
      (is_waiting ? status.waiting_tasks : status.open_tasks) += batches;
      continue;
    }
    (is_waiting ? status.waiting_batches : status.leased_batches) += batches;
    (is_waiting ? status.waiting_messages : status.leased_messages) +=
        static_cast<std::uint64_t>(state.number(3));
  }
  if (state.has_failed()) return tl::unexpected(database_->failed("count the batches"));
  return status;
}

Result<OpenMessages> Queries::open_messages() {
  OpenMessages open;
  Cursor unrouted(*database_, count_unrouted_);
  if (!unrouted.next()) return tl::unexpected(database_->failed("count the messages"));
  open.unrouted = static_cast<std::uint64_t>(unrouted.number(0));
  Cursor state(*database_, states_);
  while (state.next()) open.routed += static_cast<std::uint64_t>(state.number(3));
  if (state.has_failed()) return tl::unexpected(database_->failed("count the batches"));
  return open;
}

Result<std::vector<Message>> Queries::unrouted(std::uint32_t most) {
  std::vector<Message> messages;
  std::size_t bytes = 0;
  Cursor row(*database_, unrouted_, std::int64_t{most});
  while (bytes < kMostListBytes && row.next()) {
    messages.push_back(message_at(row));
    bytes += messages.back().payload.size();
  }
  if (row.has_failed()) return tl::unexpected(database_->failed("list the messages"));
  return messages;
}

Result<std::vector<Batch>> Queries::batches(std::uint32_t most, const std::string& state) {
  std::vector<Batch> batches;
  for (const Statement& each : {std::cref(leased_batches_), std::cref(waiting_batches_)}) {
    Cursor row(*database_, each, state, std::int64_t{most} - std::ssize(batches));
    while (row.next()) batches.push_back(batch_at(row));
    if (row.has_failed()) return tl::unexpected(database_->failed("list the batches"));
  }
  return batches;
}

Result<std::vector<Task>> Queries::tasks(const std::string& status, std::uint32_t most) {
  std::vector<Task> tasks;
  std::size_t bytes = 0;
  Cursor row = status.empty() ? Cursor(*database_, tasks_, std::int64_t{most})
                              : Cursor(*database_, tasks_of_status_, std::int64_t{most}, status);
  while (bytes < kMostListBytes && row.next()) {
    tasks.push_back(task_at(row));
    bytes += tasks.back().text.size() + tasks.back().result.size();
  }
  if (row.has_failed()) return tl::unexpected(database_->failed("list the tasks"));
  return tasks;
}

Result<std::optional<Message>> Queries::message(RowId id) {
  Cursor row(*database_, message_, id);
  if (row.next()) return message_at(row);
  if (row.has_failed()) return tl::unexpected(database_->failed("read a message"));
  return std::nullopt;
}

Result<std::optional<Batch>> Queries::batch(BatchId id) {
  Cursor row(*database_, batch_, id);
  if (!row.next()) {
    if (row.has_failed()) return tl::unexpected(database_->failed("read a batch"));
    return std::nullopt;
  }
  Batch batch = batch_at(row);
  if (auto read = read_messages(*database_, batch_messages_, batch); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  return batch;
}

Result<std::optional<Task>> Queries::task(TaskId id) {
  Cursor row(*database_, task_, id);
  if (!row.next()) {
    if (row.has_failed()) return tl::unexpected(database_->failed("read a task"));
    return std::nullopt;
  }
  Task task = task_at(row);
  Batch batch{.id = task.batch};
  auto read = read_messages(*database_, batch_messages_, batch);
  if (read) read = read_history(task);
  if (!read) return tl::unexpected(std::move(read.error()));
  task.messages = std::move(batch.messages);
  return task;
}

Result<void> Queries::read_history(Task& task) {
  Cursor row(*database_, history_, task.id);
  while (row.next()) task.history.push_back({row.text(0), row.text(1), row.text(2)});
  return row.finish("read the history of a task");
}

}  // namespace beeline::buffer
