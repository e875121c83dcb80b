// Calls that send and wait for no answer.

#include <beeline/c/agent.h>

#include <memory>
#include <utility>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/loan_handle.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

// Calls `send` with the options for the C++ library.
template <typename Send>
beeline_code send_with(const char* function, const beeline_send_options* options, beeline_id* id,
                       const Send& send) {
  if (options == nullptr) [[likely]]
    return outcome_of(send(beeline::kPlainSend), id);
  beeline::SendOptions wanted;
  const beeline_code read = read_options(function, options, wanted);
  return read == BEELINE_OK ? outcome_of(send(wanted), id) : read;
}

// Not inline, so that beeline_send() is short.
[[gnu::noinline]] beeline_code send_fully(beeline_agent* agent, beeline_peer peer,
                                          const void* payload, size_t length, int64_t timeout_ns,
                                          const beeline_send_options* options, beeline_id* id) {
  return checked("beeline_send", {{"agent", agent}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   return send_with(function, options, id, [&](const beeline::SendOptions& wanted) {
                     const beeline::Payload bytes = payload_of(payload, length);
                     if (timeout_ns <= 0 && peer.slot != UINT32_MAX) {
                       return agent->agent.send(peer_of(peer), bytes, wanted);
                     }
                     return agent->agent.send_until(to_of(peer), bytes, deadline_of(timeout_ns),
                                                    wanted);
                   });
                 });
}

}  // namespace

beeline_code beeline_send(beeline_agent* agent, beeline_peer peer, const void* payload,
                          size_t length, int64_t timeout_ns, const beeline_send_options* options,
                          beeline_id* id) {
  if (agent == nullptr || payload == nullptr || options != nullptr || timeout_ns > 0 ||
      peer.slot == UINT32_MAX) [[unlikely]] {
    return send_fully(agent, peer, payload, length, timeout_ns, options, id);
  }
  try {
    return outcome_of(agent->agent.send(peer_of(peer), payload_of(payload, length)), id);
  } catch (const std::exception&) {
    return caught(__func__);
  }
}

beeline_code beeline_fire_and_forget(beeline_agent* agent, beeline_peer peer, const void* payload,
                                     size_t length, const beeline_send_options* options,
                                     beeline_id* id) {
  return checked(__func__, {{"agent", agent}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   return send_with(function, options, id, [&](const auto& wanted) {
                     return agent->agent.fire_and_forget(to_of(peer), payload_of(payload, length),
                                                         wanted);
                   });
                 });
}

beeline_code beeline_cancel(beeline_agent* agent, beeline_peer peer, beeline_id id) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    return outcome_of(agent->agent.cancel(to_of(peer), id), nullptr);
  });
}

beeline_code beeline_send_control(beeline_agent* agent, beeline_peer peer, const char* type,
                                  size_t type_length, const void* payload, size_t length,
                                  const beeline_send_options* options, beeline_id* id) {
  return checked(__func__,
                 {{"agent", agent}, {"type", type}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   return send_with(function, options, id, [&](const auto& wanted) {
                     return agent->agent.send_control(to_of(peer), text_of(type, type_length),
                                                      payload_of(payload, length), wanted);
                   });
                 });
}

beeline_code beeline_escalate(beeline_agent* agent, const void* payload, size_t length,
                              const beeline_send_options* options, beeline_id* id) {
  return checked(__func__, {{"agent", agent}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   return send_with(function, options, id, [&](const auto& wanted) {
                     return agent->agent.escalate(payload_of(payload, length), wanted);
                   });
                 });
}

beeline_code beeline_reply(beeline_message* message, const void* payload, size_t length,
                           int64_t timeout_ns, const beeline_send_options* options,
                           beeline_id* id) {
  return checked(
      __func__, {{"message", message}, bytes_argument("payload", payload, length)},
      [&](const char* function) -> beeline_code {
        if (!message->message.valid()) {
          return ended(function, "the lease of this message has ended, so it takes no answer");
        }
        return send_with(function, options, id, [&](const auto& wanted) {
          return message->agent->agent.reply_until(message->message, payload_of(payload, length),
                                                   deadline_of(timeout_ns), wanted);
        });
      });
}

beeline_code beeline_borrow(beeline_agent* agent, beeline_peer peer, size_t length,
                            int64_t timeout_ns, beeline_loan** loan) {
  return checked(__func__, {{"agent", agent}, {"loan", loan}}, [&](const char*) -> beeline_code {
    *loan = nullptr;
    auto lent = agent->agent.loan_until(to_of(peer), length, deadline_of(timeout_ns));
    if (!lent) return failed(std::move(lent.error()));
    *loan = new beeline_loan(agent->dependents, *agent, std::move(*lent));
    return BEELINE_OK;
  });
}

void* beeline_loan_bytes(beeline_loan* loan, size_t* length) {
  const bool is_lent = loan != nullptr && loan->loan.valid();
  if (length != nullptr) *length = is_lent ? loan->loan.size() : 0;
  return is_lent ? loan->loan.bytes().data() : nullptr;
}

namespace {

constexpr const char* kLoanHasEnded = "the loan was sent, or its agent was closed: borrow again";

}  // namespace

beeline_code beeline_loan_shrink(beeline_loan* loan, size_t length) {
  return checked(__func__, {{"loan", loan}}, [&](const char* function) -> beeline_code {
    if (!loan->loan.valid()) return ended(function, kLoanHasEnded);
    return outcome_of(loan->loan.shrink(length));
  });
}

beeline_code beeline_loan_send(beeline_loan* loan, int64_t timeout_ns,
                               const beeline_send_options* options, beeline_id* id) {
  return checked(__func__, {{"loan", loan}}, [&](const char* function) -> beeline_code {
    if (!loan->loan.valid()) return ended(function, kLoanHasEnded);
    return send_with(function, options, id, [&](const auto& wanted) {
      return loan->agent.agent.send_until(loan->loan, deadline_of(timeout_ns), wanted);
    });
  });
}

void beeline_loan_free(beeline_loan* loan) { delete loan; }
