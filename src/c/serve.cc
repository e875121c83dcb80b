#include <beeline/c/agent.h>

#include <string>
#include <utility>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

// Calls the handler of the caller with handles.
class HandlerCall {
 public:
  HandlerCall(beeline_agent& agent, beeline_handler handler, void* user)
      : agent_(agent), handler_(handler), user_(user) {}

  beeline::Ack operator()(beeline::Message& message) {
    beeline_message* const handle = agent_.messages.hold(std::move(message));
    ++agent_.serving;
    const int32_t result = handler_(handle, user_);
    --agent_.serving;
    if (result == BEELINE_ACK_QUEUED) return {beeline::AckStatus::kQueued};
    message = std::move(handle->message);
    agent_.messages.give_back(handle);
    if (result >= BEELINE_ACK_ACCEPTED && result <= BEELINE_ACK_ESCALATE) {
      return {static_cast<beeline::AckStatus>(result)};
    }
    if (message.valid()) message.requeue();
    unknown_ = result;
    is_unknown_ = true;
    agent_.agent.stop_serving();
    return {};
  }

  // The end of beeline_serve() when a handler has returned something else.
  [[nodiscard]] bool is_unknown() const { return is_unknown_; }
  [[nodiscard]] int32_t unknown() const { return unknown_; }

 private:
  beeline_agent& agent_;
  beeline_handler handler_;
  void* user_;
  int32_t unknown_ = 0;
  bool is_unknown_ = false;
};

}  // namespace

beeline_code beeline_serve(beeline_agent* agent, beeline_handler handler, void* user,
                           int64_t timeout_ns, size_t most, size_t* handled) {
  const bool has_handler = handler != nullptr;
  return checked(
      __func__, {{"agent", agent}, {"handler", has_handler ? "" : nullptr}},
      [&](const char* function) -> beeline_code {
        if (handled != nullptr) *handled = 0;
        HandlerCall call(*agent, handler, user);
        beeline::ServeOptions options;
        options.until = beeline::after(wait_of(timeout_ns));
        options.most = most;
        auto served =
            agent->agent.serve([&](beeline::Message& each) { return call(each); }, options);
        if (agent->is_closed_inside && agent->serving == 0) delete agent;
        if (call.is_unknown()) {
          return invalid(function, {"the handler returned ", std::to_string(call.unknown()),
                                    ", no BEELINE_ACK_...: its message was requeued"});
        }
        if (!served) return failed(std::move(served.error()));
        if (handled != nullptr) *handled = *served;
        return BEELINE_OK;
      });
}

void beeline_stop_serving(beeline_agent* agent) {
  if (agent != nullptr) agent->agent.stop_serving();
}
