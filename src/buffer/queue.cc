#include "src/buffer/queue.h"

#include <utility>

#include <fmt/format.h>

#include "src/buffer/batch_row.h"
#include "src/buffer/times.h"

namespace beeline::buffer {

Result<Queue> Queue::open(Database& database) {
  Queue queue(database);
  auto prepared = database.prepare_all({
      {&queue.best_,
       "SELECT " BEELINE_BATCH_COLUMNS
       " FROM buffer_batches INDEXED BY buffer_batches_queue WHERE state = 'waiting' AND "
       "destination = 'main' ORDER BY priority, first_id LIMIT 1"},
      {&queue.lease_,
       "UPDATE buffer_batches SET state = 'leased', holder = ?, deliveries = deliveries + 1 "
       "WHERE id = ?"},
      {&queue.messages_, BEELINE_BATCH_MESSAGES},
      {&queue.find_, "SELECT " BEELINE_BATCH_COLUMNS " FROM buffer_batches WHERE id = ?"},
      {&queue.end_,
       "UPDATE buffer_batches SET state = 'done', holder = NULL, ended_at = ? WHERE id = ?"},
      {&queue.give_back_,
       "UPDATE buffer_batches INDEXED BY buffer_batches_leased SET state = 'waiting', "
       "holder = NULL WHERE state = 'leased' AND destination = 'main' AND (?1 = 0 OR id = ?1)"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return queue;
}

Result<std::optional<Batch>> Queue::next(std::string_view holder) {
  Batch batch;
  {
    Cursor row(*database_, best_);
    if (!row.next()) {
      if (row.has_failed()) return tl::unexpected(database_->failed("look for the next batch"));
      return std::nullopt;
    }
    batch = batch_at(row);
  }
  auto done = Cursor(*database_, lease_, holder, batch.id).finish("lease a batch");
  if (done) done = read_messages(*database_, messages_, batch);
  if (!done) return tl::unexpected(std::move(done.error()));
  batch.state = "leased";
  batch.holder = holder;
  ++batch.deliveries;
  return batch;
}

Result<AckAnswer> Queue::ack(BatchId id, std::int64_t now_ms) {
  AckAnswer answer;
  {
    Cursor row(*database_, find_, id);
    if (!row.next()) {
      if (row.has_failed()) return tl::unexpected(database_->failed("look for a batch"));
      return fail(ErrorCode::kInvalid,
                  fmt::format("ack: there is no batch {}; take the number that `next` said", id));
    }
    const Batch batch = batch_at(row);
    if (batch.destination != Destination::kMain || batch.deliveries == 0) {
      return fail(ErrorCode::kInvalid, fmt::format("ack: batch {} was not handed out; call `next`, "
                                                   "and acknowledge the batch that it returns",
                                                   id));
    }
    answer = {batch.state != "done", batch.message_count};
  }
  if (!answer.was_open) return answer;
  auto done = Cursor(*database_, end_, format_time(now_ms), id).finish("end a batch");
  if (!done) return tl::unexpected(std::move(done.error()));
  return answer;
}

Result<std::uint64_t> Queue::give_back(BatchId batch) {
  auto done = Cursor(*database_, give_back_, batch).finish("give batches back");
  if (!done) return tl::unexpected(std::move(done.error()));
  return static_cast<std::uint64_t>(database_->changes());
}

}  // namespace beeline::buffer
