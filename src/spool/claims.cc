#include "src/spool/claims.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/spool/extras.h"
#include "src/spool/failure.h"
#include "src/spool/id.h"
#include "src/spool/task_reader.h"

namespace beeline::spool {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

tl::unexpected<Failure> not_found(std::string_view id, std::string_view why) {
  return failure(Code::kTaskNotFound, fmt::format("\"{}\" {}", id, why));
}

ProcessLife owner_process(std::int32_t process, const ProcessLife& self) {
  if (process == 0) return self;
  if (process < 0) return {-1, 0};
  return ProcessLife::of(process).value_or(ProcessLife{process, 0});
}

}  // namespace

Claims::Claims(Moves& moves, const Options& options)
    : moves_(moves), files_(moves.files()), options_(options) {
  owner_.host = moves.host();
  owner_.process = owner_process(options.process, moves.process());
}

Outcome<Claims::Taken> Claims::take(const std::string& id) {
  const std::string file = task_file(id);
  const FileName waiting{Place::kInbox, file};
  const FileName claimed{Place::kProcessing, file};
  // While this file is there, the recovery knows that a living process is at the task.
  auto temp = make_claim_temp(id);
  if (!temp) return tl::unexpected(temp.error());
  const auto moved = files_.move_new(waiting, claimed);
  if (!moved || *moved != Moved::kMoved) {
    files_.drop_temp(*temp);
    if (!moved) return tl::unexpected(moved.error());
    return Taken{std::nullopt, *moved == Moved::kGone ? Refusal::kGone : Refusal::kBlocked};
  }
  auto task = read_moved(id);
  if (task && !*task) {
    files_.drop_temp(*temp);
    return Taken{};
  }
  auto stamped = task ? stamp(*temp, std::move(**task)) : tl::unexpected(task.error());
  if (stamped) return Taken{std::move(*stamped), {}};
  if (stamped.error().code == Code::kInvalidTask) {
    auto rejected = moves_.reject(claimed, id, stamped.error().text);
    return rejected ? Outcome<Taken>(Taken{}) : tl::unexpected(rejected.error());
  }
  // Nothing is lost where the disk takes no more: the task goes back.
  (void)files_.move_new(claimed, waiting);
  files_.drop_temp(*temp);
  return tl::unexpected(stamped.error());
}

Outcome<FolderFiles::Temp> Claims::make_claim_temp(const std::string& id) {
  std::string name = moves_.claim_temp_name(id);
  auto temp = files_.make_temp(name);
  if (temp || temp.error().sys_errno != EEXIST) return temp;
  // This Spool left it when it could not remove it.
  (void)files_.remove({Place::kTemp, name});
  return files_.make_temp(std::move(name));
}

// Reads the task that was moved to processing/. Nothing: it was no task, and is away.
Outcome<std::optional<Task>> Claims::read_moved(const std::string& id) {
  const std::string file = task_file(id);
  const FileName name{Place::kProcessing, file};
  if (const auto bytes = files_.read_again(name)) {
    auto task = read_task(*bytes);
    if (task && task->id == id) return std::move(*task);
  }
  // It is large, has no id, or has changed since the inbox was looked at.
  const auto found = files_.read(name);
  if (!found) return tl::unexpected(found.error());
  if (!*found) return std::nullopt;
  auto task = read_task_file(**found, id);
  if (task) return std::move(*task);
  if (!(**found).facts.is_regular || files_.is_being_written(name)) {
    const auto back = files_.move_new(name, {Place::kInbox, file});
    if (!back) return tl::unexpected(back.error());
    return std::nullopt;
  }
  if (auto rejected = moves_.reject(name, id, task.error().text); !rejected) {
    return tl::unexpected(rejected.error());
  }
  return std::nullopt;
}

// Writes the task with its claim over its file in processing/.
Outcome<ClaimedFile> Claims::stamp(FolderFiles::Temp& temp, Task task) {
  Claimant owner = owner_;
  // The clock of another host's disk may differ from ours.
  const auto disk = options_.shared ? files_.facts({Place::kTemp, temp.name}) : std::nullopt;
  owner.made_ns = disk ? disk->modified_ns : os::realtime_ns();
  task.status = "claimed";
  task.claimed_by = options_.worker;
  task.claimed_at = unix_seconds(owner.made_ns);
  ++task.attempts;
  set_claimant(task, owner);
  return write_claim(temp, std::move(task), {}, owner.made_ns);
}

Outcome<ClaimedFile> Claims::write_claim(FolderFiles::Temp& temp, Task task, std::string note,
                                         std::int64_t made_ns) {
  const std::string json = to_json(task);
  if (json.size() > kMostFileBytes) {
    files_.drop_temp(temp);
    return failure(Code::kInvalidTask,
                   fmt::format("with its claim it has {} bytes; at most {} are read", json.size(),
                               kMostFileBytes));
  }
  const auto facts = files_.fill_temp(temp, json);
  if (!facts) return tl::unexpected(facts.error());
  const std::string file = task_file(task.id);
  const auto moved = files_.replace(temp, {Place::kProcessing, file});
  if (moved) {
    return ClaimedFile{std::move(task), std::move(note), facts->inode, facts->modified_ns, made_ns};
  }
  files_.drop_temp(temp);
  return tl::unexpected(moved.error());
}

