#include "tools/beeline/demo/crew.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

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

Result<Crew> Crew::start(const std::string& directory, const std::string& python) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return os::system_failure("cannot make a pipe");
  os::UniqueFd read_end(ends[0]);
  const os::UniqueFd write_end(ends[1]);
  (void)::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  RoleArguments queen;
  queen.role = queen.name = kQueen;
  queen.directory = directory;
  queen.python = python;
  queen.events = write_end.get();
  const auto os_pid = start_role(queen);
  if (!os_pid) return tl::unexpected(os_pid.error());
  return Crew(EventReader(std::move(read_end)), *os_pid);
}

Crew::Crew(Crew&& other) noexcept
    : events_(std::move(other.events_)), queen_(std::exchange(other.queen_, 0)) {}

Crew::~Crew() {
  if (queen_ <= 0) return;
  // The kernel ends the queen's children with her, and so on down the tree.
  (void)::kill(queen_, SIGKILL);
  while (::waitpid(queen_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Json> Crew::next_event(Signals& signals, Deadline deadline) {
  for (;;) {
    auto event = events_.next();
    if (!event) return tl::unexpected(std::move(event.error()));
    if (*event) return std::move(**event);
    if (events_.at_end()) return Json();
    if (signals.take()) return fail(ErrorCode::kClosed, "interrupted");
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      return fail(ErrorCode::kTimeout, "the demo did not end in time; give it more with --timeout");
    }
    const std::array<int, 2> fds{events_.fd(), signals.fd()};
    (void)os::poll_readable(fds, left);
  }
}

Result<void> Crew::note(Story& story, const Json& event) {
  const std::string kind = word(event, "event");
  if (kind == kRestarted) story.takeover.new_os_pid = number<pid_t>(event, "new_os_pid");
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
  int status = 0;
  while (::waitpid(queen_, &status, 0) < 0 && errno == EINTR) {
  }
  queen_ = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ErrorCode::kClosed, fmt::format("the queen ended with wait status {}", status));
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
