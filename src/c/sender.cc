#include <beeline/c/agent.h>

#include <memory>
#include <utility>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/options.h"
#include "src/c/sender_gate.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

struct beeline_sender {
  std::shared_ptr<SenderGate> gate;
};

beeline_code beeline_sender_new(beeline_agent* agent, beeline_sender** sender) {
  return checked(__func__, {{"agent", agent}, {"sender", sender}},
                 [&](const char*) -> beeline_code {
                   *sender = nullptr;
                   *sender = new beeline_sender{agent->gate()};
                   return BEELINE_OK;
                 });
}

beeline_code beeline_sender_send(beeline_sender* sender, beeline_peer peer, const void* payload,
                                 size_t length, int64_t timeout_ns,
                                 const beeline_send_options* options, beeline_id* id) {
  return checked(__func__, {{"sender", sender}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   beeline::SendOptions wanted;
                   const beeline_code read = read_options(function, options, wanted);
                   if (read != BEELINE_OK) return read;
                   const auto sent = sender->gate->send(peer_of(peer), payload_of(payload, length),
                                                        wanted, deadline_of(timeout_ns));
                   if (!sent) return ended(function, "the agent of this sender was closed");
                   return outcome_of(*sent, id);
                 });
}

void beeline_sender_free(beeline_sender* sender) { delete sender; }
