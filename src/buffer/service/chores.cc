#include "src/buffer/service/chores.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/service/answer.h"
#include "src/buffer/times.h"
#include "src/os/clock.h"
#include "src/service/log.h"

namespace beeline::buffer {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kDayNs = kDayMs * kMs;
// The time of day may jump.
constexpr std::int64_t kLongestJobWaitMs = 60'000;

std::int64_t now_unix_ms() { return os::realtime_ns() / kMs; }

}  // namespace

void Chores::prune_daily() {
  parts_.alarms.set(Duty::kPrune, os::monotonic_ns() + kDayNs);
  step({.before_unix_ms = now_unix_ms() - retention_days_ * kDayMs}, {});
}

void Chores::prune(Lease lease, std::uint32_t days) {
  step({.before_unix_ms = now_unix_ms() - days * kDayMs}, std::move(lease));
}

void Chores::step(Pruning pruning, Lease lease) {
  const PruneStep order{.before_unix_ms = pruning.before_unix_ms, .from = pruning.from};
  const auto then = [this, pruning](Lease asked, Result<Answer> answer) mutable {
    if (!answer) {
      service::log_warn("not_pruned", answer.error().text);
      if (asked.valid()) return parts_.post.answer(std::move(asked), error_text(answer.error()));
      return parts_.again.add([this, pruning] { step(pruning, {}); });
    }
    const auto& pruned = answer_as<PruneAnswer>(answer);
    pruning.messages += pruned.messages;
    pruning.batches += pruned.batches;
    pruning.from = pruned.next;
    if (pruned.has_more) return step(pruning, std::move(asked));
    if (pruning.messages + pruning.batches != 0) {
      service::log_info("pruned",
                        fmt::format("{} messages, {} batches", pruning.messages, pruning.batches));
    }
    if (!asked.valid()) return;
    parts_.post.answer(std::move(asked), fmt::format(R"({{"messages":{},"batches":{}}})",
                                                     pruning.messages, pruning.batches));
  };
  parts_.orders.give(order, then, std::move(lease));
}

void Chores::add_job(Lease lease, const Job& job) {
  const auto then = [this](Lease asked, Result<Answer> answer) {
    if (!answer) return parts_.post.answer(std::move(asked), error_text(answer.error()));
    parts_.post.answer(std::move(asked), fmt::format(R"({{"id":{}}})", answer_as<JobId>(answer)));
    fire_jobs();
  };
  parts_.orders.give(AddJob{job}, then, std::move(lease));
}

void Chores::cancel_job(Lease lease, JobId job) {
  const auto then = [this](Lease asked, Result<Answer> answer) {
    // The life before may have done it.
    const bool is_done = answer || (asked.redelivered() && is_refusal(answer.error()));
    parts_.post.answer(std::move(asked), is_done ? "{}" : error_text(answer.error()));
  };
  parts_.orders.give(CancelJob{job}, then, std::move(lease));
}

void Chores::fire_jobs() {
  parts_.orders.give(FireJobs{},
                     [this](Lease, Result<Answer> answer) { hear_fired(std::move(answer)); });
}

void Chores::hear_fired(Result<Answer> answer) {
  if (!answer) {
    service::log_warn("jobs_not_fired", answer.error().text);
    return parts_.again.add([this] { fire_jobs(); });
  }
  const auto& fired = answer_as<FireAnswer>(answer);
  events_.crossed(fired.warned);
  if (fired.messages != 0) events_.unrouted();
  if (fired.tasks != 0) events_.tasks();
  next_due_unix_ms_ = fired.next_due_unix_ms;
  if (fired.has_more) return fire_jobs();
  set_job_alarm();
}

void Chores::set_job_alarm() {
  parts_.alarms.clear(Duty::kJobs);
  if (!next_due_unix_ms_) return;
  const std::int64_t wait_ms =
      std::clamp<std::int64_t>(*next_due_unix_ms_ - now_unix_ms(), 1, kLongestJobWaitMs);
  parts_.alarms.set(Duty::kJobs, os::monotonic_ns() + wait_ms * kMs);
}

void Chores::hear_jobs_due() {
  if (next_due_unix_ms_ && *next_due_unix_ms_ <= now_unix_ms()) return fire_jobs();
  set_job_alarm();
}

}  // namespace beeline::buffer
