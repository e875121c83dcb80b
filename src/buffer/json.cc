#include "src/buffer/json.h"

#include <nlohmann/json.hpp>

namespace beeline::buffer {
namespace {

// Keys stand as they were written here.
using Json = nlohmann::ordered_json;

// Other programs may have written rows that are no UTF-8.
std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json object_of(const Message& message) {
  return {{"id", message.id},
          {"channel", message.channel},
          {"sender", message.sender},
          {"conversation", message.conversation},
          {"payload", message.payload},
          {"received_at", message.received_at},
          {"priority", message.priority}};
}

Json list_of(const std::vector<Message>& messages) {
  Json list = Json::array();
  for (const Message& message : messages) list.push_back(object_of(message));
  return list;
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json summary_of(const Batch& batch) {
  return {{"id", batch.id},
          {"channel", batch.channel},
          {"conversation", batch.conversation},
          {"state", batch.state},
          {"priority", batch.priority},
          {"messages", batch.message_count},
          {"bytes", batch.bytes},
          {"deliveries", batch.deliveries},
          {"holder", or_null(batch.holder)},
          {"created_at", batch.created_at},
          {"ended_at", or_null(batch.ended_at)}};
}

Json summary_of(const Task& task) {
  return {{"id", task.id},
          {"batch", task.batch},
          {"channel", task.channel},
          {"conversation", task.conversation},
          {"template", task.agent_template},
          {"text", task.text},
          {"status", task.status},
          {"pid", task.pid},
          {"exit_code", task.exit_code ? Json(*task.exit_code) : Json()},
          {"result", task.result},
          {"created_at", task.created_at},
          {"ended_at", or_null(task.ended_at)}};
}

template <typename Value>
std::string summaries(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(summary_of(value));
  return text_of(list);
}

}  // namespace

std::string message_json(const Message& message) { return text_of(object_of(message)); }

std::string batch_json(const Batch& batch) {
  return text_of({{"id", batch.id},
                  {"channel", batch.channel},
                  {"conversation", batch.conversation},
                  {"redelivered", batch.is_redelivered()},
                  {"messages", list_of(batch.messages)}});
}

std::string batch_details_json(const Batch& batch) {
  Json object = summary_of(batch);
  object["messages"] = list_of(batch.messages);
  return text_of(object);
}

std::string batches_json(const std::vector<Batch>& batches) { return summaries(batches); }

std::string task_json(const Task& task) {
  Json object = summary_of(task);
  object["history"] = Json::array();
  for (const TaskStep& step : task.history) {
    object["history"].push_back(
        {{"at", step.at}, {"status", step.status}, {"detail", step.detail}});
  }
  object["messages"] = list_of(task.messages);
  return text_of(object);
}

std::string tasks_json(const std::vector<Task>& tasks) { return summaries(tasks); }

std::string status_json(const Status& status) {
  Json channels = Json::array();
  for (const ChannelDepth& channel : status.channels) {
    channels.push_back({{"channel", channel.channel},
                        {"unrouted", channel.unrouted},
                        {"oldest_age_ms", channel.oldest_age_ms}});
  }
  return text_of({{"unrouted", status.unrouted},
                  {"oldest_age_ms", status.oldest_age_ms},
                  {"channels", channels},
                  {"waiting_batches", status.waiting_batches},
                  {"waiting_messages", status.waiting_messages},
                  {"leased_batches", status.leased_batches},
                  {"leased_messages", status.leased_messages},
                  {"waiting_tasks", status.waiting_tasks},
                  {"open_tasks", status.open_tasks}});
}

}  // namespace beeline::buffer
