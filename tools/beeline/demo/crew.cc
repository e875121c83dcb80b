#include "tools/beeline/demo/crew.h"

#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "tools/beeline/process_view.h"

namespace beeline::cli::demo {
namespace {

// The process has ended, so the steward knows how.
constexpr std::chrono::seconds kAnswerTime(5);

template <typename T>
T number(const Json& event, const char* field) {
  const auto found = event.find(field);
  return found != event.end() && found->is_number() ? found->get<T>() : T{};
}

std::string word(const Json& event, const char* field) {
  const auto found = event.find(field);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Account account_from(const Json& event) {
  Account account;
  account.agent = word(event, "agent");
  account.pid = number<std::uint32_t>(event, "pid");
  account.drained = number<std::uint64_t>(event, "drained");
  account.queued = number<std::uint64_t>(event, "queued");
  account.tasks = number<std::uint64_t>(event, "tasks");
  account.leased = number<std::uint64_t>(event, "leased");
  account.done = number<std::uint64_t>(event, "done");
  account.dead = number<std::uint64_t>(event, "dead");
  account.purged = number<std::uint64_t>(event, "purged");
  for (const Json& link : event.value("links", Json::array())) {
    account.links.push_back(
        {number<std::uint32_t>(link, "peer"), number<std::uint64_t>(link, "sent"),
         number<std::uint64_t>(link, "not_taken"), number<std::uint64_t>(link, "received")});
  }
  return account;
}

// The worker has stopped and waits for this signal, so its process id cannot belong to another
// process.
void kill_holder(Story& story, const Json& event, bool quiet) {
  Takeover& takeover = story.takeover;
  takeover.agent = word(event, "agent");
  takeover.task = number<std::uint32_t>(event, "task");
  takeover.killed_os_pid = number<pid_t>(event, "os_pid");
  if (takeover.killed_os_pid <= 1) return;
  if (!quiet) print(killing_text(story));
  (void)::kill(takeover.killed_os_pid, SIGKILL);
}

}  // namespace

Result<Crew> Crew::start(Agent& agent, RoleArguments queen) {
  auto events = EventReader::make(queen.events);
  if (!events) return tl::unexpected(std::move(events.error()));
  queen.role = queen.name = kQueen;
  const auto child = agent.processes().spawn(child_of_role(queen));
  if (!child) return tl::unexpected(child.error());
  auto process = os::open_pidfd(child->os_pid);
  if (!process) return tl::unexpected(std::move(process.error()));
  return Crew(agent, std::move(*events), child->pid, std::move(*process));
}

Result<Json> Crew::next_event(Signals& signals, Deadline deadline) {
  for (;;) {
    const bool has_ended = os::has_exited(process_.get());
    auto event = events_.next();
    if (!event) return tl::unexpected(std::move(event.error()));
    if (*event) return std::move(**event);
    if (has_ended) return Json();
    if (signals.take()) return fail(ErrorCode::kClosed, "interrupted");
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      return fail(ErrorCode::kTimeout, "the demo did not end in time; give it more with --timeout");
    }
    const std::array<int, 3> fds{events_.fd(), signals.fd(), process_.get()};
    (void)os::poll_readable(fds, left);
  }
}

Result<void> Crew::note(Story& story, const Json& event) {
  const std::string kind = word(event, "event");
  if (kind == kRestarted) {
    story.takeover.signal = number<int>(event, "signal");
    story.takeover.new_os_pid = number<pid_t>(event, "new_os_pid");
  }
  if (kind == kGivenAgain) {
    story.takeover.given_again = number<std::uint32_t>(event, "task");
    story.takeover.attempts = number<std::uint32_t>(event, "attempts");
    story.takeover.done_by_os_pid = number<pid_t>(event, "os_pid");
  }
  if (kind == kLost) story.lost = number<std::uint64_t>(event, "tasks");
  if (kind == kSum) {
    story.sum = Sum{number<std::uint64_t>(event, "tasks"),
                    {number<std::uint64_t>(event, "lines"), number<std::uint64_t>(event, "words"),
                     number<std::uint64_t>(event, "bytes")}};
  }
  if (kind == kAccounts) {
    Account account = account_from(event);
    story.accounts[account.pid] = std::move(account);
  }
  if (kind == kFailed) {
    return fail(ErrorCode::kClosed,
                fmt::format("{}: {}", word(event, "agent"), word(event, "text")));
  }
  return {};
}

Result<void> Crew::follow_work(Story& story, Signals& signals, Deadline deadline) {
  while (!story.sum) {
    auto event = next_event(signals, deadline);
    if (!event) return tl::unexpected(std::move(event.error()));
    if (event->is_null()) return fail(ErrorCode::kClosed, "the processes ended before their work");
    if (word(*event, "event") == kHolding) kill_holder(story, *event, story.quiet);
    if (auto noted = note(story, *event); !noted) return noted;
  }
  return {};
}

Result<void> Crew::follow_end(Story& story, Signals& signals, Deadline deadline) {
  for (;;) {
    auto event = next_event(signals, deadline);
    if (!event) return tl::unexpected(std::move(event.error()));
    if (event->is_null()) break;
    if (auto noted = note(story, *event); !noted) return noted;
  }
  auto end = agent_.processes().wait(queen_, kAnswerTime);
  if (!end) return tl::unexpected(std::move(end.error()));
  if (end->exit_code != 0) {
    return fail(ErrorCode::kClosed,
                fmt::format("the queen ended with {}: {}", exit_text(*end), end->output));
  }
  auto children = agent_.processes().list(true);
  if (!children) return tl::unexpected(std::move(children.error()));
  story.children = std::move(*children);
  return {};
}

bool reap_all(std::chrono::nanoseconds timeout) {
  const Deadline deadline = after(timeout);
  for (;;) {
    const pid_t reaped = ::waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) return true;
    if (reaped != 0) continue;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace beeline::cli::demo
