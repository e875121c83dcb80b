#include <beeline/c/loop.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "src/c/acks.h"
#include "src/c/agent_handle.h"
#include "src/c/agent_list.h"
#include "src/c/arguments.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

static_assert(kFirstReadiness <= sizeof(beeline_readiness));

// Nanoseconds from now until a deadline.
std::int64_t left_until(beeline::Deadline deadline) {
  if (deadline == beeline::Deadline::max()) return BEELINE_FOREVER;
  const auto left = deadline - std::chrono::steady_clock::now();
  return left.count() < 0 ? 0 : left.count();
}

}  // namespace

int beeline_fd(beeline_agent* agent) {
  if (agent == nullptr) return -1;
  return guarded_or(__func__, -1, [&] { return agent->agent.fd(); });
}

beeline_code beeline_poll(beeline_agent* agent, beeline_readiness* found) {
  return checked(
      __func__, {{"agent", agent}, {"found", found}}, [&](const char* function) -> beeline_code {
        const beeline_code sized = check_size(function, "found", found->size, kFirstReadiness);
        if (sized != BEELINE_OK) return sized;
        const beeline::Readiness now = agent->agent.loop().poll();
        beeline_readiness report{};
        report.messages = now.messages;
        report.tasks = now.tasks;
        report.answers = now.answers;
        report.acks = agent->acks.size();
        report.events = agent->events.size();
        report.spaces = now.spaces;
        report.peers = now.peers;
        report.lists = now.lists;
        report.notices = now.notices;
        report.ended = now.ended;
        report.next_ns = left_until(now.next);
        return write_sized(function, "found", found, kFirstReadiness, report);
      });
}

beeline_code beeline_request_start(beeline_agent* agent, beeline_peer peer, const void* payload,
                                   size_t length, int64_t timeout_ns,
                                   const beeline_send_options* options, beeline_id* id) {
  return checked(__func__,
                 {{"agent", agent}, {"id", id}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   beeline::SendOptions wanted;
                   const beeline_code read = read_options(function, options, wanted);
                   if (read != BEELINE_OK) return read;
                   auto sent = agent->agent.loop().request(to_of(peer), payload_of(payload, length),
                                                           answer_deadline_of(timeout_ns), wanted);
                   if (!sent) return failed(std::move(sent.error()));
                   *id = *sent;
                   return BEELINE_OK;
                 });
}

beeline_code beeline_next_answer(beeline_agent* agent, beeline_answer* answer) {
  return checked(__func__, {{"agent", agent}, {"answer", answer}},
                 [&](const char*) -> beeline_code {
                   *answer = {};
                   beeline_message* const handle = agent->messages.take();
                   auto next = agent->agent.loop().next_answer();
                   if (next && next->answer) {
                     handle->message = std::move(*next->answer);
                     *answer = {next->id, BEELINE_OK, handle};
                     return BEELINE_OK;
                   }
                   agent->messages.give_back(handle);
                   if (!next) return BEELINE_NOTHING;
                   *answer = {next->id, failed(std::move(next->answer.error())), nullptr};
                   return BEELINE_OK;
                 });
}

beeline_code beeline_look_for_answers(beeline_agent* agent) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    auto looked = agent->agent.run_answers();
    return looked ? BEELINE_OK : failed(std::move(looked.error()));
  });
}

bool beeline_forget(beeline_agent* agent, beeline_id request) {
  if (agent == nullptr) return false;
  return guarded_or(__func__, false, [&] { return agent->agent.loop().forget(request); });
}

beeline_code beeline_send_acked_start(beeline_agent* agent, beeline_peer peer, const void* payload,
                                      size_t length, int64_t timeout_ns,
                                      const beeline_send_options* options, beeline_id* id) {
  return checked(
      __func__, {{"agent", agent}, {"id", id}, bytes_argument("payload", payload, length)},
      [&](const char* function) -> beeline_code {
        beeline::SendOptions wanted;
        const beeline_code read = read_options(function, options, wanted);
        if (read != BEELINE_OK) return read;
        auto sent = agent->acks.send(agent->agent, to_of(peer), payload_of(payload, length),
                                     answer_deadline_of(timeout_ns), wanted);
        if (!sent) return failed(std::move(sent.error()));
        *id = *sent;
        return BEELINE_OK;
      });
}

