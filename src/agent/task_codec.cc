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
  if (text && !text->empty()) to.assign(*text);
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

tl::unexpected<Error> lie(TaskForm form, std::size_t bytes, std::string_view where) {
  return fail(ErrorCode::kProtocol, "the " + std::to_string(bytes) + " bytes are no " +
                                        shm::to_string(form) + ": " + std::string(where) +
                                        " cannot be right");
}

// These read what lies behind the head, and say where it lies; empty where it does not.
std::string_view read_task(TaskFormReader& form, const shm::TaskHead& head, Task& to) {
  if (head.pairs[1] != 0) return "the head";
  if (head.timeout_ms > static_cast<std::uint64_t>(kMostTimeout.count())) return "the timeout";
  to.priority = head.number;
  to.timeout = std::chrono::milliseconds(head.timeout_ms);
  const bool has_texts = take(form, to.id) && take(form, to.description) &&
                         take(form, to.context) && take(form, to.parent_task);
  if (!has_texts) return "the length of a text";
  if (!take(form, head.pairs[0], to.params)) return "a parameter";
  return form.at_end() ? std::string_view() : "the rest behind it";
}

std::string_view read_result(TaskFormReader& form, const shm::TaskHead& head, TaskResult& to) {
  if (head.timeout_ms != 0) return "the head";
  to.exit_code = head.number;
  if (!take(form, to.output)) return "the length of the output";
  if (!take(form, head.pairs[0], to.artifacts)) return "an artifact";
  if (!take(form, head.pairs[1], to.metadata)) return "a piece of metadata";
  return form.at_end() ? std::string_view() : "the rest behind it";
}

std::string_view read_failure(TaskFormReader& form, const shm::TaskHead& head, std::string& why) {
  const bool is_plain = (head.pairs[0] | head.pairs[1]) == 0 && head.number == 0;
  const bool is_sound = take(form, why) && form.at_end() && is_plain && head.timeout_ms == 0;
  return is_sound ? std::string_view() : "its text";
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

FormBytes encode(const Task& task, std::chrono::milliseconds timeout) {
  FormBytes out(encoded_bytes(task));
  shm::TaskHead head = head_of(TaskForm::kTask, &task.params, nullptr);
  head.number = task.priority;
  head.timeout_ms = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(timeout.count(), 0, kMostTimeout.count()));
  TaskFormWriter form(out.room(), head);
  form.put(task.id);
  form.put(task.description);
  form.put(task.context);
  form.put(task.parent_task);
  put(form, task.params);
  return out;
}

FormBytes encode(const TaskResult& result) {
  FormBytes out(encoded_bytes(result));
  shm::TaskHead head = head_of(TaskForm::kResult, &result.artifacts, &result.metadata);
  head.number = result.exit_code;
  TaskFormWriter form(out.room(), head);
  form.put(result.output);
  put(form, result.artifacts);
  put(form, result.metadata);
  return out;
}

FormBytes encode_failure(std::string_view text) {
  FormBytes out(sizeof(shm::TaskHead) + TaskFormWriter::bytes_of(text));
  TaskFormWriter form(out.room(), head_of(TaskForm::kFailure, nullptr, nullptr));
  form.put(text);
  return out;
}

Result<void> decode_task(std::span<const std::byte> bytes, Task& to) {
  TaskFormReader form(bytes);
  const auto head = form.head();
  const bool is_task = head && head->form == static_cast<std::uint32_t>(TaskForm::kTask);
  const std::string_view wrong = is_task ? read_task(form, *head, to) : "the head";
  if (!wrong.empty()) return lie(TaskForm::kTask, bytes.size(), wrong);
  return {};
}

Result<TaskResult> decode_result(std::span<const std::byte> bytes) {
  Result<TaskResult> result;
  TaskFormReader form(bytes);
  const auto head = form.head();
  if (head && head->form == static_cast<std::uint32_t>(TaskForm::kFailure)) {
    std::string why;
    const std::string_view wrong = read_failure(form, *head, why);
    result = wrong.empty() ? fail(ErrorCode::kFailed, "task failed: " + why)
                           : lie(TaskForm::kFailure, bytes.size(), wrong);
    return result;
  }
  const bool is_result = head && head->form == static_cast<std::uint32_t>(TaskForm::kResult);
  const std::string_view wrong = is_result ? read_result(form, *head, *result) : "the head";
  if (!wrong.empty()) result = lie(TaskForm::kResult, bytes.size(), wrong);
  return result;
}

}  // namespace beeline
