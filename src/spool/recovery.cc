#include "src/spool/recovery.h"

#include <sys/file.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/spool/id.h"
#include "src/spool/task_reader.h"

namespace beeline::spool {
namespace {

// A broken file of this age is broken for good: nobody writes it any more.
constexpr std::int64_t kSettledNs = 2'000'000'000;

// The right to take tasks back: one process at a time has it. The kernel gives it back when that
// process ends.
class FolderLock {
 public:
  explicit FolderLock(int dir) : dir_(dir), is_held_(::flock(dir, LOCK_EX | LOCK_NB) == 0) {}
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (is_held_) ::flock(dir_, LOCK_UN);
  }
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  int dir_;
  bool is_held_;
};

}  // namespace

Outcome<Recovery::Report> Recovery::run() {
  report_ = {};
  const FolderLock lock(moves_.files().fd(Place::kProcessing));
  report_.was_alone = may_act_ = lock.is_held();
  const auto names = moves_.files().names(Place::kProcessing);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    Outcome<void> looked;
    if (const auto half = HalfClaim::parse(name)) {
      looked = look_at_half(*half, name);
    } else if (const auto id = id_in(Folder::kProcessing, name)) {
      looked = look_at_task(std::string(*id), name);
    }
    if (!looked) moves_.remarks().add(looked.error().text);
  }
  return std::move(report_);
}

bool Recovery::is_old(std::int64_t since_ns) const {
  return os::realtime_ns() - since_ns >
         std::chrono::nanoseconds(options_.heartbeat_patience).count();
}

Outcome<Recovery::Verdict> Recovery::judge(const Task& task, const FileFacts& facts) {
  const auto claimant = claimant_of(task);
  if (!claimant) return judge_unclaimed(task.id, facts);
  const Life life = claimant->life(moves_.host());
  if (life == Life::kGone) return Verdict::kTakeBack;
  if (life == Life::kAlive) {
    report_.living.insert(claimant->process);
    return Verdict::kLeave;
  }
  report_.has_unknown = true;
  return is_old(facts.modified_ns) ? Verdict::kTakeBack : Verdict::kLeave;
}

// A file without a claim: a process is just claiming it, or ended while it did, or another program
// works at it that only renames.
Outcome<Recovery::Verdict> Recovery::judge_unclaimed(const std::string& id,
                                                     const FileFacts& facts) {
  const auto temps = moves_.files().names(Place::kTemp);
  if (!temps) return tl::unexpected(temps.error());
  bool has_ended = false;
  for (const std::string& name : *temps) {
    const auto half = HalfClaim::parse_temp(name);
    // A process of another host has as long as other workers elsewhere.
    if (!half || half->id != id || half->host_tag != moves_.host().tag()) continue;
    if (half->process.goes_on() && !moves_.is_ours(*half)) {
      report_.living.insert(half->process);
      return Verdict::kLeave;
    }
    has_ended = true;
  }
  if (has_ended) return Verdict::kPutBack;
  report_.has_unknown = true;
  // A rename does not change the time of the content, but the time of the last change.
  return is_old(std::max(facts.modified_ns, facts.changed_ns)) ? Verdict::kTakeBack
                                                               : Verdict::kLeave;
}

Outcome<void> Recovery::look_at_half(const HalfClaim& half, const std::string& name) {
  if (!moves_.is_ours(half)) {
    const bool is_here = half.host_tag == moves_.host().tag();
    if (is_here && half.process.goes_on()) {
      report_.living.insert(half.process);
      return {};
    }
    const auto facts = moves_.files().facts({Place::kProcessing, name});
    if (!facts) return {};
    if (!is_here && !is_old(facts->changed_ns)) {
      report_.has_unknown = true;
      return {};
    }
  }
  if (!may_act_) return {};
  const std::string ours = moves_.half_name(half.id);
  if (ours != name) {
    const auto taken = moves_.take({Place::kProcessing, name}, ours);
    if (!taken) return tl::unexpected(taken.error());
    if (!*taken) return {};
  }
  return finish_half(ours, half.id);
}

