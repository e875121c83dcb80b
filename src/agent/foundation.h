#pragma once
// The foundation of an agent: all that attach() has asked for and created before the agent begins.

#include <memory>

#include "src/agent/own_life.h"
#include "src/agent/retries.h"
#include "src/control/client.h"
#include "src/limit/token_bucket.h"
#include "src/receive/home_memory.h"
#include "src/segment/foreign.h"
#include "src/segment/owned.h"
#include "src/wake/waiter.h"

namespace beeline {

struct Foundation {
  Identity identity;
  control::Client client;
  control::Attached attached;  // the directory and the predecessor's home among it
  segment::Foreign directory;
  std::unique_ptr<receive::HomeMemory> home;
  segment::Owned status;
  wake::BellSet bells;
  wake::WaitPolicy policy;
  limit::TokenBucket send_rate;     // of each link that this agent opens, full
  limit::TokenBucket receive_rate;  // of each sender, full
  Retries retries;

  // Joins the hive, up to the point at which the agent begins to act. A failure after the
  // coordinator has counted the agent is followed by a farewell.
  [[nodiscard]] static Result<Foundation> lay(const AttachOptions& options);
};

}  // namespace beeline
