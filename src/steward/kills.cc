#include "src/steward/kills.h"

#include <signal.h>

#include <utility>

namespace beeline::steward {

void Kills::start(Pid top, const std::string& reason, Done done) {
  Job job{reason, std::move(done), top == 1, {}, {}, {}};
  if (top != 1) job.levels.push_back({top});
  for (auto& level : parts_.family.levels_below(top)) job.levels.push_back(std::move(level));
  // A restart that waits has no process, and perhaps no place in the tree.
  if (top == 1) {
    std::vector<Pid> rest;
    for (const Child* const child : parts_.roster.all()) {
      if (parts_.family.find(child->pid) == nullptr) rest.push_back(child->pid);
    }
    job.levels.push_back(std::move(rest));
  }
  jobs_.push_back(std::move(job));
  settle();
}

void Kills::ask(Job& job, Pid pid) {
  Child* const child = parts_.roster.find_pid(pid);
  if (child == nullptr) {
    // At the end of the hive the coordinator tells them.
    const Member* const member = job.is_of_hive ? nullptr : parts_.family.find(pid);
    if (member != nullptr && member->has_process()) parts_.letters.send_shutdown(pid, {});
    return;
  }
  if (child->phase == Phase::kEnded) return;
  job.waited_for.insert(child->id);
  job.ended.push_back(pid);
  parts_.nursery.ask_to_end(*child, job.reason);
}

bool Kills::advance(Job& job) {
  while (job.waited_for.empty()) {
    if (job.levels.empty()) return false;
    const std::vector<Pid> level = std::move(job.levels.back());
    job.levels.pop_back();
    for (const Pid pid : level) ask(job, pid);
  }
  return true;
}

void Kills::settle() {
  // An end within ask() comes back here; the loop below goes on with its job.
  if (is_settling_) return;
  is_settling_ = true;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    if (!at->waited_for.empty() || advance(*at)) {
      ++at;
      continue;
    }
    const Job job = std::move(*at);
    jobs_.erase(at);
    job.done(job.ended);
    at = jobs_.begin();  // the call may have begun another job
  }
  is_settling_ = false;
}

void Kills::hear_end(std::int64_t child) {
  for (Job& job : jobs_) job.waited_for.erase(child);
  settle();
}

void Kills::hurry() {
  for (const Job& job : jobs_) {
    for (const auto& level : job.levels) {
      for (const Pid pid : level) {
        Child* const child = parts_.roster.find_pid(pid);
        if (child == nullptr || child->phase == Phase::kEnded) continue;
        parts_.nursery.ask_to_end(*child, job.reason);
      }
    }
  }
  for (const Child* const child : parts_.roster.all()) {
    if (child->os_pid != 0) parts_.nursery.hear_alarm(Duty::kKill, child->id);
  }
}

}  // namespace beeline::steward
