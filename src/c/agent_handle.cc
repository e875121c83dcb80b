#include "src/c/agent_handle.h"

#include <unistd.h>
#include <utility>

beeline_agent::beeline_agent(beeline::Agent attached)
    : agent(std::move(attached)), messages(*this), process_(::getpid()) {}

// Other threads that wait for room end first, so that detach() finds none of them. In a child made
// by fork() there are none, and the lock may be held for ever.
beeline_agent::~beeline_agent() {
  const bool has_threads = gate_ != nullptr && process_ == ::getpid();
  if (has_threads) gate_->close();
  dependents.end();
  for (beeline::Message& result : results) result.put_back();
  results.clear();
  messages.end();
}

std::shared_ptr<beeline::c::SenderGate> beeline_agent::gate() {
  if (gate_ == nullptr) gate_ = std::make_shared<beeline::c::SenderGate>(agent);
  return gate_;
}
