#pragma once
// The handler loop.

#include <cstddef>

#include <beeline/agent.h>

#include "src/agent/intake.h"

namespace beeline {

class Escalations;
class OpenQuestions;
class TaskDesk;

class Serving {
 public:
  Serving(OwnLife& life, receive::Receiver& receiver, Intake& intake, Leases& leases,
          OpenQuestions& questions, TaskDesk& tasks, Escalations& escalations)
      : life_(life),
        receiver_(receiver),
        intake_(intake),
        leases_(leases),
        questions_(questions),
        tasks_(tasks),
        escalations_(escalations) {}

  Result<std::size_t> serve(const MessageHandler& handler, const ServeOptions& options);
  void stop() { stopped_ = true; }

 private:
  [[nodiscard]] shm::EntryIndex await_message(const ServeOptions& options, Deadline until);
  [[nodiscard]] bool has_news();
  void handle(const MessageHandler& handler, Message& message);

  OwnLife& life_;
  receive::Receiver& receiver_;
  Intake& intake_;
  Leases& leases_;
  OpenQuestions& questions_;
  TaskDesk& tasks_;
  Escalations& escalations_;
  bool stopped_ = false;
};

}  // namespace beeline
