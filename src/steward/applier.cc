#include "src/steward/applier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/steward/answer.h"

namespace beeline::steward {

namespace {

constexpr std::size_t kMostJobs = 64;

}  // namespace

void Applier::handle(const Caller& caller, ApplyRequest request, Message message) {
  const auto refuse = [&](ErrorCode code, std::string text) {
    parts_.letters.answer(std::move(message), error_text({code, 0, std::move(text)}));
  };
  if (!caller.is_operator) {
    return refuse(
        ErrorCode::kDenied,
        fmt::format("hive.apply: PID {} is an agent, and only commands of the hive's user "
                    "apply a start file",
                    caller.actor.pid));
  }
  if (jobs_.size() >= kMostJobs) {
    return refuse(ErrorCode::kFull,
                  fmt::format("hive.apply: {} start files wait already: try again", kMostJobs));
  }
  message.defer();
  jobs_.push_back(Job{caller, std::move(request), std::move(message)});
  if (jobs_.size() == 1) begin();
}

void Applier::begin() {
  while (!jobs_.empty()) {
    Job& job = jobs_.front();
    const auto planned = plan(job);
    if (planned) return advance();
    parts_.letters.answer(std::move(job.message), error_text(planned.error()));
    jobs_.pop_front();
  }
}

std::vector<PresentChild> Applier::present_children() {
  std::vector<PresentChild> present;
  for (const Child* const child : parts_.roster.all()) {
    if (child->is_forgotten) continue;
    PresentChild fact;
    fact.name = child->spec.name;
    const Member* const member = parts_.family.find(child->pid);
    const Pid parent = member == nullptr ? child->parent : member->parent;
    const Member* const parent_member = parts_.family.find(parent);
    if (parent != 1 && parent_member != nullptr) fact.parent = parent_member->name;
    fact.spec = child->file_spec;
    if (child->phase == Phase::kEnded) {
      const bool is_fine = child->end && child->end->exit_code == 0 && !child->is_unwanted;
      fact.life = is_fine ? PresentChild::Life::kFinished : PresentChild::Life::kFailed;
    }
    present.push_back(std::move(fact));
  }
  return present;
}

Result<void> Applier::plan(Job& job) {
  StartFileSource source;
  source.text = job.request.text;
  source.name = job.request.file;
  source.directory = job.request.directory;
  source.lookup = [&job](const std::string& name) -> std::optional<std::string> {
    const auto found = job.request.variables.find(name);
    if (found == job.request.variables.end()) return std::nullopt;
    return found->second;
  };
  auto file = read_start_file(source);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (!file->hive.empty() && file->hive != hive_) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: the file is for hive \"{}\", this is \"{}\"",
                                                 job.request.file, file->hive, hive_));
  }
  job.file = std::move(*file);
  auto steps = plan_start(job.file, present_children());
  if (!steps) return tl::unexpected(std::move(steps.error()));
  job.to_end.assign(steps->end.begin(), steps->end.end());
  job.to_restart = std::move(steps->restart);
  job.to_start.assign(steps->start.begin(), steps->start.end());
  job.same = steps->same;
  return {};
}

void Applier::advance() {
  // A step may end at once and come back here; the loop below goes on then.
  if (is_advancing_ || jobs_.empty()) return;
  is_advancing_ = true;
  Job& job = jobs_.front();
  const bool has_ended_all = end_next(job);
  if (has_ended_all) {
    if (!std::exchange(job.has_restarted, true)) restart_all(job);
    start_some(job);
  }
  is_advancing_ = false;
  if (has_ended_all && job.to_start.empty() && job.waited_for.empty()) finish();
}

bool Applier::end_next(Job& job) {
  if (job.is_ending) return false;
  while (!job.to_end.empty()) {
    const Child* const child = parts_.roster.find_text(job.to_end.front());
    if (child == nullptr || child->phase == Phase::kEnded) {
      job.to_end.pop_front();
      continue;
    }
    job.is_ending = true;
    parts_.kills.start(child->pid, "left the start file", [this, &job](const auto&) {
      job.ended.push_back(job.to_end.front());
      job.to_end.pop_front();
      job.is_ending = false;
      advance();  // does nothing within advance(), which goes on itself
    });
    if (job.is_ending) return false;
  }
  return true;
}

void Applier::restart_all(Job& job) {
  for (const std::size_t index : job.to_restart) {
    const StartAgent& agent = job.file.agents[index];
    Child* const child = parts_.roster.find_text(agent.options.name);
    if (child == nullptr || child->phase == Phase::kEnded) {
      job.to_start.push_back(index);
      continue;
    }
    SpawnOptions options = agent.options;
    options.uid = child->spec.uid;
    job.waited_for.emplace(child->id, agent.options.name);
    job.restarted.push_back(agent.options.name);
    parts_.nursery.replace(*child, std::move(options), spec_of(agent.options));
  }
}

void Applier::start_some(Job& job) {
  for (std::size_t left = job.to_start.size(); left > 0; --left) {
    const std::size_t index = job.to_start.front();
    job.to_start.pop_front();
    const StartAgent& agent = job.file.agents[index];
    const std::string& parent = agent.options.parent;
    const bool is_awaited = std::ranges::any_of(
        job.waited_for, [&](const auto& waited) { return waited.second == parent; });
    const bool is_to_come = std::ranges::any_of(job.to_start, [&](std::size_t other) {
      return job.file.agents[other].options.name == parent;
    });
    if (!parent.empty() && (is_awaited || is_to_come)) {
      job.to_start.push_back(index);
    } else {
      start_one(job, agent);
    }
  }
}

void Applier::start_one(Job& job, const StartAgent& agent) {
  const auto started = parts_.spawns.start(job.caller, agent.options, spec_of(agent.options));
  if (!started) return add_fault(job, agent, started.error().text);
  job.waited_for.emplace((*started)->id, agent.options.name);
  job.started.push_back(agent.options.name);
}

void Applier::add_fault(Job& job, const StartAgent& agent, const std::string& text) {
  std::erase(job.started, agent.options.name);
  std::erase(job.restarted, agent.options.name);
  job.faults.push_back(fmt::format("{}:{}: {}", job.request.file, agent.line, text));
}

void Applier::hear_ready(const Child& child) {
  if (jobs_.empty() || jobs_.front().waited_for.erase(child.id) == 0) return;
  advance();
}

void Applier::hear_failed(const Child& child, const Error& error) {
  if (jobs_.empty()) return;
  Job& job = jobs_.front();
  const auto found = job.waited_for.find(child.id);
  if (found == job.waited_for.end()) return;
  for (const StartAgent& agent : job.file.agents) {
    if (agent.options.name == found->second) add_fault(job, agent, error.text);
  }
  job.waited_for.erase(found);
  advance();
}

void Applier::hear_end(const Child& child) {
  const std::string reason = child.end ? child.end->reason : std::string("ended");
  hear_failed(child,
              Error{ErrorCode::kSystem, 0, fmt::format("{} ended: {}", child.spec.name, reason)});
}

void Applier::finish() {
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  std::string answer;
  if (job.faults.empty()) {
    answer = applied_text(job.started, job.restarted, job.ended, job.same, job.file.warnings);
  } else {
    answer = error_text({ErrorCode::kSystem, 0, fmt::format("{}", fmt::join(job.faults, "\n"))});
  }
  parts_.letters.answer(std::move(job.message), std::move(answer));
  begin();
}

}  // namespace beeline::steward
