// The lead of the demo: spreads tasks over its workers and replaces one that dies.

#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

// Tasks that a worker has at a time. The others stay leased here, which slows the queen down.
constexpr std::uint32_t kPerWorker = 8;

struct Worker {
  pid_t os_pid = 0;
  Peer peer;
  std::uint32_t outstanding = 0;
};

class Lead {
 public:
  Lead(const RoleArguments& arguments, const EventWriter& events, Agent agent)
      : arguments_(arguments), events_(events), agent_(std::move(agent)) {}

  Result<void> run() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (auto started = start(i); !started) return started;
    }
    while (!finishing_) {
      if (auto stepped = step(); !stepped) return stepped;
    }
    return finish();
  }

 private:
  Result<void> start(std::size_t index) {
    RoleArguments worker = arguments_;
    worker.role = "worker";
    worker.name = worker_name(index);
    const auto os_pid = start_role(worker);
    if (!os_pid) return tl::unexpected(os_pid.error());
    workers_[index].os_pid = *os_pid;
    return {};
  }

  Result<void> step() {
    ReceiveOptions options;
    options.timeout = kPatience;
    options.stop_on_notice = true;
    auto message = agent_.receive(options);
    if (message) return handle(std::move(*message));
    if (message.error().code != ErrorCode::kNotice) {
      return tl::unexpected(std::move(message.error()));
    }
    while (const auto notice = agent_.next_notice()) {
      if (notice->kind != Notice::Kind::kChildAway) continue;
      if (auto replaced = replace(notice->name); !replaced) return replaced;
    }
    return {};
  }

  // A worker's process has ended: a new process takes over its name, its inbox and its task.
  Result<void> replace(const std::string& name) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (worker_name(i) != name) continue;
      const pid_t old = workers_[i].os_pid;
      if (const auto status = await_exit(old, kPatience); !status) {
        return tl::unexpected(status.error());
      }
      if (auto started = start(i); !started) return started;
      events_.write(kRestarted,
                    {{"child", name}, {"old_os_pid", old}, {"new_os_pid", workers_[i].os_pid}});
    }
    return {};
  }

  Result<void> handle(Message message) {
    if (message.type() == kTaskType || message.type() == kHoldType) {
      waiting_.push_back(std::move(message));
      return distribute();
    }
    if (message.type() == kResultType) return pass_up(message);
    if (message.type() == kReadyType) return note_ready(message);
    finishing_ = message.type() == kFinishType;
    message.done();
    return {};
  }

  Result<void> note_ready(Message& message) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (worker_name(i) != message.text()) continue;
      const bool first = !workers_[i].peer.valid();
      const auto peer = agent_.peer(message.from());
      if (!peer) return tl::unexpected(peer.error());
      workers_[i].peer = *peer;
      if (first && ++ready_ == kWorkers) {
        if (auto told = tell_queen(kReadyType, kLead); !told) return told;
      }
    }
    message.done();
    return {};
  }

  Result<void> tell_queen(std::string_view type, std::string_view text) {
    const auto queen = agent_.peer(agent_.parent());
    if (!queen) return tl::unexpected(queen.error());
    SendOptions options;
    options.type = type;
    return deliver(agent_, *queen, text, options);
  }

  Result<void> pass_up(Message& message) {
    const auto result = parse_result(message.text());
    const auto open = result ? open_.find(result->task) : open_.end();
    if (result && open != open_.end()) {
      --workers_[open->second].outstanding;
      open_.erase(open);
    }
    // The queen drops duplicates by their number, so the lead passes all results on.
    if (auto told = tell_queen(kResultType, message.text()); !told) return told;
    message.done();
    return distribute();
  }

  // The next worker that has room, in turn.
  std::optional<std::size_t> choose() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const std::size_t candidate = turn_++ % kWorkers;
      if (workers_[candidate].outstanding < kPerWorker) return candidate;
    }
    return std::nullopt;
  }

  Result<void> distribute() {
    while (!waiting_.empty()) {
      Message& message = waiting_.front();
      const auto task = parse_task(message.text());
      const auto chosen = message.type() == kHoldType ? std::optional(kVictim) : choose();
      if (!chosen) return {};
      Worker& worker = workers_[*chosen];
      SendOptions options;
      options.type = message.type();
      if (auto sent = deliver(agent_, worker.peer, message.text(), options); !sent) return sent;
      ++worker.outstanding;
      if (task) open_[task->number] = *chosen;
      message.done();
      waiting_.pop_front();
    }
    return {};
  }

  Result<void> finish() {
    SendOptions options;
    options.type = kFinishType;
    for (const Worker& worker : workers_) {
      if (auto sent = deliver(agent_, worker.peer, "", options); !sent) return sent;
    }
    for (const Worker& worker : workers_) {
      if (const auto status = await_exit(worker.os_pid, kPatience); !status) {
        return tl::unexpected(status.error());
      }
    }
    close_accounts(agent_, events_);
    return {};
  }

  const RoleArguments& arguments_;
  const EventWriter& events_;
  Agent agent_;
  std::array<Worker, kWorkers> workers_;
  std::deque<Message> waiting_;  // tasks leased from the queen until a worker gets them
  std::unordered_map<std::uint32_t, std::size_t> open_;  // task -> worker
  std::size_t ready_ = 0;
  std::size_t turn_ = 0;
  bool finishing_ = false;
};

}  // namespace

Result<void> run_lead(const RoleArguments& arguments, const EventWriter& events) {
  auto agent = attach_role(arguments, kQueen, "lead");
  if (!agent) return tl::unexpected(std::move(agent.error()));
  return Lead(arguments, events, std::move(*agent)).run();
}

}  // namespace beeline::cli::demo
