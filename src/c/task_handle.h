#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <beeline/c/tasks.h>
#include <beeline/task.h>

#include "src/c/dependents.h"

// A task in the hands of a child.
struct beeline_task final : public beeline::c::Dependent {
 public:
  beeline_task(beeline::c::Dependents& owner, beeline::TaskRun begun);

  // Null once it has ended.
  [[nodiscard]] beeline::TaskRun* run() { return has_run() ? &*run_ : nullptr; }
  [[nodiscard]] const beeline::TaskRun* run() const { return has_run() ? &*run_ : nullptr; }
  [[nodiscard]] const beeline_work& work() const { return work_; }

 private:
  void end() override { run_.reset(); }
  [[nodiscard]] bool has_run() const { return run_ && run_->valid(); }

  std::optional<beeline::TaskRun> run_;
  beeline::Task task_;  // a copy, because the caller reads it after the end of the agent, too
  std::vector<beeline_pair> params_;
  beeline_work work_{};
};
