#include "tools/beeline/demo/role.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli::demo {
namespace {

constexpr std::chrono::nanoseconds kSendPatience = std::chrono::seconds(20);
constexpr std::chrono::nanoseconds kDrainPatience = std::chrono::seconds(5);
constexpr auto kAttemptParam = "attempt";

// Takes a number off the front of `text`, and the one character behind it.
template <typename T>
bool take_number(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return true;
}

// Ends with the process that started it, and leaves Ctrl-C to the demo.
bool bind_to_parent(int parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGINT, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  return ::getppid() == parent;
}

ExitCode run_role(const RoleArguments& arguments) {
  if (!bind_to_parent(arguments.parent)) return ExitCode::kError;
  const EventWriter events(arguments.events, arguments.name);
  const auto ended = arguments.role == kQueen  ? run_queen(arguments, events)
                     : arguments.role == kLead ? run_lead(arguments, events)
                                               : run_worker(arguments, events);
  if (ended) return ExitCode::kOk;
  events.write(kFailed, {{"text", ended.error().text}});
  return exit_code(ended.error().code);
}

}  // namespace

std::string worker_name(std::size_t index) { return fmt::format("worker-{}", index + 1); }

Result<pid_t> start_role(const RoleArguments& arguments) {
  const int keep[] = {arguments.events};
  return os::spawn(
      {"/proc/self/exe", "demo-role", arguments.role, "--name", arguments.name, "--dir",
       arguments.directory, "--python", arguments.python, "--events",
       fmt::format("{}", arguments.events), "--parent-pid", fmt::format("{}", ::getpid())},
      keep);
}

Result<int> await_exit(pid_t child, std::chrono::nanoseconds timeout) {
  if (const auto pidfd = os::open_pidfd(child)) (void)os::wait_readable(pidfd->get(), timeout);
  const auto status = os::try_reap(child);
  if (!status) return tl::unexpected(status.error());
  if (*status) return **status;
  return fail(ErrorCode::kTimeout, fmt::format("process {} did not end in time", child));
}

Result<Agent> attach_role(const RoleArguments& arguments, std::string_view parent,
                          std::string_view role) {
  AttachOptions options;
  options.name = arguments.name;
  options.parent = parent;
  options.role = role;
  options.start_coordinator = false;
  return Agent::attach(options);
}

Result<void> deliver(Agent& agent, Peer to, std::string_view text, const SendOptions& options) {
  const SendResult result = agent.send_until(to, text, after(kSendPatience), options);
  if (result) return {};
  return fail(ErrorCode::kFull, fmt::format("{} could not send to pid {}: {}", agent.name(), to.pid,
                                            to_string(result.status)));
}

void close_accounts(Agent& agent, const EventWriter& events) {
  const InboxCounters counters = agent.counters();
  Json fields = {
      {"pid", agent.pid()},      {"drained", counters.drained}, {"queued", counters.queued},
      {"tasks", counters.tasks}, {"leased", counters.leased},   {"done", counters.done},
      {"dead", counters.dead},   {"purged", counters.purged},   {"links", Json::array()}};
  for (const LinkCounters& link : agent.links()) {
    fields["links"].push_back({{"peer", link.peer},
                               {"sent", link.sent},
                               {"not_taken", link.not_taken},
                               {"received", link.received}});
  }
  events.write(kAccounts, std::move(fields));
  (void)agent.detach(after(kDrainPatience));
}

std::string to_text(const Totals& totals) {
  return fmt::format("{} {} {}", totals.lines, totals.words, totals.bytes);
}

std::optional<Totals> parse_totals(std::string_view text) {
  Totals totals;
  const bool whole = take_number(text, totals.lines) && take_number(text, totals.words) &&
                     take_number(text, totals.bytes);
  return whole ? std::optional(totals) : std::nullopt;
}

std::uint32_t number_of(const Task& task) {
  std::string_view text = task.id;
  std::uint32_t number = 0;
  return take_number(text, number) ? number : 0;
}

std::uint32_t attempt_of(const Task& task) {
  const auto said = task.params.find(kAttemptParam);
  std::string_view text = said == task.params.end() ? "" : said->second;
  std::uint32_t attempt = 1;
  return take_number(text, attempt) ? attempt : 1;
}

void set_attempt(Task& task, std::uint32_t attempt) {
  task.params[kAttemptParam] = fmt::format("{}", attempt);
}

}  // namespace beeline::cli::demo

namespace beeline::cli {

void add_demo_role_verb(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<demo::RoleArguments>();
  auto* verb = app.add_subcommand("demo-role", "One process of the demo")->group("");
  verb->add_option("ROLE", arguments->role)->required();
  verb->add_option("--name", arguments->name)->required();
  verb->add_option("--dir", arguments->directory)->required();
  verb->add_option("--python", arguments->python)->required();
  verb->add_option("--events", arguments->events)->required();
  verb->add_option("--parent-pid", arguments->parent)->required();
  verb->callback([&context, arguments] { context.exit = demo::run_role(*arguments); });
}

}  // namespace beeline::cli
