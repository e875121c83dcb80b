#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include <beeline/task.h>

#include "src/c/event_handle.h"

namespace beeline::c {

// The tasks that an agent has given to its children, and their events that have come. The place of
// the end of each task is made before the task is sent, so none is lost for want of memory.
class EventQueue {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  [[nodiscard]] Result<MessageId> execute(Tasks tasks, const To& child, const Task& task,
                                          Deadline deadline);
  [[nodiscard]] std::size_t size() const { return come_.size(); }
  // The next one, or null.
  [[nodiscard]] beeline_event* next();

 private:
  void report(const TaskProgress& progress);

  using Events = std::list<std::unique_ptr<beeline_event>>;
  Events open_{};
  Events come_{};
};

}  // namespace beeline::c
