#include "bench/spool_box.h"

#include <utility>

#include <fmt/format.h>

namespace beeline::bench {
namespace {

constexpr std::size_t kDescriptionBytes = 300;

tl::unexpected<Error> as_error(const spool::Failure& failure) {
  return tl::unexpected<Error>(Error{ErrorCode::kSystem, failure.sys_errno, failure.text});
}

}  // namespace

Result<SpoolBox> SpoolBox::create(const std::string& place) {
  auto folder = ScratchFolder::create(place, "spool");
  if (!folder) return tl::unexpected(folder.error());
  auto raw = RawSpool::create(folder->path() + "/raw");
  if (!raw) return tl::unexpected(raw.error());
  return SpoolBox(std::move(*folder), std::move(*raw));
}

Result<spool::Spool> SpoolBox::open() const {
  spool::Options options;
  options.dir = folder_.path() + "/spool";
  auto spool = spool::Spool::open(options);
  if (!spool) return as_error(spool.error());
  return std::move(*spool);
}

spool::Task SpoolBox::task(std::size_t number) {
  spool::Task task;
  task.id = fmt::format("task_{:09}", number);
  task.title = "Implement feature X";
  task.description.assign(kDescriptionBytes, 'd');
  task.max_attempts = 1'000;  // some are claimed again and again
  task.created_at = task.updated_at = static_cast<std::int64_t>(number) + 1;
  return task;
}

std::string SpoolBox::task_json(std::size_t number) { return to_json(task(number)); }

std::string SpoolBox::claim_json(std::size_t number) {
  spool::Task claimed = task(number);
  claimed.status = "claimed";
  claimed.claimed_by = "host:12345";
  claimed.claimed_at = claimed.created_at;
  claimed.metadata.extra.emplace_back("claim", fmt::format("\"{:0>180}\"", number));
  return to_json(claimed);
}

spool::Completion SpoolBox::completion() {
  spool::Completion completion;
  completion.verdict = "pass";
  completion.output = "Task output here...";
  return completion;
}

std::string SpoolBox::result_json(std::size_t number) {
  spool::Completion written = completion();
  written.task_id = task(number).id;
  written.duration_ms = 1;
  written.completed_at = task(number).created_at;
  return to_json(written);
}

Result<void> SpoolBox::fill(std::size_t count) {
  auto spool = open();
  if (!spool) return tl::unexpected(spool.error());
  for (std::size_t number = 0; number < count; ++number) {
    if (auto done = put(*spool, task(number)); !done) return done;
    if (auto done = raw_.put(task(number).id, task_json(number)); !done) return done;
  }
  return {};
}

Result<void> SpoolBox::put(spool::Spool& spool, spool::Task task) {
  const auto id = spool.put(std::move(task));
  return id ? Result<void>() : as_error(id.error());
}

Result<std::optional<spool::Claim>> SpoolBox::claim(spool::Spool& spool) {
  auto claim = spool.try_claim();
  if (claim) return std::move(*claim);
  if (claim.error().code == spool::Code::kNoTasks) return std::nullopt;
  return as_error(claim.error());
}

Result<void> SpoolBox::complete(spool::Claim& claim, spool::Completion completion) {
  const auto done = claim.complete(std::move(completion));
  return done ? Result<void>() : as_error(done.error());
}

}  // namespace beeline::bench
