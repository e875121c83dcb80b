#include "bench/nest.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include <beeline/processes.h>
#include <fmt/format.h>

#include "bench/raw_children.h"
#include "bench/spawn_child.h"
#include "src/agent/process_json.h"
#include "src/os/clock.h"
#include "src/os/error.h"

namespace beeline::bench {
namespace {

constexpr const char* kParentName = "nest";
constexpr std::chrono::seconds kNestPatience(120);

SpawnOptions child_options(const std::string& name) {
  SpawnOptions options;
  options.name = name;
  options.command = child_command();
  options.parent = kParentName;
  options.restart = "never";
  options.ready_within = kNestPatience;
  return options;
}

}  // namespace

Result<Nest> Nest::start() {
  auto hive = cli::ScratchHive::start("bench");
  if (!hive) return tl::unexpected(hive.error());
  // A temporary agent of the hive's user may start children of others.
  AttachOptions own;
  own.use_ticket = false;
  auto agent = Agent::attach(own);
  if (!agent) return tl::unexpected(agent.error());
  SpawnOptions options = child_options(kParentName);
  options.parent.clear();
  options.role = "lead";
  options.limits.max_children = 0;
  if (auto parent = agent->processes().spawn(options); !parent) {
    return tl::unexpected(parent.error());
  }
  return Nest(std::move(*hive), std::move(*agent));
}

Result<std::int64_t> Nest::spawn(std::size_t count) {
  return count == 1 ? spawn_one() : spawn_many(count);
}

Result<std::int64_t> Nest::spawn_one() {
  const SpawnOptions options = child_options(next_name());
  const std::int64_t begin = os::monotonic_ns();
  const auto child = agent_->processes().spawn(options);
  const std::int64_t elapsed = os::monotonic_ns() - begin;
  if (!child) return tl::unexpected(child.error());
  if (auto ended = end(*child); !ended) return tl::unexpected(ended.error());
  return elapsed;
}

Result<std::int64_t> Nest::spawn_many(std::size_t count) {
  std::vector<std::string> texts;
  texts.reserve(count);  // the requests refer to the texts
  std::vector<Request> requests;
  for (std::size_t i = 0; i < count; ++i) {
    auto text = spawn_request(child_options(next_name()));
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
    Request request{To(Pid{1}), Payload(texts.back()), {}};
    request.options.type = kSpawnRequest;
    requests.push_back(request);
  }
  const std::int64_t begin = os::monotonic_ns();
  auto answers = agent_->request_all(requests, after(kNestPatience));
  const std::int64_t elapsed = os::monotonic_ns() - begin;
  Result<std::int64_t> done = elapsed;
  for (const auto& answer : answers) {
    const auto child = answer ? read_spawned(answer->text()) : tl::unexpected(answer.error());
    if (!child) {
      done = tl::unexpected(child.error());
    } else if (auto ended = end(*child); !ended) {
      done = tl::unexpected(ended.error());
    }
  }
  return done;
}

Result<void> Nest::end(const SpawnedChild& child) {
  // The number is that of the child until the steward has reaped it.
  if (::kill(child.os_pid, SIGKILL) != 0) return os::system_failure("kill a child");
  const auto end = agent_->processes().wait(child.pid, kNestPatience);
  return end ? Result<void>() : tl::unexpected(end.error());
}

Result<std::int64_t> Nest::spawn_raw(std::size_t count) {
  std::vector<std::vector<std::string>> commands;
  for (std::size_t i = 0; i < count; ++i) {
    commands.push_back(raw_child_command(next_name(), kParentName));
  }
  auto children = RawChildren::prepare();
  if (!children) return tl::unexpected(children.error());
  const std::int64_t begin = os::monotonic_ns();
  for (const auto& command : commands) {
    if (auto started = children->start(command); !started) return tl::unexpected(started.error());
  }
  const auto attached = children->await_all(kNestPatience);
  const std::int64_t elapsed = os::monotonic_ns() - begin;
  if (!attached) return tl::unexpected(attached.error());
  return elapsed;
}

Result<void> Nest::close() {
  agent_.reset();
  return hive_.close();
}

std::string Nest::next_name() { return fmt::format("child-{}", ++named_); }

}  // namespace beeline::bench
