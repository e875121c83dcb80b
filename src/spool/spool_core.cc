#include "src/spool/spool_core.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/spool/failure.h"
#include "src/spool/id.h"
#include "src/spool/lister.h"
#include "src/spool/retention.h"

namespace beeline::spool {
namespace {

using std::chrono::nanoseconds;

// While tasks wait, ended processes are looked for so often.
constexpr nanoseconds kBusyPause = std::chrono::seconds(1);
// At most a tenth of the time goes into looking for them.
constexpr int kRest = 10;

// The values of keys that the format does not know come from the caller as JSON.
Outcome<void> check_extras(const Task& task, const std::string& json) {
  if (task.extra.empty() && task.metadata.extra.empty()) return {};
  const auto read = read_task(json);
  if (!read) return tl::unexpected(read.error());
  if (read->id == task.id) return {};
  return failure(Code::kInvalidTask, "an extra key is named \"id\"; set the field of the task");
}

}  // namespace

SpoolCore::SpoolCore(FolderFiles files, Options options)
    : options_(std::move(options)),
      files_(std::move(files)),
      moves_(files_, remarks_),
      inbox_(moves_, options_, watch_),
      claims_(moves_, options_),
      recovery_(moves_, options_),
      wakeups_(watch_) {}

Claim SpoolCore::claim_of(ClaimedFile file) {
  return Claim(this, std::move(file.task), std::move(file.note), file.inode, file.written_ns,
               file.made_ns);
}

ClaimedFile SpoolCore::file_of(const Claim& claim) {
  return {claim.task_, claim.note_, claim.inode_, claim.written_ns_, claim.made_ns_};
}

void SpoolCore::store(Claim& claim, ClaimedFile file) {
  claim.task_ = std::move(file.task);
  claim.note_ = std::move(file.note);
  claim.inode_ = file.inode;
  claim.written_ns_ = file.written_ns;
}

Outcome<std::string> SpoolCore::put(Task task) {
  const bool makes_id = task.id.empty();
  const std::int64_t now = unix_seconds();
  if (task.created_at == 0) task.created_at = now;
  if (task.updated_at == 0) task.updated_at = now;
  for (;;) {
    if (makes_id) task.id = fmt::format("task_{}", os::realtime_ns());
    if (const auto why = why_no_id(task.id)) {
      return failure(Code::kInvalidTask,
                     fmt::format("the id cannot be a file name: {}; give another one", *why));
    }
    const std::string file = task_file(task.id);
    const std::string json = to_json(task);
    if (json.size() > kMostFileBytes) {
      return failure(Code::kInvalidTask,
                     fmt::format("\"{}\" has {} bytes as JSON; at most {} are read; put large "
                                 "content into a file of its own and name it in the task",
                                 task.id, json.size(), kMostFileBytes));
    }
    if (auto valid = check_extras(task, json); !valid) return tl::unexpected(valid.error());
    bool is_taken = files_.facts({Place::kProcessing, file}).has_value();
    if (!is_taken) {
      const auto temp = files_.write_temp(file, json);
      if (!temp) return tl::unexpected(temp.error());
      const auto moved = files_.move_new({Place::kTemp, temp->name}, {Place::kInbox, file});
      if (!moved || *moved != Moved::kMoved) files_.drop_temp(*temp);
      if (!moved) return tl::unexpected(moved.error());
      if (*moved == Moved::kMoved) {
        if (auto synced = files_.sync_names(Place::kInbox); !synced) {
          return tl::unexpected(synced.error());
        }
        return task.id;
      }
      is_taken = *moved == Moved::kTaken;
      if (!is_taken) {
        return failure(Code::kMailboxDir, fmt::format("somebody removed {} while it was written",
                                                      files_.path({Place::kTemp, temp->name})));
      }
    }
    if (!makes_id) {
      return failure(Code::kTaskExists,
                     fmt::format("\"{}\" waits or is being worked on; it stays as it is", task.id));
    }
  }
}

Outcome<std::optional<Claim>> SpoolCore::take_best() {
  const auto changed = inbox_.refresh();
  if (!changed) return tl::unexpected(changed.error());
  wants_recovery_ = wants_recovery_ || *changed;
  while (!inbox_.empty()) {
    const std::string id = inbox_.best();
    auto taken = claims_.take(id);
    if (!taken) return tl::unexpected(taken.error());
    if (taken->claim || taken->refusal == Claims::Refusal::kGone) {
      inbox_.erase(id);
    } else {
      inbox_.block(id);
    }
    if (taken->claim) return claim_of(std::move(*taken->claim));
    // Others are at work: the kernel tells which tasks are gone, too.
    if (auto again = inbox_.refresh(); !again) return tl::unexpected(again.error());
  }
  return std::nullopt;
}

// Takes back what ended processes left. The kernel may not tell of these tasks.
Outcome<Recovery::Report> SpoolCore::take_back() {
  auto report = recovery_.run();
  if (!report) return report;
  for (const std::string& id : report->recovered) {
    if (auto looked = inbox_.look_at(id); !looked) return tl::unexpected(looked.error());
  }
  return report;
}

Outcome<bool> SpoolCore::recover(nanoseconds pause) {
  const auto begin = Clock::now();
  if (begin - recovered_at_ < std::max<nanoseconds>(pause, recovery_took_ * kRest)) return false;
  auto report = take_back();
  if (!report) return tl::unexpected(report.error());
  last_ = std::move(*report);
  recovered_at_ = Clock::now();
  recovery_took_ = recovered_at_ - begin;
  wants_recovery_ = !last_.was_alone;
  return true;
}

Outcome<Claim> SpoolCore::try_claim() {
  if (auto recovered = recover(kBusyPause); !recovered) return tl::unexpected(recovered.error());
  for (;;) {
    auto taken = take_best();
    if (!taken) return tl::unexpected(taken.error());
    if (*taken) {
      disarm();
      return std::move(**taken);
    }
    // From here on the kernel tells of changes; then one more look finds those before.
    const bool was_armed = is_armed_ || !arms_ || !arm();
    const auto recovered = recover(nanoseconds(0));
    if (!recovered) return tl::unexpected(recovered.error());
    wants_recovery_ = wants_recovery_ || !*recovered;
    if (*recovered && is_armed_) sees_all_ends_ = wakeups_.watch_processes(last_.living);
    if (was_armed && inbox_.empty()) break;
  }
  if (auto there = files_.check_is_there(Place::kInbox); !there) {
    return tl::unexpected(there.error());
  }
  return failure(Code::kNoTasks, fmt::format("{} has none that waits", files_.dir()));
}

Outcome<Claim> SpoolCore::claim(Deadline deadline) {
  const bool armed_before = std::exchange(arms_, true);
  for (;;) {
    auto claimed = try_claim();
    const auto now = Clock::now();
    if (claimed || claimed.error().code != Code::kNoTasks || now >= deadline) {
      arms_ = armed_before;
      return claimed;
    }
    const nanoseconds left = deadline - now;
    wakeups_.wait(std::min(left, longest_sleep()));
  }
}

bool SpoolCore::arm() {
  is_armed_ = watch_.add(files_, Place::kProcessing, NameWatch::Wanted::kMovesTo);
  wants_recovery_ = true;
  recovery_took_ = nanoseconds(0);
  return is_armed_;
}

void SpoolCore::disarm() {
  if (!is_armed_) return;
  is_armed_ = false;
  watch_.remove(Place::kProcessing);
  wakeups_.watch_processes({});
}

// The time after which something may have happened that the kernel does not tell.
nanoseconds SpoolCore::longest_sleep() const {
  nanoseconds most = nanoseconds::max();
  if (inbox_.needs_looks() || wakeups_.fd() < 0 || !is_armed_ || !sees_all_ends_) {
    most = options_.poll_every;
  }
  if (last_.has_unknown) most = std::min<nanoseconds>(most, options_.poll_every);
  if (wants_recovery_) most = std::min(most, recovery_took_ * kRest + nanoseconds(1));
  return most;
}

int SpoolCore::fd() {
  arms_ = true;
  return wakeups_.fd();
}

Outcome<Claim> SpoolCore::held(std::string_view id) {
  auto file = claims_.held(id);
  if (!file) return tl::unexpected(file.error());
  return claim_of(std::move(*file));
}

Outcome<std::vector<Claim>> SpoolCore::take_over() {
  const auto names = files_.names(Place::kProcessing);
  if (!names) return tl::unexpected(names.error());
  std::vector<Claim> claims;
  for (const std::string& name : *names) {
    const auto id = id_in(Folder::kProcessing, name);
    if (!id) continue;
    auto file = claims_.held(*id);
    // Another worker's, or a broken one.
    if (!file && file.error().code != Code::kMailboxDir) continue;
    if (!file) return tl::unexpected(file.error());
    const std::string note = file->note;
    if (auto written = claims_.rewrite(*file, note); !written) {
      if (written.error().code == Code::kTaskNotFound) continue;
      return tl::unexpected(written.error());
    }
    claims.push_back(claim_of(std::move(*file)));
  }
  return claims;
}

Outcome<std::vector<Listed>> SpoolCore::list(Folder folder) {
  return Lister(files_, options_.order).list(folder);
}

Outcome<Listed> SpoolCore::find(std::string_view id) {
  return Lister(files_, options_.order).find(id);
}

Outcome<Swept> SpoolCore::sweep() {
  auto report = take_back();
  if (!report) return tl::unexpected(report.error());
  Swept swept;
  swept.recovered = std::move(report->recovered);
  swept.exhausted = std::move(report->exhausted);
  swept.finished = std::move(report->finished);
  if (auto removed = remove_old(files_, options_, swept); !removed) {
    return tl::unexpected(removed.error());
  }
  return swept;
}

}  // namespace beeline::spool
