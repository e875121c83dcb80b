#pragma once
// The payload of a task, of its result, and of the failure of one:
//
//   | TaskHead | texts | pairs of the first list | pairs of the second list |
//
// A text is its length, four bytes, and its bytes; nothing is aligned. A pair is two texts: a key
// and a value. The keys of a list rise, so each is there once. The form ends where the payload
// ends.
//
// Written by: the sender. Read by: the receiver, as bytes of a stranger: each length is read once,
// and compared with what is left.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "shm/check.h"

namespace beeline::shm {

enum class TaskForm : std::uint32_t {
  kTask = 1,     // texts: id, description, context, parent task; pairs: params
  kResult = 2,   // text: output; pairs: artifacts, metadata
  kFailure = 3,  // text: why
};

[[nodiscard]] constexpr const char* to_string(TaskForm form) {
  switch (form) {
    case TaskForm::kTask:
      return "task";
    case TaskForm::kResult:
      return "result";
    case TaskForm::kFailure:
      return "failure";
  }
  return "unknown";
}

struct TaskHead {
  std::uint32_t form;        // TaskForm
  std::int32_t number;       // of a task its priority, of a result its exit code
  std::uint64_t timeout_ms;  // of a task
  std::uint32_t texts;
  std::uint32_t pairs[2];
  std::uint32_t reserved;
};
static_assert(sizeof(TaskHead) == 32);
static_assert(offsetof(TaskHead, texts) == 16);

[[nodiscard]] constexpr bool is_form(std::uint32_t form) {
  return form >= static_cast<std::uint32_t>(TaskForm::kTask) &&
         form <= static_cast<std::uint32_t>(TaskForm::kFailure);
}
// Number of texts that a form begins with.
[[nodiscard]] constexpr std::uint32_t texts_of(TaskForm form) {
  return form == TaskForm::kTask ? 4 : 1;
}

// Writes a form into memory that has room for it.
class TaskFormWriter {
 public:
  TaskFormWriter(std::span<char> room, const TaskHead& head) : room_(room) {
    put_bytes(&head, sizeof(head));
  }
  // Bytes of a text.
  [[nodiscard]] static std::uint64_t bytes_of(std::string_view text) {
    return sizeof(std::uint32_t) + text.size();
  }
  // REQUIRES: it is shorter than 4 GiB.
  void put(std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    put_bytes(&length, sizeof(length));
    put_bytes(text.data(), text.size());
  }

 private:
  void put_bytes(const void* from, std::size_t count) {
    if (count == 0) return;
    BEELINE_CHECK(count <= room_.size(), count, room_.size());
    std::memcpy(room_.data(), from, count);
    room_ = room_.subspan(count);
  }
  std::span<char> room_;
};

// Reads a form from the front. After the first lie it yields nothing more.
class TaskFormReader {
 public:
  explicit TaskFormReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  // Empty where it is no head of a form, or counts more than the bytes can hold.
  [[nodiscard]] std::optional<TaskHead> head() {
    std::optional<TaskHead> head(std::in_place);
    if (!read(*head)) return std::nullopt;
    const std::uint64_t most = rest_.size() / sizeof(std::uint32_t);
    const std::uint64_t pairs = std::uint64_t{head->pairs[0]} + head->pairs[1];
    const bool is_sound = is_form(head->form) && head->reserved == 0 &&
                          head->texts == texts_of(static_cast<TaskForm>(head->form)) &&
                          head->texts + 2 * pairs <= most;
    if (!is_sound) head.reset();
    return head;
  }
  // The next text, as a view of the bytes; empty where its length is a lie.
  [[nodiscard]] std::optional<std::string_view> next() {
    std::uint32_t length = 0;
    if (!read(length) || length > rest_.size()) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
    return text;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  template <typename T>
  [[nodiscard]] bool read(T& to) {
    if (rest_.size() < sizeof(T)) {
      rest_ = {};
      return false;
    }
    std::memcpy(&to, rest_.data(), sizeof(T));
    // SUBTLE: so that the compiler does not read the bytes again after they were checked.
    asm volatile("" : "+m"(to));
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  std::span<const std::byte> rest_;
};

}  // namespace beeline::shm
