#include "src/c/task_handle.h"

#include <memory>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/task_words.h"
#include "src/c/waiting.h"

using beeline::c::bytes_of;
using beeline::c::checked;

beeline_task::beeline_task(beeline::c::Dependents& owner, beeline::TaskRun begun)
    : Dependent(owner),
      run_(std::move(begun)),
      task_(run_->task()),
      params_(beeline::c::pairs_of(task_.params)) {
  beeline_work_init(&work_);
  work_.id = bytes_of(task_.id);
  work_.description = bytes_of(task_.description);
  work_.context = bytes_of(task_.context);
  work_.parent_task = bytes_of(task_.parent_task);
  work_.params = params_.data();
  work_.param_count = params_.size();
  work_.timeout_ms = task_.timeout.count();
  work_.priority = task_.priority;
}

namespace {

constexpr const char* kTaskHasEnded = "the task has ended, or its agent was closed";

}  // namespace

void beeline_accept_tasks(beeline_agent* agent, bool wanted) {
  if (agent != nullptr) agent->agent.tasks().accept(wanted);
}

beeline_code beeline_next_task(beeline_agent* agent, int64_t timeout_ns, beeline_task** task) {
  return checked(
      __func__, {{"agent", agent}, {"task", task}}, [&](const char* function) -> beeline_code {
        *task = nullptr;
        const auto is_there = [](const beeline::Readiness& found) { return found.tasks != 0; };
        return beeline::c::wait_in_loop(function, *agent, timeout_ns, is_there, [&] {
          auto run = agent->agent.tasks().next();
          if (run)
            *task = std::make_unique<beeline_task>(agent->dependents, std::move(*run)).release();
          return run.has_value();
        });
      });
}

size_t beeline_tasks_waiting(const beeline_agent* agent) {
  if (agent == nullptr) return 0;
  // The C++ call has no const form, and changes nothing.
  return const_cast<beeline_agent*>(agent)->agent.tasks().waiting();
}

const beeline_work* beeline_task_work(const beeline_task* task) {
  return task == nullptr ? nullptr : &task->work();
}
beeline_id beeline_task_id(const beeline_task* task) {
  return task == nullptr || task->run() == nullptr ? 0 : task->run()->id();
}
beeline_pid beeline_task_from(const beeline_task* task) {
  return task == nullptr || task->run() == nullptr ? 0 : task->run()->from();
}
bool beeline_task_is_cancelled(beeline_task* task) {
  return task == nullptr || task->run() == nullptr || task->run()->is_cancelled();
}

beeline_code beeline_task_report(beeline_task* task, int32_t kind, const char* text,
                                 size_t length) {
  return checked(
      __func__, {{"task", task}, {"text", text}}, [&](const char* function) -> beeline_code {
        beeline::TaskRun* const run = task->run();
        if (run == nullptr) return beeline::c::ended(function, kTaskHasEnded);
        const std::string_view words = beeline::c::text_of(text, length);
        if (kind == BEELINE_EVENT_UPDATE)
          return beeline::c::outcome_of(run->update(words), nullptr);
        if (kind == BEELINE_EVENT_LOG) return beeline::c::outcome_of(run->log(words), nullptr);
        return beeline::c::invalid(function, {"`kind` is ", std::to_string(kind),
                                              ": give BEELINE_EVENT_UPDATE or BEELINE_EVENT_LOG"});
      });
}

beeline_code beeline_task_finish(beeline_task* task, const beeline_outcome* outcome) {
  return checked(__func__, {{"task", task}}, [&](const char* function) -> beeline_code {
    beeline::TaskRun* const run = task->run();
    if (run == nullptr) return beeline::c::ended(function, kTaskHasEnded);
    beeline::TaskResult result;
    const beeline_code read = beeline::c::read_outcome(function, outcome, result);
    if (read == BEELINE_OK) run->finish(result);
    return read;
  });
}

beeline_code beeline_task_fail(beeline_task* task, const char* text, size_t length) {
  return checked(__func__, {{"task", task}}, [&](const char* function) -> beeline_code {
    beeline::TaskRun* const run = task->run();
    if (run == nullptr) return beeline::c::ended(function, kTaskHasEnded);
    run->fail(beeline::c::text_of(text, length));
    return BEELINE_OK;
  });
}

void beeline_task_free(beeline_task* task) { delete task; }
