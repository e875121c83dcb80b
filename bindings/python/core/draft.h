#pragma once
// A message to be sent, as the arguments of a call.

#include "bindings/python/core/attachment.h"
#include "bindings/python/core/payload.h"
#include "bindings/python/core/send_options.h"

namespace beeline::python {

// The receiver, the payload and the options of one call. Two steps, because reading the arguments
// may run Python code, and that may close the agent.
struct Draft {
  Payload payload;
  SendOptions options;
  beeline_peer peer{};

  // `given`: in the order of kSendOptions. False: an exception is set.
  [[nodiscard]] bool read(PyObject* bytes, std::span<PyObject* const> given) {
    return payload.read(bytes) && options.read(given);
  }
  // Enters the agent and finds the receiver, unless `to` is null. False: an exception is set.
  [[nodiscard]] bool enter(Attachment& agent, PyObject* to) {
    return agent.enter() && (to == nullptr || agent.resolve(to, &peer)) && options.bind(agent);
  }
  [[nodiscard]] beeline_code send(Attachment& agent, std::int64_t timeout_ns,
                                  beeline_id* id) const {
    return beeline_send(agent.handle(), peer, payload.data(), payload.size(), timeout_ns,
                        options.get(), id);
  }
};

// The id, or the exception of the code.
[[nodiscard]] inline PyObject* id_or_raise(Attachment& agent, beeline_code code, beeline_id id) {
  return code == BEELINE_OK ? agent.state().message_id(id) : raise(agent.state(), code);
}

}  // namespace beeline::python
