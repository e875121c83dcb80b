#pragma once
// Tasks and results as the bytes of a message. See shm/task_form.h.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <beeline/task.h>

#include "src/agent/form_bytes.h"

namespace beeline {

// No task waits longer, so a time fits every clock. A form that says more is a lie.
inline constexpr std::chrono::milliseconds kMostTimeout{1'000'000'000'000};

// Bytes of its form. One that is too large for a message is not encoded.
[[nodiscard]] std::uint64_t encoded_bytes(const Task& task);
[[nodiscard]] std::uint64_t encoded_bytes(const TaskResult& result);

// `timeout`: in place of the one of the task.
[[nodiscard]] FormBytes encode(const Task& task, std::chrono::milliseconds timeout);
[[nodiscard]] inline FormBytes encode(const Task& task) { return encode(task, task.timeout); }
[[nodiscard]] FormBytes encode(const TaskResult& result);
[[nodiscard]] FormBytes encode_failure(std::string_view text);

// From the bytes of a stranger, into an empty task. Errors: kProtocol, which names the lie; part of
// the task is filled then.
[[nodiscard]] Result<void> decode_task(std::span<const std::byte> bytes, Task& to);
// The same of a result; a failure is kFailed, with its text.
[[nodiscard]] Result<TaskResult> decode_result(std::span<const std::byte> bytes);

}  // namespace beeline
