#pragma once

// One-shot jobs as values: at its time a job becomes a message, or a task.

#include <cstdint>
#include <string>

namespace beeline::buffer {

using JobId = std::int64_t;

struct Job {
  JobId id = 0;
  std::int64_t due_unix_ms = 0;
  std::string agent_template{};  // of the agent to spawn; empty: the main agent is notified
  std::string text{};            // of the message or the task
  std::string key{};             // a second job with this key is the first one; empty: none
};

}  // namespace beeline::buffer
