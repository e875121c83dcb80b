#include "src/agent/buffer_json.h"

#include <chrono>
#include <utility>

#include "src/agent/json_answer.h"

namespace beeline {

namespace {

using BufferJson = nlohmann::json;

constexpr int kMostTasks = 1000;

ServiceCall to_buffer(std::string_view type) { return {"the buffer", type}; }

void read_age(JsonAnswer& from, std::chrono::milliseconds& to) {
  std::int64_t age = 0;
  from.read("oldest_age_ms", age);
  to = std::chrono::milliseconds(age);
}

BufferedMessage message_in(JsonAnswer& from) {
  BufferedMessage message;
  from.read("id", message.id);
  from.read("channel", message.channel);
  from.read("sender", message.sender);
  from.read("conversation", message.conversation);
  from.read("payload", message.payload);
  from.read("received_at", message.received_at);
  from.read("priority", message.priority);
  return message;
}

BufferDepth depth_in(JsonAnswer& from) {
  BufferDepth depth;
  from.read("channel", depth.channel);
  from.read("unrouted", depth.unrouted);
  read_age(from, depth.oldest_age);
  return depth;
}

BufferTask buffer_task_in(JsonAnswer& from) {
  BufferTask task;
  from.read("id", task.id);
  from.read("batch", task.batch);
  from.read("channel", task.channel);
  from.read("conversation", task.conversation);
  from.read("template", task.agent_template);
  from.read("text", task.text);
  from.read("status", task.status);
  from.read("pid", task.pid);
  from.read("exit_code", task.exit_code);
  from.read("result", task.result);
  return task;
}

}  // namespace

Result<std::string> put_request(const BufferEntry& entry) {
  BufferJson json = {{"channel", entry.channel}, {"payload", entry.payload}};
  if (!entry.sender.empty()) json["sender"] = entry.sender;
  if (!entry.conversation.empty()) json["conversation"] = entry.conversation;
  if (entry.priority) json["priority"] = *entry.priority;
  if (!entry.key.empty()) json["key"] = entry.key;
  return text_of_request(to_buffer(kPutRequest), json);
}

std::string next_request(std::uint32_t count) { return fmt::format(R"({{"count":{}}})", count); }

std::string acknowledge_request(std::int64_t batch) {
  return fmt::format(R"({{"batch":{}}})", batch);
}

Result<std::string> tasks_request(const std::string& status) {
  BufferJson json = {{"what", "tasks"}, {"most", kMostTasks}};
  if (!status.empty()) json["status"] = status;
  return text_of_request(to_buffer(kTasksRequest), json);
}

Result<BufferReceipt> read_receipt(std::string_view answer) {
  return read_answer(to_buffer(kPutRequest), answer, [](JsonAnswer& from) {
    BufferReceipt receipt;
    from.read("id", receipt.id);
    from.read("repeated", receipt.repeated);
    return receipt;
  });
}

Result<bool> read_acknowledged(std::string_view answer) {
  return read_answer(to_buffer(kAcknowledgeRequest), answer, [](JsonAnswer& from) {
    bool was_open = false;
    from.read("was_open", was_open);
    return was_open;
  });
}

Result<BufferStatus> read_status(std::string_view answer) {
  return read_answer(to_buffer(kStatusRequest), answer, [](JsonAnswer& from) {
    BufferStatus status;
    from.read("unrouted", status.unrouted);
    read_age(from, status.oldest_age);
    from.read_list("channels", status.channels, depth_in);
    from.read("waiting_batches", status.waiting_batches);
    from.read("waiting_messages", status.waiting_messages);
    from.read("leased_batches", status.leased_batches);
    from.read("leased_messages", status.leased_messages);
    from.read("waiting_tasks", status.waiting_tasks);
    from.read("open_tasks", status.open_tasks);
    return status;
  });
}

Result<std::vector<BufferTask>> read_tasks(std::string_view answer) {
  return read_answer(to_buffer(kTasksRequest), answer, [](JsonAnswer& from) {
    std::vector<BufferTask> tasks;
    from.read_list("tasks", tasks, buffer_task_in);
    return tasks;
  });
}

Result<BufferBatch> read_batch(std::string_view payload) {
  const auto json = BufferJson::parse(payload, nullptr, /*allow_exceptions=*/false);
  JsonAnswer from(json);
  BufferBatch batch;
  from.read("id", batch.id);
  from.read("channel", batch.channel);
  from.read("conversation", batch.conversation);
  from.read("redelivered", batch.redelivered);
  from.read_list("messages", batch.messages, message_in);
  if (batch.messages.empty()) from.adopt("\"messages\" must have one at least, the list is empty");
  if (from.error().empty()) return batch;
  return fail(ErrorCode::kInvalid, "it is no batch of a buffer: " + from.error());
}

}  // namespace beeline
