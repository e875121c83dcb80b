// Calls that hand out messages.

#include <beeline/c/agent.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

// A wait that has found nothing is no failure.
beeline_code not_received(beeline::Error error) {
  return error.code == beeline::ErrorCode::kTimeout ? BEELINE_NOTHING : failed(std::move(error));
}

beeline_code receive_within(beeline_agent& agent, std::int64_t timeout_ns,
                            const beeline::Filter& filter, beeline_message** message) {
  auto next = agent.agent.receive({.timeout = wait_of(timeout_ns), .filter = filter});
  if (!next) return not_received(std::move(next.error()));
  *message = agent.messages.hold(std::move(*next));
  return BEELINE_OK;
}

// The longest batch of one call.
constexpr std::size_t kMostInBatch = 4096;

// Gives each message a handle. Those for which there is no memory go back as if they had not been
// handed out.
std::size_t hand_out(MessagePool& pool, std::span<beeline::Message> batch,
                     beeline_message** messages) {
  std::size_t count = 0;
  try {
    for (; count < batch.size(); ++count) messages[count] = pool.hold(std::move(batch[count]));
  } catch (const std::bad_alloc&) {
    for (beeline::Message& rest : batch.subspan(count)) rest.put_back();
    if (count == 0) throw;
  }
  return count;
}

// Not inline, so that beeline_receive() is short.
[[gnu::noinline]] beeline_code receive_fully(beeline_agent* agent, std::int64_t timeout_ns,
                                             const beeline_filter* filter,
                                             beeline_message** message) {
  return checked("beeline_receive", {{"agent", agent}, {"message", message}},
                 [&](const char* function) -> beeline_code {
                   *message = nullptr;
                   beeline::Filter wanted;
                   const beeline_code read = read_options(function, filter, wanted);
                   if (read != BEELINE_OK) return read;
                   agent->messages.prepare();
                   if (timeout_ns > 0) return receive_within(*agent, timeout_ns, wanted, message);
                   auto next = agent->agent.try_receive(wanted);
                   if (!next) return BEELINE_NOTHING;
                   *message = agent->messages.hold(std::move(*next));
                   return BEELINE_OK;
                 });
}

}  // namespace

beeline_code beeline_receive(beeline_agent* agent, int64_t timeout_ns, const beeline_filter* filter,
                             beeline_message** message) {
  if (agent == nullptr || message == nullptr || filter != nullptr || timeout_ns > 0) [[unlikely]] {
    return receive_fully(agent, timeout_ns, filter, message);
  }
  try {
    agent->messages.prepare();
    auto next = agent->agent.try_receive();
    if (!next) {
      *message = nullptr;
      return BEELINE_NOTHING;
    }
    *message = agent->messages.hold(std::move(*next));
    return BEELINE_OK;
  } catch (const std::exception&) {
    *message = nullptr;
    return caught(__func__);
  }
}

beeline_code beeline_receive_batch(beeline_agent* agent, int64_t timeout_ns,
                                   const beeline_filter* filter, beeline_message** messages,
                                   size_t most, size_t* count) {
  return checked(__func__, {{"agent", agent}, {"messages", messages}, {"count", count}},
                 [&](const char* function) -> beeline_code {
                   *count = 0;
                   beeline::Filter wanted;
                   const beeline_code read = read_options(function, filter, wanted);
                   if (read != BEELINE_OK) return read;
                   if (most == 0)
                     return invalid(function, {"`most` is 0, at least 1 is needed: give it more"});
                   std::vector<beeline::Message>& batch = agent->batch;
                   batch.resize(std::min(most, kMostInBatch));
                   std::size_t found = 0;
                   if (timeout_ns <= 0) {
                     found = agent->agent.try_receive_batch(batch, wanted);
                   } else {
                     auto received = agent->agent.receive_batch(
                         batch, {.timeout = wait_of(timeout_ns), .filter = wanted});
                     if (!received) return not_received(std::move(received.error()));
                     found = *received;
                   }
                   *count = hand_out(agent->messages, std::span(batch).first(found), messages);
                   return found == 0 ? BEELINE_NOTHING : BEELINE_OK;
                 });
}

beeline_code beeline_next_result(beeline_agent* agent, beeline_message** message) {
  return checked(__func__, {{"agent", agent}, {"message", message}},
                 [&](const char*) -> beeline_code {
                   *message = nullptr;
                   auto& results = agent->results;
                   if (results.empty()) {
                     for (auto& each : agent->agent.drain_pending_results())
                       results.push_back(std::move(each));
                   }
                   if (results.empty()) return BEELINE_NOTHING;
                   *message = agent->messages.hold(std::move(results.front()));
                   results.pop_front();
                   return BEELINE_OK;
                 });
}
