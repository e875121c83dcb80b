#pragma once

#include <utility>

#include "src/c/agent_handle.h"
#include "src/c/failure.h"

namespace beeline::c {

// Keeps the acknowledgement, to which the caller's struct refers, and returns its code.
inline beeline_code take_ack(beeline_agent& agent, beeline_id id, Result<Acknowledgement> got,
                             beeline_ack& ack) {
  ack = {};
  ack.id = id;
  ack.reply = "";
  if (!got) {
    ack.code = failed(std::move(got.error()));
    return ack.code;
  }
  agent.last_ack = std::move(*got);
  ack.id = agent.last_ack.id;
  ack.status = static_cast<int32_t>(agent.last_ack.status);
  ack.reply = agent.last_ack.reply.c_str();
  ack.reply_length = agent.last_ack.reply.size();
  ack.is_cut = agent.last_ack.is_cut;
  return BEELINE_OK;
}

}  // namespace beeline::c
