#include "src/buffer/service/runs.h"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/buffer/json.h"
#include "src/buffer/ledger.h"
#include "src/os/clock.h"
#include "src/service/log.h"

namespace beeline::buffer {
namespace {

using RunJson = nlohmann::json;

constexpr std::int64_t kPauseNs = 10'000'000'000;
constexpr std::uint32_t kMostRecovered = 10'000;
constexpr std::chrono::milliseconds kSpawnPatience = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kKillPatience = std::chrono::minutes(5);

std::string run_json_text(const RunJson& json) {
  return json.dump(-1, ' ', false, RunJson::error_handler_t::replace);
}

std::string agent_name(const Task& task) {
  return fmt::format("{}-{}", task.agent_template, task.id);
}

// The number at the end of the name of an agent; 0: there is none.
TaskId task_of(std::string_view name) {
  TaskId id = 0;
  const std::string_view digits = name.substr(name.rfind('-') + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  return error == std::errc() && end == digits.data() + digits.size() ? id : 0;
}

std::string spawn_text(const Task& task, const AgentTemplate& agent) {
  const std::string name = agent_name(task);
  auto environment = agent.environment;
  environment.emplace("BEELINE_NAME", name);  // for commands that must be told their name
  RunJson json{{"name", name},
               {"environment", environment},
               {"command", agent.command},
               {"role", agent.role},
               {"restart", "never"},  // a task is not done twice behind anybody's back
               {"key", fmt::format("buffer-task-{}", task.id)}};
  if (!agent.directory.empty()) json["directory"] = agent.directory;
  return run_json_text(json);
}

struct Spawned {
  Pid child = 0;
  std::string trouble{};    // why there is none
  bool is_passing = false;  // another try may go better
};

Spawned read_spawned(const std::string& text) {
  const RunJson json = RunJson::parse(text, nullptr, false);
  if (json.is_object() && json.contains("pid") && json["pid"].is_number_unsigned()) {
    return {json["pid"].get<Pid>(), "", false};
  }
  const RunJson error = json.is_object() ? json.value("error", RunJson::object()) : RunJson();
  if (!error.is_object() || !error.contains("text") || !error["text"].is_string()) {
    return {0, fmt::format("pid 1 answered hive.spawn with \"{}\"", text.substr(0, 200)), false};
  }
  const std::string code = error.value("code", RunJson("")).is_string() ? error["code"] : "";
  // Too many children, or a parent that pid 1 does not know yet. Pid 1 keeps no such answer.
  return {0, error["text"], code == "full" || code == "peer_dead" || code == "no_agent"};
}

std::string context_of(const Task& task, bool is_redelivered) {
  Batch batch;
  batch.id = task.batch;
  batch.channel = task.channel;
  batch.conversation = task.conversation;
  batch.deliveries = is_redelivered ? 2 : 1;
  batch.messages = task.messages;
  return fmt::format(R"({{"batch":{},"redelivered":{}}})", batch_json(batch), is_redelivered);
}

}  // namespace

Result<void> Runs::recover() {
  for (const char* const status : {"starting", "running"}) {
    const auto open = parts_.queries.tasks(status, kMostRecovered);
    if (!open) return tl::unexpected(open.error());
    for (const Task& each : *open) {
      auto task = parts_.queries.task(each.id);
      if (!task) return tl::unexpected(task.error());
      if (*task) runs_[each.id] = {std::move(**task), 0, each.status == "running"};
    }
  }
  for (const auto& [id, run] : runs_) put_off_.push_back(id);
  go_on();
  const auto any = parts_.queries.tasks("", 1);
  if (!any) return tl::unexpected(any.error());
  // A message to pid 1 may start the steward: only where there ever was a task.
  if (!any->empty()) end_left_agents();
  return {};
}

void Runs::end_left_agents() {
  parts_.post.ask_steward("hive.list", "{}", kSpawnPatience,
                          [this](const Result<std::string>& answer) { hear_agents(answer); });
}

void Runs::hear_agents(const Result<std::string>& answer) {
  if (!answer) return;  // no steward, so there are no agents
  const RunJson json = RunJson::parse(*answer, nullptr, false);
  if (!json.is_object() || !json.contains("children") || !json["children"].is_array()) return;
  for (const RunJson& child : json["children"]) {
    const bool is_told = child.is_object() && child.contains("pid") && child.contains("name") &&
                         child["pid"].is_number_unsigned() && child["name"].is_string();
    if (!is_told || child.value("state", RunJson("")) == "ended") continue;
    const auto name = child["name"].get<std::string>();
    if (!has_ended(task_of(name), name)) continue;
    service::log_info("left_agent", fmt::format("{} is ended: its task has ended", name));
    kill(child["pid"].get<Pid>());
  }
}

bool Runs::has_ended(TaskId id, const std::string& name) {
  if (id == 0 || runs_.contains(id)) return false;
  const auto task = parts_.queries.task(id);
  if (!task || !*task || agent_name(**task) != name) return false;
  return (*task)->status == "completed" || (*task)->status == "failed";
}

void Runs::look() {
  may_have_ = true;
  if (is_beginning_ || runs_.size() + ending_ >= parts_.config.max_tasks) return;
  if (parts_.alarms.is_set(Duty::kTasks)) return;  // go_on() looks again
  is_beginning_ = true;
  parts_.orders.give(BeginTask{},
                     [this](Lease, Result<Answer> answer) { hear_begun(std::move(answer)); });
}

void Runs::go_on() {
  for (const TaskId id : std::exchange(put_off_, {})) spawn(id);
  look();
}

void Runs::hear_begun(Result<Answer> answer) {
  is_beginning_ = false;
  if (!answer) {
    service::log_warn("task_not_read", answer.error().text);
    return parts_.again.add([this] { look(); });
  }
  auto& task = answer_as<std::optional<Task>>(answer);
  if (!task) {
    may_have_ = false;
    return;
  }
  const TaskId id = task->id;
  runs_[id].task = std::move(*task);
  spawn(id);
  look();
}

const AgentTemplate* Runs::template_of(const Run& run) const {
  const auto found = parts_.config.templates.find(run.task.agent_template);
  return found == parts_.config.templates.end() ? nullptr : &found->second;
}

void Runs::spawn(TaskId id) {
  const Run& run = runs_.at(id);
  const AgentTemplate* const agent = template_of(run);
  if (agent == nullptr) {
    return fail(id, fmt::format("there is no template \"{0}\": write buffer.templates.{0}: "
                                "{{command: [PROGRAM, ARGUMENT]}} into the configuration, and "
                                "start the buffer again",
                                run.task.agent_template));
  }
  parts_.post.ask_steward(
      "hive.spawn", spawn_text(run.task, *agent), kSpawnPatience,
      [this, id](const Result<std::string>& answer) { hear_spawned(id, answer); });
}

void Runs::hear_spawned(TaskId id, const Result<std::string>& answer) {
  if (!answer) {
    if (answer.error().code == ErrorCode::kClosed) return;  // the next life goes on
    return postpone(id, answer.error().text);
  }
  const Spawned spawned = read_spawned(*answer);
  if (spawned.child != 0) return hear_child(id, spawned.child);
  if (spawned.is_passing) return postpone(id, spawned.trouble);
  fail(id, spawned.trouble);
}

void Runs::postpone(TaskId id, const std::string& reason) {
  service::log_info("postponed", fmt::format("task {}: {}", id, reason));
  if (!parts_.alarms.is_set(Duty::kTasks)) {
    parts_.alarms.set(Duty::kTasks, os::monotonic_ns() + kPauseNs);
  }
  if (runs_.at(id).task.status != "starting") {
    put_off_.push_back(id);
    return;
  }
  parts_.orders.give(PostponeTask{id, reason}, [this, id](Lease, Result<Answer> answer) {
    if (answer) {
      runs_.erase(id);
      return;
    }
    service::log_warn("not_postponed", answer.error().text);
    put_off_.push_back(id);
  });
}

void Runs::hear_child(TaskId id, Pid child) {
  runs_.at(id).child = child;
  parts_.orders.give(RunTask{id, child}, [this, id, child](Lease, Result<Answer> answer) {
    // A task that ran in the life before may have its pid already.
    if (answer || is_refusal(answer.error())) return execute(id);
    service::log_warn("not_run", answer.error().text);
    parts_.again.add([this, id, child] { hear_child(id, child); });
  });
}

void Runs::execute(TaskId id) {
  const Run& run = runs_.at(id);
  const AgentTemplate* const agent = template_of(run);
  beeline::Task task;
  task.id = fmt::format("{}", id);
  task.description = run.task.text;
  task.context = context_of(run.task, run.is_redelivered);
  if (agent != nullptr) task.timeout = agent->timeout;
  Post::Letter letter;
  letter.to = run.child;
  letter.until = after(task.timeout);
  letter.failed = [this, id](const Error& error) { hear_result(id, tl::unexpected(error)); };
  letter.send = [this, id, task = std::move(task)](Peer to) -> Result<void> {
    const auto sent = parts_.agent.tasks().execute_then(
        to, task, [this, id](const Result<TaskResult>& result) { hear_result(id, result); });
    if (!sent) return tl::unexpected(sent.error());
    return {};
  };
  parts_.post.start(std::move(letter));
}

void Runs::hear_result(TaskId id, const Result<TaskResult>& result) {
  if (result) {
    return end({.task = id,
                .has_failed = result->exit_code != 0,
                .exit_code = result->exit_code,
                .result = result->output});
  }
  if (result.error().code == ErrorCode::kClosed) return;  // the next life goes on
  fail(id, result.error().text);
}

void Runs::fail(TaskId id, std::string reason) {
  end({.task = id, .has_failed = true, .exit_code = {}, .result = std::move(reason)});
}

void Runs::end(const TaskEnd& end) {
  parts_.orders.give(end, [this, end](Lease, Result<Answer> answer) {
    if (answer) return close(end.task);
    service::log_warn("task_not_ended", answer.error().text);
    if (is_refusal(answer.error())) return close(end.task);
    parts_.again.add([this, end] { this->end(end); });
  });
}

void Runs::close(TaskId id) {
  const Pid child = runs_.at(id).child;
  runs_.erase(id);
  if (child != 0) kill(child);
  if (may_have_) look();
}

void Runs::kill(Pid child) {
  ++ending_;
  parts_.post.ask_steward(
      "hive.kill", run_json_text({{"child", fmt::format("{}", child)}, {"recursive", true}}),
      kKillPatience, [this, child](const Result<std::string>& answer) {
        if (!answer && answer.error().code == ErrorCode::kClosed) return;
        --ending_;
        if (!answer)
          service::log_info("not_killed", fmt::format("PID {}: {}", child, answer.error().text));
        if (may_have_) look();
      });
}

}  // namespace beeline::buffer
