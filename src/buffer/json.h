#pragma once

// Values of the buffer as JSON: the payload of the message to the main agent, and the output of the
// commands.

#include <string>
#include <vector>

#include "src/buffer/batch.h"
#include "src/buffer/status.h"
#include "src/buffer/task.h"

namespace beeline::buffer {

// {"id", "channel", "sender", "conversation", "payload", "received_at", "priority"}; the payload is
// a text, as it is in its row.
[[nodiscard]] std::string message_json(const Message& message);
// {"id", "channel", "conversation", "redelivered", "messages": [...]}: the MessageBatch of the
// document, and two fields more.
[[nodiscard]] std::string batch_json(const Batch& batch);
// Everything about a batch. The lists have the number of its messages in place of them.
[[nodiscard]] std::string batch_details_json(const Batch& batch);
[[nodiscard]] std::string batches_json(const std::vector<Batch>& batches);
[[nodiscard]] std::string task_json(const Task& task);
[[nodiscard]] std::string tasks_json(const std::vector<Task>& tasks);
[[nodiscard]] std::string status_json(const Status& status);

}  // namespace beeline::buffer
