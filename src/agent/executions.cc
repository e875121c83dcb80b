#include "src/agent/executions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/agent/debts.h"
#include "src/agent/task_codec.h"
#include "src/receive/rank.h"

namespace beeline {

namespace {

// The child gives a task up by itself this much later than its parent, whose own order to cancel it
// comes first.
constexpr std::chrono::milliseconds kGrace{1000};

std::chrono::milliseconds timeout_of(const Task& task) {
  return std::clamp(task.timeout, std::chrono::milliseconds(0), kMostTimeout);
}

// The time that is left for a task, if the wait for it ends by this deadline.
std::chrono::milliseconds time_for(const Task& task, Deadline deadline, Deadline until) {
  if (until < deadline) return timeout_of(task);
  const auto now = std::chrono::steady_clock::now();
  if (deadline <= now) return std::chrono::milliseconds(0);
  return std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
}

}  // namespace

tl::unexpected<Error> not_executed(Error error) {
  error.text.insert(0, "execute failed: ");
  return tl::unexpected(std::move(error));
}

Executions::Order::Order(const Task& task, Deadline deadline)
    : until(std::min(deadline, after(timeout_of(task)))) {
  const std::chrono::milliseconds left = time_for(task, deadline, until);
  const std::int64_t most = UINT32_MAX;
  options.rank = task.priority;
  options.cancel_on_timeout = true;
  options.ttl_ms =
      static_cast<std::uint32_t>(std::min(most - kGrace.count(), left.count()) + kGrace.count());
  if (encoded_bytes(task) <= shm::kMaxMaxPayload) form = encode(task, left);
}

Result<void> Executions::check(Peer child, const Order& order) const {
  const auto refuse = [child](ErrorCode code, std::string_view why) {
    return fail(code, "agent " + std::to_string(child.pid) + ": " + std::string(why));
  };
  if (order.form.text().empty()) return refuse(ErrorCode::kTooBig, "the task is too large");
  const auto lock = with_.life.lock_send();
  const send::OutLink* const link = with_.links.link_of(child);
  if (link == nullptr || link->dead) return {};  // the send says it in its own words
  shm::AgentRecord its;
  const shm::DirectoryView& view = with_.directory.view();
  const bool is_known = link->place != nullptr && view.read_record(link->directory_index, its) &&
                        its.pid == child.pid;
  if (!is_known) {
    return refuse(ErrorCode::kNoCoordinator,
                  "nobody knows now whose child it is; try again when the coordinator is back");
  }
  if (its.parent_pid != with_.life.pid() && !may_execute_on(its)) {
    return refuse(ErrorCode::kDenied, receive::kNotOwnChild);
  }
  if (!link->is_away()) return {};
  return refuse(ErrorCode::kPeerDead, "it has no process now; nothing was sent");
}

bool Executions::may_execute_on(const shm::AgentRecord& other) const {
  shm::AgentRecord own;
  return with_.directory.view().read_record(with_.directory.index(), own) &&
         receive::may_execute(receive::relation_of(own, other));
}

// Makes it the question of a task. Errors: it is not to be sent.
Result<void> Executions::mark(Question& question, const Order& order,
                              const ProgressHandler& progress) const {
  question.deadline = order.until;
  question.pending.is_task = true;
  question.progress = progress;
  return check(question.to, order);
}

Result<TaskResult> Executions::execute(Peer child, const Task& task, Deadline deadline,
                                       const ProgressHandler& progress) {
  const Order order(task, deadline);
  Question question(child, order.until);
  if (auto good = mark(question, order, progress); !good) return not_executed(good.error());
  return with_.questions.read_result(
      with_.questions.ask_and_await(question, order.form.bytes(), order.options));
}

Result<MessageId> Executions::start(Peer child, const Task& task, ResultHandler then,
                                    ProgressHandler progress, Deadline deadline) {
  const Order order(task, deadline);
  auto question = std::make_unique<Question>(child, order.until);
  question->then = std::move(then);
  if (auto good = mark(*question, order, progress); !good) return not_executed(good.error());
  auto asked = with_.open.ask(std::move(question), order.form.bytes(), order.options);
  if (!asked) return not_executed(std::move(asked.error()));
  return asked;
}

std::vector<Result<TaskResult>> Executions::execute_all(std::span<const Execution> tasks,
                                                        Deadline deadline) {
  std::vector<Order> orders;
  std::vector<Request> requests;
  orders.reserve(tasks.size());
  Deadline last = Deadline::min();
  for (const Execution& each : tasks) {
    const Order& order = orders.emplace_back(each.task, deadline);
    requests.push_back({each.child, order.form.text(), order.options});
    last = std::max(last, order.until);
  }
  const auto mark_each = [&](std::size_t i, Question& question) {
    return mark(question, orders[i], tasks[i].progress);
  };
  std::vector<Result<TaskResult>> results;
  results.reserve(tasks.size());
  for (auto& at : with_.questions.ask_all(requests, last, mark_each)) {
    results.push_back(with_.questions.read_result(std::move(at)));
  }
  return results;
}

bool Executions::cancel(MessageId task) {
  const Question* const question = with_.open.find(task);
  if (question == nullptr || !question->pending.is_task) return false;
  with_.debts.cancel(question->to.pid, task);
  return true;
}

}  // namespace beeline
