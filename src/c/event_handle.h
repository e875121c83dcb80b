#pragma once

#include <string>
#include <vector>

#include <beeline/c/tasks.h>
#include <beeline/result.h>
#include <beeline/task.h>

// A word of a child about a task, or the end of it. It needs no agent.
struct beeline_event {
 public:
  beeline_event() = default;
  explicit beeline_event(const beeline::TaskProgress& progress);
  beeline_event(const beeline_event&) = delete;
  beeline_event& operator=(const beeline_event&) = delete;

  void end(beeline::Result<beeline::TaskResult> result);
  // Before the caller gets it. Throws std::bad_alloc; then it may be called again.
  void prepare();
  [[nodiscard]] const beeline_outcome* outcome() const {
    return has_outcome_ ? &outcome_ : nullptr;
  }

  beeline_id task = 0;
  int32_t kind = BEELINE_EVENT_END;
  beeline_code code = BEELINE_OK;
  std::string text{};

 private:
  beeline::TaskResult result_{};
  std::vector<beeline_pair> artifacts_{};
  std::vector<beeline_pair> metadata_{};
  beeline_outcome outcome_{};
  bool has_outcome_ = false;
};
