#include "src/buffer/service/answer.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/buffer/json.h"
#include "src/os/clock.h"

namespace beeline::buffer {
namespace {

using AnswerJson = nlohmann::ordered_json;

std::string dumped(const AnswerJson& json) {
  return json.dump(-1, ' ', false, AnswerJson::error_handler_t::replace);
}

// The codes that an answer may have; the others mean a failure of the system.
std::string_view code_word(ErrorCode code) {
  switch (code) {
    case ErrorCode::kFull:
    case ErrorCode::kTimeout:
    case ErrorCode::kNoAgent:
    case ErrorCode::kInvalid:
      return to_string(code);
    case ErrorCode::kTooBig:
      return to_string(ErrorCode::kInvalid);
    default:
      return to_string(ErrorCode::kSystem);
  }
}

std::string under(std::string_view key, const std::string& json) {
  return fmt::format(R"({{"{}":{}}})", key, json);
}

// The text of a row, if there is one.
template <typename Value>
Result<std::string> row_text(const Result<std::optional<Value>>& found, const ShowRequest& request,
                             std::string (*text_of)(const Value&)) {
  if (!found) return tl::unexpected(found.error());
  if (!*found) {
    return fail(ErrorCode::kNoAgent, fmt::format("there is no {} {}", request.what, request.id));
  }
  return under(request.what, text_of(**found));
}

}  // namespace

std::string error_text(const Error& error) {
  return dumped({{"error", {{"code", code_word(error.code)}, {"text", error.text}}}});
}

std::string put_text(const PutAnswer& answer) {
  return fmt::format(R"({{"id":{},"repeated":{}}})", answer.id, answer.is_repeat);
}

Result<std::string> status_text(Queries& queries, const StatusFacts& facts) {
  const auto status = queries.status(os::realtime_ns() / 1'000'000);
  if (!status) return tl::unexpected(status.error());
  AnswerJson json = AnswerJson::parse(status_json(*status));
  json["commits"] = facts.commits;
  json["database"] = facts.database;
  json["threshold"] = facts.threshold;
  return dumped(json);
}

Result<std::string> list_text(Queries& queries, const ListRequest& request) {
  if (request.what == "messages") {
    const auto messages = queries.unrouted(request.most);
    if (!messages) return tl::unexpected(messages.error());
    std::string list;
    for (const Message& message : *messages) {
      list += (list.empty() ? "" : ",") + message_json(message);
    }
    return under("messages", '[' + list + ']');
  }
  if (request.what == "batches") {
    const auto batches = queries.batches(request.most, request.status);
    if (!batches) return tl::unexpected(batches.error());
    return under("batches", batches_json(*batches));
  }
  const auto tasks = queries.tasks(request.status, request.most);
  if (!tasks) return tl::unexpected(tasks.error());
  return under("tasks", tasks_json(*tasks));
}

Result<std::string> show_text(Queries& queries, const ShowRequest& request) {
  if (request.what == "message") {
    return row_text<Message>(queries.message(request.id), request, message_json);
  }
  if (request.what == "batch") {
    return row_text<Batch>(queries.batch(request.id), request, batch_details_json);
  }
  return row_text<Task>(queries.task(request.id), request, task_json);
}

}  // namespace beeline::buffer
