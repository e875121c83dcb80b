#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <sys/types.h>

#include <beeline/agent.h>
#include <beeline/c/agent.h>

#include "src/c/ack_queue.h"
#include "src/c/dependents.h"
#include "src/c/event_queue.h"
#include "src/c/message_pool.h"
#include "src/c/sender_gate.h"

// An agent, with all that its handles need.
struct beeline_agent {
 public:
  explicit beeline_agent(beeline::Agent attached);
  beeline_agent(const beeline_agent&) = delete;
  beeline_agent& operator=(const beeline_agent&) = delete;
  // Orphans all handles, waits for the calls of other threads, and leaves the hive.
  ~beeline_agent();

  // The way for other threads; made by the first call.
  [[nodiscard]] std::shared_ptr<beeline::c::SenderGate> gate();

  // Callbacks of the agent fill the first two.
  beeline::c::AckQueue acks{};
  beeline::c::EventQueue events{};
  beeline::Agent agent;
  beeline::c::MessagePool messages;
  beeline::c::Dependents dependents{};
  std::vector<beeline::Message>
      batch{};  // of beeline_receive_batch(); between calls none of them is held
  std::deque<beeline::Message> results{};  // that beeline_next_result() has not given yet
  beeline::Acknowledgement last_ack{};
  beeline::Notice last_notice{};
  int serving = 0;                // calls of beeline_serve() in which a handler runs
  bool is_closed_inside = false;  // by such a handler

 private:
  std::shared_ptr<beeline::c::SenderGate> gate_{};
  pid_t process_;
};
