#include "tools/beeline/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/control/agent_info.h"
#include "src/control/hive_search.h"
#include "src/os/event_fd.h"
#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// A look without a reason, in case all else has failed; the same as in the library.
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::seconds(10);

// All agents of the hive. None if the hive does not run, or if the attach will report the error.
Result<std::vector<AgentInfo>> list_agents(const Context& context) {
  auto client = connect_to_look(context);
  if (!client) return std::vector<AgentInfo>();
  const auto agents = client->list_all();
  if (!agents) return tl::unexpected(agents.error());
  return control::infos_of(*agents);
}

// The agent of this name that has not ended for good; null if there is none.
const AgentInfo* find_known(const std::vector<AgentInfo>& all, const std::string& name) {
  const auto known = std::find_if(all.begin(), all.end(), [&name](const AgentInfo& agent) {
    return agent.name == name && agent.state != State::kDead;
  });
  return known == all.end() ? nullptr : &*known;
}

Result<void> check_parent(const Context& context, const AttachOptions& options) {
  if (options.name.empty() || options.parent.empty()) return {};
  const auto all = list_agents(context);
  if (!all) return tl::unexpected(all.error());
  std::map<Pid, std::string> names;
  for (const AgentInfo& agent : *all) names[agent.pid] = agent.name;
  const AgentInfo* known = find_known(*all, options.name);
  const AgentInfo* parent = control::find_agent(*all, options.parent, ::geteuid());
  if (known == nullptr || (parent != nullptr && parent->pid == known->parent)) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("agent \"{}\" is a child of \"{}\" since its first attach, --parent asks "
                          "for \"{}\": leave --parent out, or take another name",
                          options.name, names[known->parent], options.parent));
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
  AttachOptions joining = options;
  joining.start_coordinator = false;
  auto agent = Agent::attach(joining);
  const bool starts =
      options.start_coordinator && !agent && agent.error().code == ErrorCode::kNoCoordinator;
  if (!starts) return agent;
  const auto client = control::Client::connect({options.hive, true, options.control_timeout});
  if (!client) return tl::unexpected(client.error());
  if (client->has_started()) {
    remark(fmt::format("started hive \"{}\" in {}", client->hive(), client->directory()));
    tell_others(*client);
  }
  return Agent::attach(options);
}

// SUBTLE: another process may come and go under the same name between the look and the attach. Its
// inbox then ends with this agent. No message is lost: the coordinator keeps them as dead letters.
Result<Agent> attach_sender(const Context& context, const SenderArguments& sender,
                            const AttachArguments& arguments) {
  AttachOptions options = attach_options(context);
  options.name = sender.as;
  options.use_ticket = !sender.as.empty();  // the ticket is for the child, not for its commands
  options.parent = arguments.parent;
  options.role = arguments.role;
  options.temporary = !sender.keep;
  if (options.temporary && !sender.as.empty()) {
    const auto all = list_agents(context);
    if (!all) return tl::unexpected(all.error());
    options.temporary = find_known(*all, sender.as) == nullptr;
  }
  return attach(context, options);
}

void tell_others(const control::Client& client) {
  const auto paths = control::find_hive(client.hive());
  if (!paths) return;
  for (const std::string& elsewhere : control::same_name_elsewhere(*paths)) {
    remark(
        fmt::format("another hive \"{}\" runs in {}, this one in {}: agents of the one do not "
                    "see those of the other; to join that one set BEELINE_DIR={}, or "
                    "XDG_RUNTIME_DIR alike everywhere; `beeline ls` lists both",
                    client.hive(), elsewhere, client.directory(), elsewhere));
  }
}

LastWords::~LastWords() {
  if (name_.empty()) return;
  const std::size_t left = agent_.inbox().size();
  const auto self = left != 0 ? agent_.info() : Result<AgentInfo>(AgentInfo());
  if (!self || !self->temporary) return;
  remark(fmt::format(
      "\"{}\" is forgotten; {} that still waited for it become{} dead letters of "
      "the coordinator: see `beeline dlq ls`",
      name_, left == 1 ? "1 message" : fmt::format("{} messages", left), left == 1 ? "s" : ""));
}

std::string went_down(const std::string& hive) {
  const auto paths = control::find_hive(hive);
  return paths ? fmt::format("the hive in {} went down", paths->directory) : "the hive went down";
}

bool has_shut_down(Agent& agent) {
  while (const auto notice = agent.next_notice()) {
    if (notice->kind == Notice::Kind::kShutdown) return true;
  }
  return false;
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
