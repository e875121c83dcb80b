#include "src/buffer/ledger.h"

#include <variant>

#include "src/buffer/schema.h"
#include "src/os/clock.h"

namespace beeline::buffer {
namespace {

// Keeps a part that was made, or passes its error on.
template <typename Part>
Result<void> keep(std::optional<Part>& to, Result<Part> made) {
  if (!made) return tl::unexpected(std::move(made.error()));
  to.emplace(std::move(*made));
  return {};
}

template <typename Value>
Result<Answer> answered(Result<Value> result) {
  if (!result) return tl::unexpected(std::move(result.error()));
  return Answer(std::move(*result));
}

Result<Answer> answered(Result<void> result) {
  if (!result) return tl::unexpected(std::move(result.error()));
  return Answer(NoAnswer{});
}

}  // namespace

bool is_refusal(const Error& error) noexcept {
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kTooBig;
}

Result<std::unique_ptr<Ledger>> Ledger::open(LedgerOptions options) {
  auto database = Database::open(options.path, options.lock_patience, options.vfs);
  if (!database) return tl::unexpected(std::move(database.error()));
  if (!options.now_ms) options.now_ms = [] { return os::realtime_ns() / 1'000'000; };
  std::unique_ptr<Ledger> ledger(new Ledger(std::move(options), std::move(*database)));
  if (auto prepared = ledger->prepare(); !prepared) {
    return tl::unexpected(std::move(prepared.error()));
  }
  return ledger;
}

Result<void> Ledger::prepare() {
  if (auto made = prepare_schema(database_); !made) return made;
  const Config& config = options_.config;
  auto kept = keep(queries_, Queries::open(database_));
  if (kept) kept = keep(intake_, Intake::open(database_, config.channels));
  if (kept) kept = keep(router_, Router::open(database_, config.rules, config.batch_limits));
  if (kept) kept = keep(queue_, Queue::open(database_));
  if (kept) kept = keep(tasks_, Tasks::open(database_));
  if (kept) kept = keep(retention_, Retention::open(database_));
  if (kept) kept = keep(jobs_, Jobs::open(database_, *intake_, *router_));
  if (!kept) return kept;
  const auto open = queries_->open_messages();
  if (!open) return tl::unexpected(open.error());
  depth_ = Depth(config.warn_threshold, open->unrouted + open->routed);
  return {};
}

Result<void> Ledger::begin() {
  depth_at_begin_ = depth_;
  return database_.run("BEGIN IMMEDIATE");
}

Result<Answer> Ledger::apply(const Request& request) {
  return std::visit([this](const auto& one) { return on(one); }, request);
}

Result<void> Ledger::commit() { return database_.run("COMMIT"); }

void Ledger::roll_back() {
  if (database_.is_in_transaction()) (void)database_.run("ROLLBACK");
  depth_ = depth_at_begin_;
}

Result<Answer> Ledger::change(const Request& request) {
  if (auto begun = begin(); !begun) return tl::unexpected(std::move(begun.error()));
  auto answer = apply(request);
  if (answer) {
    if (auto done = commit(); !done) answer = tl::unexpected(std::move(done.error()));
  }
  if (!answer) roll_back();
  return answer;
}

Result<Answer> Ledger::on(const Put& put) {
  auto answer = intake_->put(put, options_.now_ms());
  if (answer && !answer->is_repeat && depth_.add()) answer->warned = depth_.open();
  return answered(std::move(answer));
}

Result<Answer> Ledger::on(const RouteStep& step) {
  auto answer = router_->route(step.most, options_.now_ms());
  if (!answer) return answered(std::move(answer));
  for (const Dropped& dropped : answer->dropped) depth_.remove(dropped.messages);
  return answered(std::move(answer));
}

Result<Answer> Ledger::on(const NextBatch& next) { return answered(queue_->next(next.holder)); }

Result<Answer> Ledger::on(const AckBatch& ack) {
  auto answer = queue_->ack(ack.batch, options_.now_ms());
  if (answer && answer->was_open) depth_.remove(answer->messages);
  return answered(std::move(answer));
}

Result<Answer> Ledger::on(const GiveBack& give_back) {
  return answered(queue_->give_back(give_back.batch));
}

Result<Answer> Ledger::on(const BeginTask& /*begin*/) {
  return answered(tasks_->begin(options_.now_ms()));
}

Result<Answer> Ledger::on(const RunTask& run) {
  return answered(tasks_->run(run.task, run.pid, options_.now_ms()));
}

Result<Answer> Ledger::on(const PostponeTask& postpone) {
  return answered(tasks_->postpone(postpone.task, postpone.reason, options_.now_ms()));
}

Result<Answer> Ledger::on(const TaskEnd& end) {
  auto answer = tasks_->end(end, options_.now_ms());
  if (answer && answer->was_open) depth_.remove(answer->messages);
  return answered(std::move(answer));
}

Result<Answer> Ledger::on(const PruneStep& step) {
  return answered(retention_->prune(step.before_unix_ms, step.from, step.most));
}

Result<Answer> Ledger::on(const AddJob& add) { return answered(jobs_->add(add.job)); }

Result<Answer> Ledger::on(const CancelJob& cancel) {
  return answered(jobs_->cancel(cancel.job, options_.now_ms()));
}

Result<Answer> Ledger::on(const FireJobs& /*fire*/) {
  auto answer = jobs_->fire(options_.now_ms());
  if (answer) {
    for (std::uint64_t i = 0; i < answer->messages + answer->tasks; ++i) {
      if (depth_.add()) answer->warned = depth_.open();
    }
  }
  return answered(std::move(answer));
}

}  // namespace beeline::buffer
