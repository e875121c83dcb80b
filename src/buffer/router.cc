#include "src/buffer/router.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "src/buffer/limits.h"
#include "src/buffer/message_row.h"
#include "src/buffer/times.h"

namespace beeline::buffer {
namespace {

std::int32_t best_priority(const Group& group, const Slice& slice) {
  std::int32_t best = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = slice.begin; i < slice.end; ++i) {
    best = std::min(best, group.messages[i].priority);
  }
  return best;
}

}  // namespace

Result<Router> Router::open(Database& database, const Rules& rules, const BatchLimits& limits) {
  Router router(database, rules, limits);
  auto prepared = database.prepare_all({
      {&router.unrouted_, "SELECT " BEELINE_MESSAGE_COLUMNS
                          " FROM buffer AS b INDEXED BY idx_buffer_unrouted " BEELINE_MESSAGE_ORIGIN
                          " WHERE b.routed = FALSE ORDER BY b.priority, b.id LIMIT ?"},
      {&router.growing_,
       "SELECT id, messages, bytes, priority, first_id, pattern FROM buffer_batches INDEXED BY "
       "buffer_batches_growing WHERE state = 'waiting' AND deliveries = 0 AND conversation = ? "
       "AND channel = ? AND destination = ? AND template = ? ORDER BY id DESC LIMIT 1"},
      {&router.grow_,
       "UPDATE buffer_batches SET messages = messages + ?, bytes = bytes + ?, priority = ?, "
       "first_id = ? WHERE id = ?"},
      {&router.begin_,
       "INSERT INTO buffer_batches (channel, conversation, destination, template, pattern, route, "
       "state, priority, first_id, messages, bytes, created_at, ended_at) "
       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''))"},
      {&router.begin_task_,
       "INSERT INTO buffer_tasks (batch, template, task, status, created_at) "
       "VALUES (?, ?, ?, 'waiting', ?)"},
      {&router.note_task_,
       "INSERT INTO buffer_task_history (task, at, status, detail) VALUES (?, ?, 'waiting', '')"},
      {&router.change_task_, "UPDATE buffer_tasks SET task = ? WHERE batch = ?"},
      {&router.mark_, "UPDATE buffer SET routed = TRUE, priority = ? WHERE id = ?"},
      {&router.note_, "INSERT OR REPLACE INTO buffer_routed (id, batch) VALUES (?, ?)"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return router;
}

Result<RouteAnswer> Router::route(std::uint32_t most, std::int64_t now_ms) {
  RouteAnswer answer;
  auto rows = unrouted(most, answer.has_more);
  if (!rows) return tl::unexpected(std::move(rows.error()));
  answer.routed = rows->size();
  const std::string now = format_time(now_ms);
  for (Group& group : group_rows(std::move(*rows))) {
    if (auto moved = move(group, decide(*rules_, group), now, answer); !moved) {
      return tl::unexpected(std::move(moved.error()));
    }
  }
  return answer;
}

Result<std::vector<Message>> Router::unrouted(std::uint32_t most, bool& has_more) {
  std::vector<Message> rows;
  std::uint64_t bytes = 0;
  Cursor row(*database_, unrouted_, std::int64_t{most});
  while (bytes < kRouteBytes && row.next()) {
    rows.push_back(message_at(row));
    bytes += rows.back().payload.size();
  }
  if (row.has_failed()) return tl::unexpected(database_->failed("read the unrouted messages"));
  has_more = rows.size() == most || bytes >= kRouteBytes;
  return rows;
}

Result<void> Router::place(Group& group, const Decision& decision, std::int64_t now_ms) {
  RouteAnswer answer;
  return move(group, decision, format_time(now_ms), answer);
}

Result<void> Router::move(Group& group, const Decision& decision, const std::string& now,
                          RouteAnswer& answer) {
  const Action& action = decision.action;
  for (Message& message : group.messages) message.priority = priority_on(decision, message);
  auto open = growing(group, action);
  if (!open) return tl::unexpected(std::move(open.error()));
  for (const Slice& slice : slice_group(group, limits_, open->id == 0 ? nullptr : &open->fill)) {
    BatchId batch = open->id;
    if (slice.joins) {
      if (auto grown = grow(*open, group, slice, action); !grown) return grown;
    } else {
      const auto begun = begin(group, slice, decision, now);
      if (!begun) return tl::unexpected(begun.error());
      batch = *begun;
    }
    if (auto marked = mark(group, slice, batch); !marked) return marked;
    if (action.destination == Destination::kMain) ++answer.main_batches;
    if (action.destination == Destination::kSpawn) ++answer.tasks;
    if (action.destination == Destination::kDrop) {
      answer.dropped.push_back(
          {batch, group.channel, group.conversation, slice.end - slice.begin, decision.route});
    }
  }
  return {};
}

Result<Router::Growing> Router::growing(const Group& group, const Action& action) {
  if (action.destination == Destination::kDrop) return Growing{};
  Cursor row(*database_, growing_, group.conversation, group.channel, to_string(action.destination),
             action.agent_template);
  if (!row.next()) {
    if (row.has_failed()) return tl::unexpected(database_->failed("look for the batch"));
    return Growing{};
  }
  if (row.text(5) != action.task) return Growing{};
  return Growing{
      row.number(0),
      {static_cast<std::uint64_t>(row.number(1)), static_cast<std::uint64_t>(row.number(2))},
      priority_of(row.number(3)),
      row.number(4)};
}

Result<void> Router::grow(const Growing& batch, const Group& group, const Slice& slice,
                          const Action& action) {
  const Message& first = group.messages[slice.begin];
  const std::int64_t priority = std::min(batch.priority, best_priority(group, slice));
  auto grown = Cursor(*database_, grow_, static_cast<std::int64_t>(slice.end - slice.begin),
                      static_cast<std::int64_t>(slice.bytes), priority,
                      std::min(batch.first_id, first.id), batch.id)
                   .finish("add to a batch");
  if (!grown || action.destination != Destination::kSpawn || first.id > batch.first_id) {
    return grown;
  }
  return Cursor(*database_, change_task_, task_text(action.task, first), batch.id)
      .finish("change a task");
}

Result<BatchId> Router::begin(const Group& group, const Slice& slice, const Decision& decision,
                              const std::string& now) {
  const Action& action = decision.action;
  const Message& first = group.messages[slice.begin];
  const bool is_dropped = action.destination == Destination::kDrop;
  auto begun =
      Cursor(*database_, begin_, group.channel, group.conversation, to_string(action.destination),
             action.agent_template, action.task, static_cast<std::int64_t>(decision.route),
             is_dropped ? "done" : "waiting", std::int64_t{best_priority(group, slice)}, first.id,
             static_cast<std::int64_t>(slice.end - slice.begin),
             static_cast<std::int64_t>(slice.bytes), now, is_dropped ? now : "")
          .finish("begin a batch");
  if (!begun) return tl::unexpected(std::move(begun.error()));
  const BatchId batch = database_->last_row_id();
  if (action.destination == Destination::kSpawn) begun = begin_task(batch, action, first, now);
  if (!begun) return tl::unexpected(std::move(begun.error()));
  return batch;
}

Result<void> Router::begin_task(BatchId batch, const Action& action, const Message& first,
                                const std::string& now) {
  auto begun = Cursor(*database_, begin_task_, batch, action.agent_template,
                      task_text(action.task, first), now)
                   .finish("write a task");
  if (!begun) return begun;
  return Cursor(*database_, note_task_, database_->last_row_id(), now)
      .finish("write the history of a task");
}

Result<void> Router::mark(const Group& group, const Slice& slice, BatchId batch) {
  for (std::size_t i = slice.begin; i < slice.end; ++i) {
    const Message& message = group.messages[i];
    auto done = Cursor(*database_, mark_, std::int64_t{message.priority}, message.id)
                    .finish("mark a message");
    if (done) done = Cursor(*database_, note_, message.id, batch).finish("note a message");
    if (!done) return done;
  }
  return {};
}

}  // namespace beeline::buffer
