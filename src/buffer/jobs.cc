#include "src/buffer/jobs.h"

#include <utility>

#include <fmt/format.h>

#include "src/buffer/limits.h"
#include "src/buffer/times.h"

namespace beeline::buffer {
namespace {

constexpr std::uint32_t kMostFired = 256;  // in one step
constexpr const char* kJobChannel = "cron";

}  // namespace

Result<Jobs> Jobs::open(Database& database, Intake& intake, Router& router) {
  Jobs jobs(database, intake, router);
  auto prepared = database.prepare_all({
      {&jobs.find_, "SELECT id FROM buffer_jobs WHERE key = ?"},
      {&jobs.add_,
       "INSERT INTO buffer_jobs (due_at, template, text, state, key) "
       "VALUES (?, ?, ?, 'pending', nullif(?, ''))"},
      {&jobs.due_,
       "SELECT id, due_at, template, text FROM buffer_jobs INDEXED BY buffer_jobs_due "
       "WHERE state = 'pending' AND due_at <= ? ORDER BY due_at, id LIMIT ?"},
      {&jobs.end_,
       "UPDATE buffer_jobs SET state = ?, ended_at = ? WHERE id = ? AND state = 'pending'"},
      {&jobs.next_,
       "SELECT min(due_at) FROM buffer_jobs INDEXED BY buffer_jobs_due WHERE state = 'pending'"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return jobs;
}

Result<JobId> Jobs::add(const Job& job) {
  // A job that cannot become a message is refused now, and not when nobody is there to hear it.
  auto valid =
      check_put({.channel = kJobChannel, .sender = job.agent_template, .payload = job.text});
  if (!valid) return tl::unexpected(std::move(valid.error()));
  if (!job.key.empty()) {
    Cursor found(*database_, find_, job.key);
    if (found.next()) return found.number(0);
    if (found.has_failed()) return tl::unexpected(database_->failed("look for the key of a job"));
  }
  auto done =
      Cursor(*database_, add_, format_time(job.due_unix_ms), job.agent_template, job.text, job.key)
          .finish("write a job");
  if (!done) return tl::unexpected(std::move(done.error()));
  return database_->last_row_id();
}

Result<void> Jobs::cancel(JobId job, std::int64_t now_ms) {
  auto done =
      Cursor(*database_, end_, "cancelled", format_time(now_ms), job).finish("cancel a job");
  if (!done || database_->changes() != 0) return done;
  return fail(ErrorCode::kInvalid,
              fmt::format("cancel: job {} does not wait; it has fired, or was cancelled", job));
}

Result<FireAnswer> Jobs::fire(std::int64_t now_ms) {
  FireAnswer answer;
  const auto jobs = due(now_ms);
  if (!jobs) return tl::unexpected(jobs.error());
  for (const Job& job : *jobs) {
    if (auto fired = fire_one(job, now_ms, answer); !fired) {
      return tl::unexpected(std::move(fired.error()));
    }
  }
  answer.has_more = jobs->size() == kMostFired;
  Cursor row(*database_, next_);
  if (!row.next()) return tl::unexpected(database_->failed("look for the next job"));
  if (!row.is_null(0)) answer.next_due_unix_ms = parse_time(row.text(0));
  return answer;
}

Result<std::vector<Job>> Jobs::due(std::int64_t now_ms) {
  std::vector<Job> jobs;
  Cursor row(*database_, due_, format_time(now_ms), std::int64_t{kMostFired});
  while (row.next()) {
    jobs.push_back(
        {row.number(0), parse_time(row.text(1)).value_or(now_ms), row.text(2), row.text(3)});
  }
  if (row.has_failed()) return tl::unexpected(database_->failed("look for due jobs"));
  return jobs;
}

Result<void> Jobs::fire_one(const Job& job, std::int64_t now_ms, FireAnswer& answer) {
  const std::string name = fmt::format("job {}", job.id);
  const auto row = intake_->put(
      {.channel = kJobChannel, .sender = "system", .conversation = name, .payload = job.text},
      now_ms);
  if (!row) return tl::unexpected(row.error());
  if (job.agent_template.empty()) {
    ++answer.messages;
  } else {
    Group group{kJobChannel, name, {}};
    group.messages.push_back({.id = row->id,
                              .channel = kJobChannel,
                              .sender = "system",
                              .conversation = name,
                              .payload = job.text,
                              .priority = kDefaultPriority});
    const Action action{Destination::kSpawn, job.agent_template, job.text};
    if (auto placed = router_->place(group, {.action = action}, now_ms); !placed) return placed;
    ++answer.tasks;
  }
  return Cursor(*database_, end_, "fired", format_time(now_ms), job.id).finish("end a job");
}

}  // namespace beeline::buffer
