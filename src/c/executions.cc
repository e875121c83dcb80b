// The tasks that a parent gives to its children.

#include <beeline/c/tasks.h>

#include <memory>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/task_words.h"
#include "src/c/waiting.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

beeline_code beeline_execute(beeline_agent* agent, beeline_peer child, const beeline_work* work,
                             int64_t timeout_ns, beeline_event** event) {
  return checked(__func__, {{"agent", agent}, {"work", work}, {"event", event}},
                 [&](const char* function) -> beeline_code {
                   *event = nullptr;
                   beeline::Task task;
                   const beeline_code read = read_work(function, work, task);
                   if (read != BEELINE_OK) return read;
                   auto end = std::make_unique<beeline_event>();
                   auto result =
                       agent->agent.tasks().execute(to_of(child), task, deadline_of(timeout_ns));
                   if (!result) return failed(std::move(result.error()));
                   end->end(std::move(result));
                   end->prepare();
                   *event = end.release();
                   return BEELINE_OK;
                 });
}

beeline_code beeline_execute_start(beeline_agent* agent, beeline_peer child,
                                   const beeline_work* work, int64_t timeout_ns, beeline_id* task) {
  return checked(__func__, {{"agent", agent}, {"work", work}, {"task", task}},
                 [&](const char* function) -> beeline_code {
                   *task = 0;
                   beeline::Task given;
                   const beeline_code read = read_work(function, work, given);
                   if (read != BEELINE_OK) return read;
                   auto sent = agent->events.execute(agent->agent.tasks(), to_of(child), given,
                                                     deadline_of(timeout_ns));
                   if (!sent) return failed(std::move(sent.error()));
                   *task = *sent;
                   return BEELINE_OK;
                 });
}

beeline_code beeline_next_task_event(beeline_agent* agent, int64_t timeout_ns,
                                     beeline_event** event) {
  return checked(__func__, {{"agent", agent}, {"event", event}},
                 [&](const char* function) -> beeline_code {
                   const auto is_there = [](const beeline::Readiness&) { return true; };
                   return wait_in_loop(function, *agent, timeout_ns, is_there, [&] {
                     *event = agent->events.next();
                     return *event != nullptr;
                   });
                 });
}

bool beeline_cancel_task(beeline_agent* agent, beeline_id task) {
  if (agent == nullptr) return false;
  return guarded_or(__func__, false, [&] { return agent->agent.tasks().cancel(task); });
}
