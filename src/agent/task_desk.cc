#include "src/agent/task_desk.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "src/agent/leases.h"
#include "src/agent/sender.h"
#include "src/agent/task_codec.h"
#include "src/receive/expiry.h"

namespace beeline {

namespace {

constexpr std::size_t kMostText = 64U << 10;  // bytes of the reason for a failure

}  // namespace

void TaskDesk::handle(TaskHandler handler) {
  handler_ = handler ? std::make_shared<const TaskHandler>(std::move(handler)) : nullptr;
  accept(accepts_);
}

void TaskDesk::accept(bool wanted) {
  accepts_ = wanted;
  with_.receiver.kept().tasks().accept(accepts_ || handler_ != nullptr);
}

template <typename Use>
void TaskDesk::begin_next(Use&& use) {
  while (is_open()) {
    const shm::EntryIndex at = with_.receiver.take_task();
    if (at == shm::kNoEntry) return;
    if (has_lost_parent(at)) {
      with_.receiver.bury(at, shm::DeadReason::kCancelled);
      continue;
    }
    TaskRun run(*this, with_.leases.hand_out_aside(at));
    if (const auto read = decode_task(run.lease_.payload(), run.task_); !read) {
      fail(run.lease_, read.error().text);
      continue;
    }
    if (run.task_.id.empty()) run.task_.id = id_text(run.id());
    return use(run);
  }
}

std::optional<TaskRun> TaskDesk::next() {
  std::optional<TaskRun> next;
  begin_next([&](TaskRun& run) { next.emplace(std::move(run)); });
  return next;
}

std::optional<TaskResult> TaskDesk::call_handler(TaskRun& run, std::string& why) const {
  const auto handler = handler_;
  try {
    return (*handler)(run);
  } catch (const std::exception& thrown) {
    why = thrown.what();
  } catch (...) {
    why = "the handler has thrown something that is no std::exception";
  }
  return std::nullopt;
}

void TaskDesk::run_next() {
  begin_next([this](TaskRun& run) {
    const shm::EntryIndex at = Leases::entry_of(run.lease_);
    const MessageId id = run.id();
    std::string why;
    const auto result = call_handler(run, why);
    if (!run.valid()) {
      // The handler may have moved it away: somebody goes on with it.
      if (with_.leases.is_leased(at, id)) with_.leases.defer(at);
    } else if (result) {
      run.finish(*result);
    } else {
      run.fail(why.empty() ? "the handler has returned no result" : why);
    }
  });
}

bool TaskDesk::is_cancelled(Message& lease) {
  if (lease.cancelled()) return true;
  const shm::EntryIndex at = Leases::entry_of(lease);
  return has_lost_parent(at) || receive::has_expired(with_.receiver.entry(at));
}

// Looks into the directory: a handler that is busy takes no turn, so the link may not know yet.
bool TaskDesk::has_lost_parent(shm::EntryIndex at) const {
  const receive::InLink* const link = with_.receiver.link_of(at);
  if (link == nullptr || link->owner_gone()) return true;
  const PeerRecord& parent = with_.links.records().of(*link);
  return parent.has_place() && shm::has_ended(parent.word(), link->key().incarnation);
}

SendResult TaskDesk::report(Message& lease, TaskProgress::Kind kind, std::string_view text) {
  const bool is_log = kind == TaskProgress::Kind::kLog;
  const auto said = is_log ? shm::MessageKind::kTaskLog : shm::MessageKind::kTaskUpdate;
  return with_.sender.report(lease, said, std::as_bytes(std::span(text)));
}

void TaskDesk::finish(Message& lease, const TaskResult& result) {
  const std::uint64_t bytes = encoded_bytes(result);
  const std::uint64_t most = with_.life.contract().max_payload_bytes;
  if (bytes > most) {
    return fail(lease, "the result has " + std::to_string(bytes) + " bytes, and this agent sends " +
                           std::to_string(most) + " at most");
  }
  answer(lease, encode(result));
}

void TaskDesk::fail(Message& lease, std::string_view text) {
  // The form of a failure has a head and the length of the text, too.
  const std::uint64_t most = with_.life.contract().max_payload_bytes - sizeof(shm::TaskHead) - 4;
  answer(lease, encode_failure(text.substr(0, std::min<std::uint64_t>(kMostText, most))));
}

// One that finds no room becomes a debt of this agent, and the task ends when that is paid.
void TaskDesk::answer(Message& lease, const FormBytes& form) {
  if (!with_.sender.reply(lease, form.bytes(), kPlainSend, Deadline::min())) {
    return lease.done(form.text());
  }
  if (lease.valid()) lease.done();
}

// ---- TaskRun ------------------------------------------------------------------------------------

TaskRun::TaskRun(TaskRun&& other) noexcept = default;
TaskRun& TaskRun::operator=(TaskRun&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  desk_ = other.desk_;
  lease_ = std::move(other.lease_);
  task_ = std::move(other.task_);
  return *this;
}
TaskRun::~TaskRun() { let_go(); }

// The lease of an agent that has left goes back, and its successor tells the parent.
void TaskRun::let_go() {
  if (valid() && desk_->is_open()) fail("the child let the task go");
}

bool TaskRun::is_cancelled() { return !valid() || desk_->is_cancelled(lease_); }
SendResult TaskRun::report(TaskProgress::Kind kind, std::string_view text) {
  return desk_->report(lease_, kind, text);
}
void TaskRun::finish(const TaskResult& result) {
  if (valid()) desk_->finish(lease_, result);
}
void TaskRun::fail(std::string_view text) {
  if (valid()) desk_->fail(lease_, text);
}

}  // namespace beeline
