#include "tools/beeline/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// A look without reason, in case that everything else failed; the same as the library's own.
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::seconds(10);

Result<void> check_parent(const Context& context, const AttachOptions& options) {
  if (options.name.empty() || options.parent.empty()) return {};
  auto client = connect_to_look(context);
  if (!client) return {};  // nobody has a parent yet, or the attach will say what is wrong
  const auto agents = client->list_all();
  if (!agents) return tl::unexpected(agents.error());
  std::map<Pid, std::string> names;
  const control::ListedAgent* known = nullptr;
  for (const control::ListedAgent& agent : *agents) {
    names[agent.pid] = agent.name;
    if (agent.name == options.name && agent.state != shm::AgentState::kDead) known = &agent;
  }
  if (known == nullptr || names[known->parent] == options.parent) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("agent \"{}\" is a child of \"{}\" since its first attach, --parent asks "
                          "for \"{}\": leave --parent out, or take another name",
                          options.name, names[known->parent], options.parent));
}

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

Result<Agent> attach(const Context& context, const AttachOptions& options) {
  if (auto good = check_parent(context, options); !good) {
    return tl::unexpected(std::move(good.error()));
  }
  return Agent::attach(options);
}

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
