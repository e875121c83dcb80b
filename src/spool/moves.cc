#include "src/spool/moves.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/spool/extras.h"
#include "src/spool/failure.h"
#include "src/spool/id.h"

namespace beeline::spool {
namespace {

constexpr std::string_view kClaimKey = "claim";

}  // namespace

std::int64_t unix_seconds(std::int64_t realtime_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  return realtime_ns / kNsPerSecond;
}

std::int64_t unix_seconds() { return unix_seconds(os::realtime_ns()); }

std::optional<Claimant> claimant_of(const Task& task) {
  const std::string* const json = find_extra(task.metadata.extra, kClaimKey);
  return json == nullptr ? std::nullopt : Claimant::parse(*json);
}

void set_claimant(Task& task, const Claimant& claimant) {
  set_extra(task.metadata.extra, kClaimKey, claimant.json());
}

Moves::Moves(FolderFiles& files, Remarks& remarks)
    : files_(files),
      remarks_(remarks),
      host_(Host::read()),
      host_tag_(host_.tag()),
      process_(ProcessLife::of(::getpid()).value_or(ProcessLife{::getpid(), 0})),
      // No two Spools of a process have the same descriptor.
      spool_(static_cast<std::uint64_t>(files.fd(Place::kInbox))) {}

bool Moves::is_ours(const HalfClaim& half) const {
  return half.host_tag == host_tag_ && half.process == process_ && half.spool == spool_;
}

std::string Moves::half_name(std::string_view id) const {
  return HalfClaim{std::string(id), host_tag_, process_, spool_}.name();
}

std::string Moves::claim_temp_name(std::string_view id) const {
  return HalfClaim{std::string(id), host_tag_, process_, spool_}.temp_name();
}

Outcome<bool> Moves::take(const FileName& from, std::string_view half) {
  return files_.move_over(from, {Place::kProcessing, half});
}

Outcome<Moved> Moves::put_back(std::string_view half, std::string_view id) {
  return files_.move_new({Place::kProcessing, half}, {Place::kInbox, task_file(id)});
}

Outcome<bool> Moves::release(std::string_view half, Task task, std::string_view error) {
  const FileName held{Place::kProcessing, half};
  if (!error.empty()) task.last_error = error;
  erase_extra(task.metadata.extra, kClaimKey);
  if (task.attempts >= task.max_attempts) {
    const std::string why = error.empty()
                                ? fmt::format("Max retries exceeded ({} attempts)", task.attempts)
                                : std::string(error);
    if (auto failed = fail(held, task, why); !failed) return tl::unexpected(failed.error());
    return false;
  }
  task.status = "ready";
  task.claimed_by.clear();
  task.claimed_at = 0;
  task.updated_at = unix_seconds();
  const std::string file = task_file(task.id);
  const auto temp = files_.write_temp(file, to_json(task));
  if (!temp) return tl::unexpected(temp.error());
  if (auto moved = files_.replace(*temp, held); !moved) {
    files_.drop_temp(*temp);
    return tl::unexpected(moved.error());
  }
  const auto moved = put_back(half, task.id);
  if (!moved) return tl::unexpected(moved.error());
  if (*moved == Moved::kMoved) {
    if (auto synced = files_.sync_names(Place::kInbox); !synced) {
      return tl::unexpected(synced.error());
    }
    return true;
  }
  constexpr auto kTwin = "it was to wait again, but another task of its id had come to the inbox";
  if (auto failed = fail(held, task, kTwin); !failed) return tl::unexpected(failed.error());
  return false;
}

Outcome<void> Moves::write_error(const TaskError& error) {
  const std::string file = error_file(error.task_id);
  const auto temp = files_.write_temp(file, to_json(error), FolderFiles::Time::kExact);
  if (!temp) return tl::unexpected(temp.error());
  if (auto moved = files_.move_over({Place::kTemp, temp->name}, {Place::kFailed, file}); !moved) {
    files_.drop_temp(*temp);
    return tl::unexpected(moved.error());
  }
  return files_.sync_names(Place::kFailed);
}

Outcome<void> Moves::fail(const FileName& from, const Task& task, std::string_view error) {
  TaskError written;
  written.task_id = task.id;
  written.error = error;
  written.attempts = task.attempts;
  written.last_attempt_at = task.claimed_at;
  written.failed_at = unix_seconds();
  if (auto done = write_error(written); !done) return done;
  const auto removed = files_.remove(from);
  if (!removed) return tl::unexpected(removed.error());
  if (*removed) return {};
  return failure(
      Code::kTaskNotFound,
      fmt::format("\"{}\" was taken back while its error was written to {}; it may run again",
                  task.id, files_.path({Place::kFailed, error_file(task.id)})));
}

Outcome<void> Moves::reject(const FileName& from, std::string_view id, std::string_view why) {
  std::string name = task_file(id);
  auto moved = files_.move_new(from, {Place::kFailed, name});
  if (moved && *moved == Moved::kTaken) {
    name = fmt::format("{}.{}.json", id, os::realtime_ns());
    moved = files_.move_new(from, {Place::kFailed, name});
  }
  if (!moved) return tl::unexpected(moved.error());
  if (*moved != Moved::kMoved) return {};  // another process was faster
  (void)files_.touch({Place::kFailed, name});
  TaskError written;
  written.task_id = id;
  written.error = why;
  written.failed_at = unix_seconds();
  remarks_.add(fmt::format("moved {} to {}: {}", files_.path({Place::kInbox, task_file(id)}),
                           files_.path({Place::kFailed, name}), why));
  return write_error(written);
}

}  // namespace beeline::spool
