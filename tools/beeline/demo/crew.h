#pragma once

// The processes of the demo, seen from the demo itself.

#include <sys/types.h>

#include <chrono>
#include <string>

#include <beeline/result.h>
#include <beeline/types.h>

#include "tools/beeline/demo/events.h"
#include "tools/beeline/demo/report.h"
#include "tools/beeline/signals.h"

namespace beeline::cli::demo {

// Starts the queen, and with her all others; ends them all at the latest in its destructor.
// REQUIRES: this process is a child subreaper, so that orphans become its children.
class Crew {
 public:
  // Errors: kSystem.
  [[nodiscard]] static Result<Crew> start(const std::string& directory, const std::string& python);

  Crew(Crew&& other) noexcept;
  Crew& operator=(Crew&&) = delete;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  // Follows events until the queen has the sum, and kills the worker that holds the marked task.
  // Errors: kClosed (a signal, or the queen ended), kTimeout, and any failure that a process
  // reported.
  [[nodiscard]] Result<void> follow_work(Story& story, Signals& signals, Deadline deadline);

  // Follows events until all processes have closed their accounts and ended. Errors: the same.
  [[nodiscard]] Result<void> follow_end(Story& story, Signals& signals, Deadline deadline);

 private:
  Crew(EventReader events, pid_t queen) : events_(std::move(events)), queen_(queen) {}

  // The next event; null at the end of all processes.
  Result<Json> next_event(Signals& signals, Deadline deadline);
  Result<void> note(Story& story, const Json& event);

  EventReader events_;
  pid_t queen_;
};

// Reaps children until there are none. False if some are left after `timeout`.
[[nodiscard]] bool reap_all(std::chrono::nanoseconds timeout);

}  // namespace beeline::cli::demo
