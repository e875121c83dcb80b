// The lead of the demo: does the tasks of the queen by giving them to its workers, and gives those
// of a worker that was killed again.

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "tools/beeline/demo/python_worker.h"
#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

// Tasks that a worker has at a time. The others wait here.
constexpr std::size_t kPerWorker = 8;

// A task of the queen, from when it came until its result.
struct Job {
  TaskRun run;
  std::uint32_t attempt = 1;
};

struct Worker {
  Pid pid = 0;
  Peer peer;
  bool is_there = false;  // it has said so, and no news of its death has come
  std::size_t outstanding = 0;
  std::deque<Job> own;  // for this worker alone
};

class Lead {
 public:
  Lead(const RoleArguments& arguments, const EventWriter& events, Agent& agent)
      : arguments_(arguments), events_(events), agent_(agent) {}

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
    const bool in_python = index == kPythonWorker && !arguments_.python.empty();
    const auto child =
        agent_.processes().spawn(in_python ? child_in_python(worker) : child_of_role(worker));
    if (!child) return tl::unexpected(child.error());
    workers_[index].pid = child->pid;
    return {};
  }

  // poll() calls the handlers of results, which make room for further tasks.
  Result<void> step() {
    const Readiness found = agent_.loop().poll();
    if (found.ended) return fail(ErrorCode::kClosed, "the hive went down");
    while (const auto notice = agent_.next_notice()) {
      if (notice->kind == Notice::Kind::kChildAway) note_away(notice->name);
    }
    if (found.messages != 0) {
      if (auto taken = take_messages(); !taken) return taken;
    }
    if (found.tasks != 0) take_tasks();
    const bool has_given = distribute();
    if (found.messages != 0 || found.tasks != 0 || has_given) return {};
    const std::array<int, 1> fds{agent_.fd()};
    (void)os::poll_readable(fds, std::min<std::chrono::nanoseconds>(
                                     found.next - std::chrono::steady_clock::now(), kPatience));
    return {};
  }

  // A worker's process has ended. The steward starts one that takes over its name and its inbox,
  // and that says when it is ready.
  void note_away(const std::string& name) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (worker_name(i) == name) workers_[i].is_there = false;
    }
  }

  Result<void> note_restart(const Worker& worker) {
    const auto children = agent_.processes().list();
    if (!children) return tl::unexpected(children.error());
    for (const ChildInfo& child : *children) {
      if (child.pid != worker.pid) continue;
      events_.write(kRestarted, {{"child", child.name},
                                 {"signal", child.end ? child.end->signal : 0},
                                 {"new_os_pid", child.os_pid}});
    }
    return {};
  }

  Result<void> take_messages() {
    while (auto message = agent_.try_receive()) {
      if (message->type() == kReadyType) {
        if (auto noted = note_ready(*message); !noted) return noted;
      }
      finishing_ |= message->type() == kFinishType;
      message->done();
    }
    return {};
  }

  Result<void> note_ready(const Message& message) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Worker& worker = workers_[i];
      if (worker_name(i) != message.text()) continue;
      const bool first = !worker.peer.valid();
      const auto peer = agent_.peer(message.from());
      if (!peer) return tl::unexpected(peer.error());
      worker.peer = *peer;
      worker.is_there = true;
      if (!first) return note_restart(worker);
      if (++ready_ == kWorkers) return tell_queen();
    }
    return {};
  }

  Result<void> tell_queen() {
    const auto queen = agent_.peer(agent_.parent());
    if (!queen) return tl::unexpected(queen.error());
    SendOptions options;
    options.type = kReadyType;
    return deliver(agent_, *queen, kLead, options);
  }

  void take_tasks() {
    while (auto run = agent_.tasks().next()) {
      const bool is_hold = run->task().params.contains(std::string(kHoldParam));
      (is_hold ? workers_[kVictim].own : waiting_).push_back({std::move(*run)});
    }
  }

  // Gives tasks while a worker has room for one. True if it has given any.
  bool distribute() {
    bool has_given = false;
    for (std::size_t tried = 0; tried < kWorkers;) {
      Worker& worker = workers_[turn_++ % kWorkers];
      std::deque<Job>& jobs = worker.own.empty() ? waiting_ : worker.own;
      const bool can = worker.is_there && worker.outstanding < kPerWorker && !jobs.empty();
      const bool gives = can && give(worker, jobs.front());
      if (gives) jobs.pop_front();
      has_given |= gives;
      tried = gives ? 0 : tried + 1;
    }
    return has_given;
  }

  // Takes the job away if the worker has got it. A worker that has just died gets none, and one
  // that has no room gets it after its next result.
  bool give(Worker& worker, Job& job) {
    const std::uint64_t key = next_key_++;
    Task task = job.run.task();
    task.parent_task = task.id;
    set_attempt(task, job.attempt);
    const auto then = [this, &worker, key](Result<TaskResult> result) {
      end(worker, key, std::move(result));
    };
    const auto given = agent_.tasks().execute_then(worker.peer, task, then);
    worker.is_there = given || given.error().code == ErrorCode::kFull;
    if (!given) return false;
    ++worker.outstanding;
    open_.emplace(key, std::move(job));
    return true;
  }

  // The death of a worker ends its tasks, and they are given to its next process.
  void end(Worker& worker, std::uint64_t key, Result<TaskResult> result) {
    Job job = std::move(open_.extract(key).mapped());
    --worker.outstanding;
    if (result) return job.run.finish(*result);
    const ErrorCode code = result.error().code;
    if (code != ErrorCode::kPeerDead && code != ErrorCode::kPeerDeadTaken) {
      return job.run.fail(result.error().text);
    }
    ++job.attempt;
    ++lost_;
    worker.own.push_back(std::move(job));
  }

  Result<void> finish() {
    SendOptions options;
    options.type = kFinishType;
    std::vector<Pid> pids;
    for (const Worker& worker : workers_) {
      if (auto sent = deliver(agent_, worker.peer, "", options); !sent) return sent;
      pids.push_back(worker.pid);
    }
    if (auto ended = await_ends(agent_, pids); !ended) return ended;
    events_.write(kLost, {{"tasks", lost_}});
    close_accounts(agent_, events_);
    return {};
  }

  const RoleArguments& arguments_;
  const EventWriter& events_;
  Agent& agent_;
  std::array<Worker, kWorkers> workers_;
  std::deque<Job> waiting_;            // for any worker
  std::map<std::uint64_t, Job> open_;  // given to a worker
  std::uint64_t next_key_ = 0;
  std::size_t ready_ = 0;
  std::size_t turn_ = 0;
  std::uint64_t lost_ = 0;
  bool finishing_ = false;
};

}  // namespace

Result<void> run_lead(const RoleArguments& arguments, const EventWriter& events) {
  auto agent = attach_role();
  if (!agent) return tl::unexpected(std::move(agent.error()));
  agent->tasks().accept();
  return Lead(arguments, events, *agent).run();
}

}  // namespace beeline::cli::demo