Outcome<void> Recovery::look_at_task(const std::string& id, const std::string& name) {
  const FileName at{Place::kProcessing, name};
  const auto file = moves_.files().read(at);
  if (!file) return tl::unexpected(file.error());
  if (!*file) return {};
  const FileFacts& facts = (**file).facts;
  const auto task = read_task_file(**file, id);
  if (!task) {
    if (!facts.is_regular) {
      moves_.remarks().add(
          fmt::format("left {} alone: it is no regular file", moves_.files().path(at)));
      return {};
    }
    if (!may_act_ || os::realtime_ns() - facts.modified_ns < kSettledNs) return {};
    return moves_.reject(at, id, task.error().text);
  }
  const auto verdict = judge(*task, facts);
  if (!verdict) return tl::unexpected(verdict.error());
  if (*verdict == Verdict::kLeave || !may_act_) return {};
  // The claim may have been made, prolonged or ended since.
  const auto now = moves_.files().facts(at);
  if (!now || now->inode != facts.inode || now->modified_ns != facts.modified_ns) return {};
  const std::string half = moves_.half_name(id);
  const auto taken = moves_.take(at, half);
  if (!taken) return tl::unexpected(taken.error());
  if (!*taken) return {};
  const FileName held{Place::kProcessing, half};
  const auto held_facts = moves_.files().facts(held);
  if (!held_facts || held_facts->inode != facts.inode ||
      held_facts->modified_ns != facts.modified_ns) {
    // Its worker was faster by a moment, and keeps it.
    const auto returned = moves_.files().move_new(held, at);
    return returned ? Outcome<void>{} : tl::unexpected(returned.error());
  }
  return *verdict == Verdict::kPutBack ? put_back(half, id) : finish_half(half, id);
}

// The task was never handed out.
Outcome<void> Recovery::put_back(const std::string& half, const std::string& id) {
  const auto back = moves_.put_back(half, id);
  if (!back) return tl::unexpected(back.error());
  if (*back != Moved::kMoved) return finish_half(half, id);
  report_.recovered.push_back(id);
  return drop_claim_temps(id);
}

// Removes the traces of claims that were never finished. As long as the task is in processing/
// they are the only sign that nobody is at it.
Outcome<void> Recovery::drop_claim_temps(const std::string& id) {
  const auto temps = moves_.files().names(Place::kTemp);
  if (!temps) return tl::unexpected(temps.error());
  for (const std::string& name : *temps) {
    const auto half = HalfClaim::parse_temp(name);
    if (!half || half->id != id || half->host_tag != moves_.host().tag()) continue;
    if (half->process.goes_on()) continue;
    const auto removed = moves_.files().remove({Place::kTemp, name});
    if (!removed) return tl::unexpected(removed.error());
  }
  return {};
}

// Goes on with a task that this Spool has taken out of the hands of an ended process.
Outcome<void> Recovery::finish_half(const std::string& half, const std::string& id) {
  const FileName at{Place::kProcessing, half};
  const auto file = moves_.files().read(at);
  if (!file) return tl::unexpected(file.error());
  if (!*file) return {};
  auto task = read_task_file(**file, id);
  if (!task) return moves_.reject(at, id, task.error().text);
  if (is_finished(*task, (**file).facts)) {
    const auto removed = moves_.files().remove(at);
    if (!removed) return tl::unexpected(removed.error());
    report_.finished.push_back(id);
    return {};
  }
  const auto released = moves_.release(half, std::move(*task), {});
  if (!released) return tl::unexpected(released.error());
  (*released ? report_.recovered : report_.exhausted).push_back(id);
  return drop_claim_temps(id);
}

// True if a result or an error of this claim was written: its worker ended just before it removed
// the claim.
bool Recovery::is_finished(const Task& task, const FileFacts& facts) const {
  const auto claimant = claimant_of(task);
  if (!claimant && task.claimed_by.empty()) return false;
  const std::int64_t claimed_ns = claimant ? claimant->made_ns : facts.modified_ns;
  const auto is_later = [&](const FileName& file) {
    const auto found = moves_.files().facts(file);
    return found && found->modified_ns > claimed_ns;
  };
  return is_later({Place::kOutbox, result_file(task.id)}) ||
         is_later({Place::kFailed, error_file(task.id)});
}

}  // namespace beeline::spool
