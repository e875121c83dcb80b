// A worker of the demo: counts the texts of its tasks. It knows nothing of its predecessor, whose
// tasks the lead gives again.

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

[[noreturn]] void wait_to_be_killed() {
  for (;;) ::pause();
}

TaskResult count_task(const Agent& agent, const EventWriter& events, const Task& task) {
  if (task.params.contains(std::string(kHoldParam))) {
    const std::uint32_t attempt = attempt_of(task);
    if (attempt == 1) {
      events.write(kHolding, {{"task", number_of(task)}, {"pid", agent.pid()}});
      wait_to_be_killed();
    }
    events.write(kGivenAgain, {{"task", number_of(task)}, {"attempts", attempt}});
  }
  return {.output = to_text(count(task.context))};
}

Result<void> greet(Agent& agent) {
  const auto lead = agent.peer(agent.parent());
  if (!lead) return tl::unexpected(lead.error());
  SendOptions options;
  options.type = kReadyType;
  return deliver(agent, *lead, agent.name(), options);
}

}  // namespace

Result<void> run_worker(const EventWriter& events) {
  auto agent = attach_role();
  if (!agent) return tl::unexpected(std::move(agent.error()));
  agent->tasks().handle(
      [&](TaskRun& run) { return std::optional(count_task(*agent, events, run.task())); });
  if (auto greeted = greet(*agent); !greeted) return greeted;
  const auto handle = [&](Message& message) -> Ack {
    if (message.type() == kFinishType) agent->stop_serving();
    if (message.type() != kEchoType) return {};
    return {AckStatus::kAccepted, std::string(message.text())};
  };
  if (auto served = agent->serve(handle, {.until = after(kPatience)}); !served) {
    return tl::unexpected(std::move(served.error()));
  }
  close_accounts(*agent, events);
  return {};
}

}  // namespace beeline::cli::demo
