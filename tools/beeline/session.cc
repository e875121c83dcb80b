#include "tools/beeline/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "src/os/event_fd.h"

namespace beeline::cli {
namespace {

// A look without reason, in case that everything else failed; the same as the library's own.
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::seconds(10);

bool has_shut_down(Agent& agent) {
  while (const auto notice = agent.next_notice()) {
    if (notice->kind == Notice::Kind::kShutdown) return true;
  }
  return false;
}

std::chrono::nanoseconds time_left(Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  return deadline - now > kLongestSleep ? kLongestSleep : deadline - now;
}

}  // namespace

Next next_message(Agent& agent, Signals& signals, const Filter& filter, Deadline deadline) {
  const std::array<int, 2> fds{agent.fd(), signals.fd()};
  for (;;) {
    if (signals.take()) return {Arrival::kSignal, {}};
    if (auto message = agent.try_receive(filter)) return {Arrival::kMessage, std::move(*message)};
    if (has_shut_down(agent)) return {Arrival::kShutdown, {}};
    const auto left = time_left(deadline);
    if (left.count() <= 0) return {Arrival::kTimeout, {}};
    (void)os::poll_readable(fds, left);
  }
}

}  // namespace beeline::cli
