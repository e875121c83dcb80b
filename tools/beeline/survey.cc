#include "tools/beeline/survey.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/control/agent_info.h"
#include "src/os/clock.h"

namespace beeline::cli {
namespace {

using control::ListedAgent;

bool runs(const ListedAgent& agent) { return agent.state == shm::AgentState::kRunning; }

// SUBTLE: a process that reads from a disk is in uninterruptible sleep for a moment. It is stuck
// only if every look finds it so.
Result<ProcessState> settle(pid_t pid, std::int64_t begun_us) {
  constexpr int kMoreLooks = 4;
  constexpr std::chrono::milliseconds kBetween{20};
  auto state = read_process_state(pid, begun_us);
  for (int look = 0; look < kMoreLooks; ++look) {
    if (!state || *state != ProcessState::kUninterruptible) break;
    std::this_thread::sleep_for(kBetween);
    state = read_process_state(pid, begun_us);
  }
  return state;
}

}  // namespace

Result<Survey> Survey::take(control::Client& client, std::string_view hive,
                            const Patience& patience) {
  Survey survey;
  auto status = client.status();
  if (!status) return tl::unexpected(std::move(status.error()));
  survey.status_ = std::move(*status);
  auto accounts = read_accounts(client, hive, patience);
  auto agents = client.list_all();
  if (!agents) return tl::unexpected(std::move(agents.error()));
  survey.agents_ = std::move(*agents);
  survey.accounts_ =
      accounts ? std::move(*accounts) : unreadable_accounts(survey.agents_, accounts.error().text);
  survey.look_at_processes(client.keeper_pid() == survey.status_.keeper_pid);
  survey.now_ns_ = os::monotonic_ns();
  survey.boot_us_ = os::boot_us();
  survey.unix_ns_ = os::realtime_ns();
  return survey;
}

// `numbers_match`: the coordinator and this process see the same process id for the keeper, so
// both live in one pid namespace.
void Survey::look_at_processes(bool numbers_match) {
  for (const ListedAgent& agent : agents_) {
    auto& process = processes_[agent.pid];
    if (agent.pid == control::kKingPid || !runs(agent)) continue;
    if (agent.os_pid == 0) {
      process = fail(ErrorCode::kDenied,
                     "its process lives in a pid namespace that the coordinator cannot see");
    } else if (!numbers_match) {
      process = fail(ErrorCode::kDenied,
                     "process numbers of this hive are those of another pid namespace than ours");
    } else {
      process = settle(agent.os_pid, static_cast<std::int64_t>(agent.incarnation.value()));
    }
  }
}

const std::optional<Result<ProcessState>>& Survey::process_of(Pid pid) const {
  static const std::optional<Result<ProcessState>> kNone;
  const auto found = processes_.find(pid);
  return found == processes_.end() ? kNone : found->second;
}

bool Survey::is_stuck(const ListedAgent& agent) const {
  const auto& process = process_of(agent.pid);
  return process && *process && cli::is_stuck(**process);
}

std::string_view Survey::state_word(const ListedAgent& agent) const {
  return is_stuck(agent) ? stuck_word(**process_of(agent.pid))
                         : to_string(control::state_of(agent));
}

std::optional<std::uint64_t> Survey::memory_bytes(Pid pid) const {
  if (!accounts_.hidden.empty()) return std::nullopt;
  const auto found = accounts_.bytes_of.find(pid);
  return found == accounts_.bytes_of.end() ? 0 : found->second;
}

std::optional<std::int64_t> Survey::up_ns(const ListedAgent& agent) const {
  if (!runs(agent)) return std::nullopt;
  const std::int64_t up =
      agent.pid == control::kKingPid
          ? unix_ns_ - static_cast<std::int64_t>(agent.attached_ns)
          : (boot_us_ - static_cast<std::int64_t>(agent.incarnation.value())) * 1'000;
  return std::max<std::int64_t>(up, 0);
}

std::optional<std::int64_t> Survey::age_ns(std::optional<std::int64_t> sent_ns) const {
  if (!sent_ns) return std::nullopt;
  return std::max<std::int64_t>(now_ns_ - *sent_ns, 0);
}

std::vector<std::string> Survey::gaps() const {
  std::vector<std::string> gaps;
  if (const std::size_t unreadable = accounts_.unreadable(); unreadable != 0) {
    gaps.push_back(fmt::format("accounts of {} of {} agents: {}", unreadable,
                               accounts_.inboxes.size(), accounts_.why_unreadable()));
  } else if (!accounts_.hidden.empty()) {
    gaps.push_back(fmt::format("memory: {}", accounts_.hidden));
  }
  std::size_t running = 0;
  std::size_t unknown = 0;
  std::string reason;
  for (const auto& [pid, process] : processes_) {
    if (!process) continue;
    ++running;
    if (*process) continue;
    if (unknown++ == 0) reason = process->error().text;
  }
  if (unknown != 0) {
    gaps.push_back(fmt::format("processes of {} of {} agents: {}", unknown, running, reason));
  }
  return gaps;
}

}  // namespace beeline::cli
