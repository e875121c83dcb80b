// A worker of the demo: takes tasks, counts, replies. It knows nothing of its predecessor; it just
// receives the messages that its predecessor left in the inbox.

#include <unistd.h>

#include <fmt/format.h>

#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

[[noreturn]] void wait_to_be_killed() {
  for (;;) ::pause();
}

Result<void> count_task(Agent& agent, const EventWriter& events, Message& message) {
  const auto task = parse_task(message.text());
  if (!task) {
    message.reject();
    return {};
  }
  if (message.redelivered()) {
    events.write(kRedelivered, {{"task", task->number}, {"attempts", message.attempts() + 1}});
  } else if (message.type() == kHoldType) {
    events.write(kHolding, {{"task", task->number}, {"pid", agent.pid()}});
    wait_to_be_killed();
  }
  const auto lead = agent.peer(message.from());
  if (!lead) return tl::unexpected(lead.error());
  SendOptions options;
  options.type = kResultType;
  options.reply_to = message.id();
  if (auto sent = deliver(agent, *lead, to_text({task->number, count(task->text)}), options);
      !sent) {
    return sent;
  }
  // A kill between the reply and this line makes a duplicate, which the queen drops.
  message.done();
  return {};
}

Result<void> greet(Agent& agent) {
  const auto lead = agent.peer(agent.parent());
  if (!lead) return tl::unexpected(lead.error());
  SendOptions options;
  options.type = kReadyType;
  return deliver(agent, *lead, agent.name(), options);
}

}  // namespace

Result<void> run_worker(const RoleArguments& arguments, const EventWriter& events) {
  auto agent = attach_role(arguments, kLead, "worker");
  if (!agent) return tl::unexpected(std::move(agent.error()));
  if (auto greeted = greet(*agent); !greeted) return greeted;
  for (;;) {
    ReceiveOptions options;
    options.timeout = kPatience;
    auto message = agent->receive(options);
    if (!message) return tl::unexpected(std::move(message.error()));
    if (message->type() == kTaskType || message->type() == kHoldType) {
      if (auto counted = count_task(*agent, events, *message); !counted) return counted;
      continue;
    }
    if (message->type() == kEchoType) (void)agent->reply(*message, message->payload());
    const bool finish = message->type() == kFinishType;
    message->done();
    if (finish) break;
  }
  close_accounts(*agent, events);
  return {};
}

}  // namespace beeline::cli::demo
