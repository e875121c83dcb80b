#include "src/buffer/retention.h"

#include <utility>
#include <vector>

#include "src/buffer/times.h"

namespace beeline::buffer {

Result<Retention> Retention::open(Database& database) {
  Retention retention(database);
  auto prepared = database.prepare_all({
      {&retention.old_,
       "SELECT b.id, b.received_at, NOT EXISTS (SELECT 1 FROM buffer_routed AS r JOIN "
       "buffer_batches AS a ON a.id = r.batch WHERE r.id = b.id AND a.state <> 'done') "
       "FROM buffer AS b INDEXED BY idx_buffer_retention WHERE b.routed = TRUE AND "
       "b.received_at < ?1 AND (b.received_at, b.id) > (?2, ?3) "
       "ORDER BY b.received_at, b.id LIMIT ?4"},
      {&retention.remove_, "DELETE FROM buffer WHERE id = ?"},
      {&retention.remove_origin_, "DELETE FROM buffer_origins WHERE id = ?"},
      {&retention.remove_note_, "DELETE FROM buffer_routed WHERE id = ?"},
      {&retention.old_batches_,
       "SELECT a.id FROM buffer_batches AS a INDEXED BY buffer_batches_ended WHERE "
       "a.state = 'done' AND a.ended_at < ?1 AND NOT EXISTS (SELECT 1 FROM buffer_routed AS r "
       "WHERE r.batch = a.id) LIMIT ?2"},
      {&retention.remove_history_,
       "DELETE FROM buffer_task_history WHERE task IN "
       "(SELECT id FROM buffer_tasks WHERE batch = ?)"},
      {&retention.remove_task_, "DELETE FROM buffer_tasks WHERE batch = ?"},
      {&retention.remove_jobs_,
       "DELETE FROM buffer_jobs WHERE state <> 'pending' AND ended_at < ?"},
      {&retention.remove_batch_, "DELETE FROM buffer_batches WHERE id = ?"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return retention;
}

Result<PruneAnswer> Retention::prune(std::int64_t before_ms, const PrunePlace& from,
                                     std::uint32_t most) {
  PruneAnswer answer{.next = from};
  const std::string before = format_time(before_ms);
  std::vector<RowId> old;
  std::uint32_t seen = 0;
  {
    Cursor row(*database_, old_, before, from.received_at, from.id, std::int64_t{most});
    while (row.next()) {
      ++seen;
      answer.next = {row.text(1), row.number(0)};
      if (row.number(2) != 0) old.push_back(row.number(0));
    }
    if (row.has_failed()) return tl::unexpected(database_->failed("read the old messages"));
  }
  for (const RowId id : old) {
    if (auto removed = remove_message(id); !removed) {
      return tl::unexpected(std::move(removed.error()));
    }
  }
  answer.messages = old.size();
  answer.has_more = seen == most;
  if (answer.has_more) return answer;
  auto removed = remove_batches(before, most, answer);
  if (!removed) return tl::unexpected(std::move(removed.error()));
  return answer;
}

Result<void> Retention::remove_message(RowId id) {
  for (const Statement* statement : {&remove_, &remove_origin_, &remove_note_}) {
    if (auto done = Cursor(*database_, *statement, id).finish("remove a message"); !done) {
      return done;
    }
  }
  return {};
}

Result<void> Retention::remove_batches(const std::string& before, std::uint32_t most,
                                       PruneAnswer& answer) {
  std::vector<BatchId> old;
  {
    Cursor row(*database_, old_batches_, before, std::int64_t{most});
    while (row.next()) old.push_back(row.number(0));
    if (row.has_failed()) return tl::unexpected(database_->failed("read the old batches"));
  }
  for (const BatchId id : old) {
    for (const Statement* statement : {&remove_history_, &remove_task_, &remove_batch_}) {
      if (auto done = Cursor(*database_, *statement, id).finish("remove a batch"); !done) {
        return done;
      }
    }
  }
  answer.batches = old.size();
  answer.has_more = old.size() == most;
  return Cursor(*database_, remove_jobs_, before).finish("remove old jobs");
}

}  // namespace beeline::buffer
