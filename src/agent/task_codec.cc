#include "src/agent/task_codec.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "shm/task_form.h"

namespace beeline {

namespace {

using shm::TaskForm;
using shm::TaskFormReader;
using shm::TaskFormWriter;
using Pairs = std::map<std::string, std::string>;

std::uint64_t bytes_of(const Pairs& pairs) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : pairs) {
    sum += TaskFormWriter::bytes_of(key) + TaskFormWriter::bytes_of(value);
  }
  return sum;
}

void put(TaskFormWriter& form, const Pairs& pairs) {
  for (const auto& [key, value] : pairs) {
    form.put(key);
    form.put(value);
  }
}

shm::TaskHead head_of(TaskForm form, const Pairs* first, const Pairs* second) {
  const auto count = [](const Pairs* pairs) {
    return static_cast<std::uint32_t>(pairs == nullptr ? 0 : pairs->size());
  };
  return {.form = static_cast<std::uint32_t>(form),
          .number = 0,
          .timeout_ms = 0,
          .texts = shm::texts_of(form),
          .pairs = {count(first), count(second)},
          .reserved = 0};
}

bool take(TaskFormReader& form, std::string& to) {
  const auto text = form.next();
  if (text) to = *text;
  return text.has_value();
}

// The keys rise: a map takes each at its end.
bool take(TaskFormReader& form, std::uint32_t count, Pairs& to) {
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string key;
    std::string value;
    if (!take(form, key) || !take(form, value)) return false;
    if (!to.empty() && to.rbegin()->first >= key) return false;
    to.emplace_hint(to.end(), std::move(key), std::move(value));
  }
  return true;
}

tl::unexpected<Error> lie(std::string_view what, std::size_t bytes, std::string_view where) {
  return fail(ErrorCode::kProtocol, "the " + std::to_string(bytes) + " bytes are no " +
                                        std::string(what) + ": " + std::string(where) +
                                        " cannot be right");
}

}  // namespace

std::uint64_t encoded_bytes(const Task& task) {
  std::uint64_t sum = sizeof(shm::TaskHead) + bytes_of(task.params);
  for (const auto& text : {std::cref(task.id), std::cref(task.description), std::cref(task.context),
                           std::cref(task.parent_task)}) {
    sum += TaskFormWriter::bytes_of(text.get());
  }
  return sum;
}

std::uint64_t encoded_bytes(const TaskResult& result) {
  return sizeof(shm::TaskHead) + TaskFormWriter::bytes_of(result.output) +
         bytes_of(result.artifacts) + bytes_of(result.metadata);
}

std::string encode(const Task& task, std::chrono::milliseconds timeout) {
  std::string out;
  out.reserve(encoded_bytes(task));
  shm::TaskHead head = head_of(TaskForm::kTask, &task.params, nullptr);
  head.number = task.priority;
  head.timeout_ms = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(timeout.count(), 0, kMostTimeout.count()));
  TaskFormWriter form(out, head);
  form.put(task.id);
  form.put(task.description);
  form.put(task.context);
  form.put(task.parent_task);
  put(form, task.params);
  return out;
}

std::string encode(const TaskResult& result) {
  std::string out;
  out.reserve(encoded_bytes(result));
  shm::TaskHead head = head_of(TaskForm::kResult, &result.artifacts, &result.metadata);
  head.number = result.exit_code;
  TaskFormWriter form(out, head);
  form.put(result.output);
  put(form, result.artifacts);
  put(form, result.metadata);
  return out;
}

std::string encode_failure(std::string_view text) {
  std::string out;
  TaskFormWriter form(out, head_of(TaskForm::kFailure, nullptr, nullptr));
  form.put(text);
  return out;
}

Result<Task> decode_task(std::span<const std::byte> bytes) {
  constexpr std::string_view kWhat = "task";
  TaskFormReader form(bytes);
  const auto head = form.head(TaskForm::kTask);
  if (!head || head->pairs[1] != 0) return lie(kWhat, bytes.size(), "the head");
  if (head->timeout_ms > static_cast<std::uint64_t>(kMostTimeout.count()))
    return lie(kWhat, bytes.size(), "the timeout");
  Task task;
  task.priority = head->number;
  task.timeout = std::chrono::milliseconds(head->timeout_ms);
  if (!take(form, task.id) || !take(form, task.description) || !take(form, task.context) ||
      !take(form, task.parent_task)) {
    return lie(kWhat, bytes.size(), "the length of a text");
  }
  if (!take(form, head->pairs[0], task.params)) return lie(kWhat, bytes.size(), "a parameter");
  if (!form.at_end()) return lie(kWhat, bytes.size(), "the rest behind it");
  return task;
}

Result<TaskResult> decode_result(std::span<const std::byte> bytes) {
  constexpr std::string_view kWhat = "result";
  TaskFormReader failure(bytes);
  if (const auto head = failure.head(TaskForm::kFailure); head) {
    const auto text = failure.next();
    const bool is_plain = (head->pairs[0] | head->pairs[1]) == 0 && head->number == 0;
    const bool is_sound = text && failure.at_end() && is_plain && head->timeout_ms == 0;
    if (!is_sound) return lie("failure", bytes.size(), "its text");
    return fail(ErrorCode::kFailed, "task failed: " + std::string(*text));
  }
  TaskFormReader form(bytes);
  const auto head = form.head(TaskForm::kResult);
  if (!head || head->timeout_ms != 0) return lie(kWhat, bytes.size(), "the head");
  TaskResult result;
  result.exit_code = head->number;
  if (!take(form, result.output)) return lie(kWhat, bytes.size(), "the length of the output");
  if (!take(form, head->pairs[0], result.artifacts)) {
    return lie(kWhat, bytes.size(), "an artifact");
  }
  if (!take(form, head->pairs[1], result.metadata)) {
    return lie(kWhat, bytes.size(), "a piece of metadata");
  }
  if (!form.at_end()) return lie(kWhat, bytes.size(), "the rest behind it");
  return result;
}

}  // namespace beeline
