// Calls that wait for an answer or for an acknowledgement.

#include <beeline/c/agent.h>

#include <utility>
#include <vector>

#include "src/c/acks.h"
#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

beeline_code beeline_request(beeline_agent* agent, beeline_peer peer, const void* payload,
                             size_t length, int64_t timeout_ns, const beeline_send_options* options,
                             beeline_message** answer) {
  return checked(__func__,
                 {{"agent", agent}, {"answer", answer}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   *answer = nullptr;
                   beeline::SendOptions wanted;
                   const beeline_code read = read_options(function, options, wanted);
                   if (read != BEELINE_OK) return read;
                   agent->messages.prepare();
                   auto got = agent->agent.request(to_of(peer), payload_of(payload, length),
                                                   answer_deadline_of(timeout_ns), wanted);
                   if (!got) return failed(std::move(got.error()));
                   *answer = agent->messages.hold(std::move(*got));
                   return BEELINE_OK;
                 });
}

namespace {

beeline_code read_question(const char* function, const beeline_question& question,
                           beeline::Request& request) {
  if (question.payload == nullptr && question.length != 0) return missing(function, "payload");
  request.payload = payload_of(question.payload, question.length);
  return read_options(function, question.options, request.options);
}

}  // namespace

beeline_code beeline_request_all(beeline_agent* agent, const beeline_question* questions,
                                 size_t count, int64_t timeout_ns, beeline_answer* answers) {
  return checked(
      __func__,
      {{"agent", agent},
       bytes_argument("questions", questions, count),
       bytes_argument("answers", answers, count)},
      [&](const char* function) -> beeline_code {
        std::vector<beeline::Request> requests;
        requests.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
          auto& request = requests.emplace_back(beeline::Request{to_of(questions[i].peer)});
          const beeline_code read = read_question(function, questions[i], request);
          if (read != BEELINE_OK) return read;
        }
        std::vector<beeline_message*> handles;
        const auto give_back = [&] {
          for (beeline_message* handle : handles) agent->messages.give_back(handle);
        };
        try {
          handles.reserve(count);
          for (std::size_t i = 0; i < count; ++i) handles.push_back(agent->messages.take());
        } catch (...) {
          give_back();
          throw;
        }
        auto results = agent->agent.request_all(requests, answer_deadline_of(timeout_ns));
        for (std::size_t i = 0; i < count; ++i) {
          answers[i] = {};
          if (results[i]) {
            handles[i]->message = std::move(*results[i]);
            answers[i].message = handles[i];
          } else {
            answers[i].code = failed(std::move(results[i].error()));
            agent->messages.give_back(handles[i]);
          }
        }
        return BEELINE_OK;
      });
}

beeline_code beeline_await_ack(beeline_agent* agent, beeline_peer peer, beeline_id id,
                               int64_t timeout_ns, beeline_ack* ack) {
  return checked(__func__, {{"agent", agent}, {"ack", ack}}, [&](const char*) -> beeline_code {
    auto got = agent->agent.await_ack(to_of(peer), id, answer_deadline_of(timeout_ns));
    return take_ack(*agent, id, std::move(got), *ack);
  });
}

beeline_code beeline_send_acked(beeline_agent* agent, beeline_peer peer, const void* payload,
                                size_t length, int64_t timeout_ns,
                                const beeline_send_options* options, beeline_ack* ack) {
  return checked(__func__,
                 {{"agent", agent}, {"ack", ack}, bytes_argument("payload", payload, length)},
                 [&](const char* function) -> beeline_code {
                   *ack = {};
                   beeline::SendOptions wanted;
                   ack->code = read_options(function, options, wanted);
                   if (ack->code != BEELINE_OK) return ack->code;
                   auto got = agent->agent.send_acked(to_of(peer), payload_of(payload, length),
                                                      answer_deadline_of(timeout_ns), wanted);
                   return take_ack(*agent, 0, std::move(got), *ack);
                 });
}