Outcome<ClaimedFile> Claims::held(std::string_view id) const {
  if (const auto why = why_no_id(id)) return not_found(id, *why);
  const auto file = files_.read({Place::kProcessing, task_file(id)});
  if (!file) return tl::unexpected(file.error());
  if (!*file) return not_found(id, "is not being worked on; `beeline spool ls` shows all tasks");
  auto task = read_task_file(**file, id);
  if (!task) return tl::unexpected(task.error());
  if (task->claimed_by != options_.worker) {
    return not_found(id, fmt::format("is claimed by \"{}\", and this worker is \"{}\"",
                                     task->claimed_by, options_.worker));
  }
  const auto claimant = claimant_of(*task);
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  return ClaimedFile{std::move(*task), claimant ? claimant->note : std::string(),
                     (**file).facts.inode, (**file).facts.modified_ns,
                     claimant ? claimant->made_ns : task->claimed_at * kNsPerSecond};
}

Outcome<void> Claims::check(const ClaimedFile& claim) const {
  const auto facts = files_.facts({Place::kProcessing, task_file(claim.task.id)});
  // A network file system may set the time of a file once more after it was written.
  if (facts && facts->inode == claim.inode &&
      (options_.shared || facts->modified_ns == claim.written_ns)) {
    return {};
  }
  return not_found(claim.task.id, facts ? "is another worker's by now; nothing was written"
                                        : "is no longer being worked on; nothing was written");
}

Outcome<void> Claims::rewrite(ClaimedFile& claim, std::string_view note) {
  if (auto ours = check(claim); !ours) return ours;
  Task task = claim.task;
  Claimant owner = claimant_of(task).value_or(owner_);
  owner.host = owner_.host;
  owner.process = owner_.process;
  owner.note = note;
  set_claimant(task, owner);
  auto temp = make_claim_temp(task.id);
  if (!temp) return tl::unexpected(temp.error());
  auto written = write_claim(*temp, std::move(task), std::string(note), claim.made_ns);
  if (!written) return tl::unexpected(written.error());
  claim = std::move(*written);
  return {};
}

Outcome<void> Claims::heartbeat(ClaimedFile& claim) {
  if (auto ours = check(claim); !ours) return ours;
  const std::string file = task_file(claim.task.id);
  const FileName name{Place::kProcessing, file};
  if (auto touched = files_.touch(name); !touched) return tl::unexpected(touched.error());
  const auto facts = files_.facts(name);
  if (!facts || facts->inode != claim.inode) {
    return not_found(claim.task.id, "is no longer being worked on");
  }
  claim.written_ns = facts->modified_ns;
  return {};
}

Outcome<void> Claims::complete(const ClaimedFile& claim, Completion completion) {
  if (auto ours = check(claim); !ours) return ours;
  const std::string& id = claim.task.id;
  completion.task_id = id;
  completion.completed_at = unix_seconds();
  if (completion.duration_ms < 0) {
    const std::int64_t since_claim = os::realtime_ns() - claim.made_ns;
    completion.duration_ms = since_claim < 0 ? 0 : since_claim / kNsPerMs;
  }
  const std::string json = to_json(completion);
  if (!completion.extra.empty()) {
    if (auto valid = read_completion(json); !valid) return tl::unexpected(valid.error());
  }
  const std::string file = result_file(id);
  const auto temp = files_.write_temp(file, json, FolderFiles::Time::kExact);
  if (!temp) return tl::unexpected(temp.error());
  const FileName result{Place::kOutbox, file};
  if (auto moved = files_.move_over({Place::kTemp, temp->name}, result); !moved) {
    files_.drop_temp(*temp);
    return tl::unexpected(moved.error());
  }
  if (auto synced = files_.sync_names(Place::kOutbox); !synced) return synced;
  const auto removed = files_.remove({Place::kProcessing, task_file(id)});
  if (!removed) return tl::unexpected(removed.error());
  if (*removed) return {};
  return not_found(id, fmt::format("was taken back while its result was written to {}; it may run "
                                   "again",
                                   files_.path(result)));
}

Outcome<void> Claims::fail(const ClaimedFile& claim, std::string_view error) {
  if (auto ours = check(claim); !ours) return ours;
  return moves_.fail({Place::kProcessing, task_file(claim.task.id)}, claim.task, error);
}

Outcome<bool> Claims::retry(const ClaimedFile& claim, std::string_view error) {
  const std::string half = moves_.half_name(claim.task.id);
  // An earlier try may have come to the middle and no further.
  if (!files_.facts({Place::kProcessing, half})) {
    if (auto ours = check(claim); !ours) return tl::unexpected(ours.error());
    const auto taken = moves_.take({Place::kProcessing, task_file(claim.task.id)}, half);
    if (!taken) return tl::unexpected(taken.error());
    if (!*taken) return not_found(claim.task.id, "is no longer being worked on");
  }
  auto released =
      moves_.release(half, claim.task, error.empty() ? "the worker put it back" : error);
  if (!released) {
    // The claim stays, unless it was overwritten already: then the recovery goes on with the task.
    const FileName at{Place::kProcessing, half};
    const auto facts = files_.facts(at);
    if (facts && facts->inode == claim.inode) {
      (void)files_.move_new(at, {Place::kProcessing, task_file(claim.task.id)});
    }
  }
  return released;
}

}  // namespace beeline::spool
