#include "src/c/event_queue.h"

#include <new>
#include <utility>

namespace beeline::c {

Result<MessageId> EventQueue::execute(Tasks tasks, const To& child, const Task& task,
                                      Deadline deadline) {
  const auto at = open_.insert(open_.end(), std::make_unique<beeline_event>());
  const auto then = [this, at](Result<TaskResult> result) {
    (*at)->end(std::move(result));
    come_.splice(come_.end(), open_, at);
  };
  auto sent = tasks.execute_then(
      child, task, then, [this](const TaskProgress& progress) { report(progress); }, deadline);
  if (sent) {
    (*at)->task = *sent;
  } else {
    open_.erase(at);
  }
  return sent;
}

// A report does not wait for memory, as it does not wait for room.
void EventQueue::report(const TaskProgress& progress) {
  try {
    come_.push_back(std::make_unique<beeline_event>(progress));
  } catch (const std::bad_alloc&) {
  }
}

beeline_event* EventQueue::next() {
  if (come_.empty()) return nullptr;
  come_.front()->prepare();
  beeline_event* const first = come_.front().release();
  come_.pop_front();
  return first;
}

}  // namespace beeline::c