beeline_code beeline_next_ack(beeline_agent* agent, beeline_ack* ack) {
  return checked(__func__, {{"agent", agent}, {"ack", ack}}, [&](const char*) -> beeline_code {
    auto next = agent->acks.next();
    if (!next) return BEELINE_NOTHING;
    (void)take_ack(*agent, next->id, std::move(next->outcome), *ack);
    return BEELINE_OK;
  });
}

beeline_code beeline_find_peer_start(beeline_agent* agent, const char* name, size_t length,
                                     int64_t timeout_ns, beeline_call* call) {
  return checked(__func__, {{"agent", agent}, {"name", name}, {"call", call}},
                 [&](const char*) -> beeline_code {
                   auto started = agent->agent.loop().find_peer(text_of(name, length),
                                                                deadline_of(timeout_ns));
                   if (!started) return failed(std::move(started.error()));
                   *call = *started;
                   return BEELINE_OK;
                 });
}

beeline_code beeline_next_peer(beeline_agent* agent, beeline_call* call, beeline_code* code,
                               beeline_peer* peer) {
  return checked(__func__, {{"agent", agent}, {"call", call}, {"code", code}, {"peer", peer}},
                 [&](const char*) -> beeline_code {
                   auto next = agent->agent.loop().next_peer();
                   if (!next) return BEELINE_NOTHING;
                   *call = next->call;
                   if (next->peer) {
                     *peer = peer_of(*next->peer);
                     *code = BEELINE_OK;
                   } else {
                     *peer = peer_of(beeline::Peer());
                     *code = failed(std::move(next->peer.error()));
                   }
                   return BEELINE_OK;
                 });
}

beeline_code beeline_list_start(beeline_agent* agent, beeline_call* call) {
  return checked(__func__, {{"agent", agent}, {"call", call}}, [&](const char*) -> beeline_code {
    auto started = agent->agent.loop().list_agents();
    if (!started) return failed(std::move(started.error()));
    *call = *started;
    return BEELINE_OK;
  });
}

beeline_code beeline_next_list(beeline_agent* agent, beeline_call* call, beeline_code* code,
                               beeline_agents** agents) {
  return checked(__func__, {{"agent", agent}, {"call", call}, {"code", code}, {"agents", agents}},
                 [&](const char*) -> beeline_code {
                   *agents = nullptr;
                   auto next = agent->agent.loop().next_list();
                   if (!next) return BEELINE_NOTHING;
                   *call = next->call;
                   *code = list_agents(std::move(next->agents), agents);
                   return BEELINE_OK;
                 });
}

bool beeline_forget_call(beeline_agent* agent, beeline_call call) {
  if (agent == nullptr) return false;
  return guarded_or(__func__, false, [&] { return agent->agent.loop().forget_call(call); });
}

beeline_code beeline_want_space(beeline_agent* agent, beeline_peer peer, bool wanted) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    return outcome_of(agent->agent.loop().want_space(peer_of(peer), wanted));
  });
}

beeline_code beeline_next_space(beeline_agent* agent, beeline_peer* peer) {
  return checked(__func__, {{"agent", agent}, {"peer", peer}}, [&](const char*) -> beeline_code {
    const auto next = agent->agent.loop().next_space();
    if (!next) return BEELINE_NOTHING;
    *peer = peer_of(*next);
    return BEELINE_OK;
  });
}

void beeline_detach_start(beeline_agent* agent, int64_t drain_ns) {
  if (agent != nullptr) agent->agent.loop().start_detach(deadline_of(drain_ns));
}

beeline_code beeline_left_behind(beeline_agent* agent, uint64_t* left) {
  return checked(__func__, {{"agent", agent}, {"left", left}}, [&](const char*) -> beeline_code {
    const auto rest = agent->agent.loop().left_behind();
    if (!rest) return BEELINE_NOTHING;
    *left = *rest;
    return BEELINE_OK;
  });
}
