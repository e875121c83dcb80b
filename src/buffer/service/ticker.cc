#include "src/buffer/service/ticker.h"

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/service/log.h"

namespace beeline::buffer {

// SUBTLE: a step that is under way routes this message as well: answers come in the order of the
// orders, so the message was written first.
void Ticker::hear_unrouted() {
  if (is_routing_ || parts_.alarms.is_set(Duty::kRoute)) return;
  parts_.alarms.set(Duty::kRoute, os::monotonic_ns() + std::chrono::nanoseconds(window_).count());
}

void Ticker::tick() {
  if (is_routing_) return;
  is_routing_ = true;
  parts_.orders.give(RouteStep{},
                     [this](Lease, Result<Answer> answer) { hear_routed(std::move(answer)); });
}

void Ticker::hear_routed(Result<Answer> answer) {
  is_routing_ = false;
  if (!answer) {
    service::log_warn("not_routed", answer.error().text);
    return parts_.again.add([this] { tick(); });
  }
  const auto& routed = answer_as<RouteAnswer>(answer);
  for (const Dropped& each : routed.dropped) {
    const std::string rule = each.route == 0 ? "defaultRoute" : fmt::format("route {}", each.route);
    service::log_info("dropped",
                      fmt::format("batch {}: {} messages of channel {}, conversation {}, by {}",
                                  each.batch, each.messages, each.channel,
                                  each.conversation.empty() ? "(none)" : each.conversation, rule));
  }
  if (routed.has_more) tick();
  if (routed.main_batches != 0) events_.batches();
  if (routed.tasks != 0) events_.tasks();
}

}  // namespace beeline::buffer
