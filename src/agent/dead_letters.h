#pragma once
// The dead letters of an agent: they lie in its home, so it alone puts them back or lets them go. A
// tool asks through the coordinator.

#include <cstddef>

#include <beeline/agent.h>

#include "src/agent/sleeper.h"
#include "src/control/client.h"

namespace beeline {

class DeadLetters {
 public:
  DeadLetters(OwnLife& life, control::Client& client, receive::Receiver& receiver, Sleeper& sleeper)
      : life_(life), client_(client), receiver_(receiver), sleeper_(sleeper) {}

  [[nodiscard]] Result<void> requeue_dead(MessageId id);
  bool purge_dead(MessageId id);
  std::size_t purge_all_dead();
  // A tool asks for one of these.
  void handle(const control::LettersAnnouncement& letters);

 private:
  OwnLife& life_;
  control::Client& client_;
  receive::Receiver& receiver_;
  Sleeper& sleeper_;
};

}  // namespace beeline
