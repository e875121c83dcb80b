#pragma once

// Tasks as values: a task is a batch for an agent that is spawned for it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/buffer/message.h"

namespace beeline::buffer {

// A step in the life of a task.
struct TaskStep {
  std::string at{};
  std::string status{};
  std::string detail{};
};

struct Task {
  TaskId id = 0;
  BatchId batch = 0;
  std::string channel{};
  std::string conversation{};
  std::string agent_template{};
  std::string text{};
  std::string status{};  // waiting, starting, running, completed, failed
  std::int64_t pid = 0;  // of the agent; 0: none yet
  std::optional<std::int32_t> exit_code{};
  std::string result{};  // or the reason of the failure
  std::string created_at{};
  std::string ended_at{};           // empty while it is open
  std::vector<TaskStep> history{};  // empty in lists
  std::vector<Message> messages{};  // empty in lists
};

// The end of a task, as its agent or the steward said it.
struct TaskEnd {
  TaskId task = 0;
  bool has_failed = false;
  std::optional<std::int32_t> exit_code{};
  std::string result{};
};

}  // namespace beeline::buffer
