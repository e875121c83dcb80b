#pragma once

// A row of the table `buffer_batches`, read in a fixed order of columns.

#include "src/buffer/batch.h"
#include "src/buffer/database.h"
#include "src/buffer/message_row.h"

namespace beeline::buffer {

#define BEELINE_BATCH_COLUMNS                                                                      \
  "id, channel, conversation, destination, state, priority, messages, bytes, deliveries, holder, " \
  "created_at, ended_at"
// The messages of a batch, in the order of their ids.
#define BEELINE_BATCH_MESSAGES                                                       \
  "SELECT " BEELINE_MESSAGE_COLUMNS                                                  \
  " FROM buffer_routed AS r JOIN buffer AS b ON b.id = r.id " BEELINE_MESSAGE_ORIGIN \
  " WHERE r.batch = ? ORDER BY r.id"

[[nodiscard]] inline Batch batch_at(const Cursor& row) {
  Batch batch;
  batch.id = row.number(0);
  batch.channel = row.text(1);
  batch.conversation = row.text(2);
  batch.destination = destination_from(row.text(3)).value_or(Destination::kMain);
  batch.state = row.text(4);
  batch.priority = priority_of(row.number(5));
  batch.message_count = static_cast<std::uint64_t>(row.number(6));
  batch.bytes = static_cast<std::uint64_t>(row.number(7));
  batch.deliveries = static_cast<std::uint32_t>(row.number(8));
  batch.holder = row.text(9);
  batch.created_at = row.text(10);
  batch.ended_at = row.text(11);
  return batch;
}

// Reads the messages of a batch by the statement BEELINE_BATCH_MESSAGES.
[[nodiscard]] inline Result<void> read_messages(const Database& database,
                                                const Statement& statement, Batch& batch) {
  Cursor row(database, statement, batch.id);
  while (row.next()) batch.messages.push_back(message_at(row));
  return row.finish("read the messages of a batch");
}

}  // namespace beeline::buffer
