#include "tools/beeline/demo/role.h"

#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/process_view.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli::demo {
namespace {

constexpr std::chrono::nanoseconds kSendPatience = std::chrono::seconds(20);
constexpr std::chrono::nanoseconds kDrainPatience = std::chrono::seconds(5);
constexpr auto kAttemptParam = "attempt";
constexpr auto kEndType = "child_exited";

// Takes a number off the front of `text`, and the one character behind it.
template <typename T>
bool take_number(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return true;
}

ExitCode run_role(const RoleArguments& arguments) {
  const auto events = EventWriter::open(arguments.events, arguments.name);
  if (!events) return complain(events.error());
  const auto ended = arguments.role == kQueen  ? run_queen(arguments, *events)
                     : arguments.role == kLead ? run_lead(arguments, *events)
                                               : run_worker(*events);
  if (ended) return ExitCode::kOk;
  events->write(kFailed, {{"text", ended.error().text}});
  return exit_code(ended.error().code);
}

}  // namespace

std::string worker_name(std::size_t index) { return fmt::format("worker-{}", index + 1); }

SpawnOptions child_of_role(const RoleArguments& arguments) {
  const bool is_worker = arguments.role != kQueen && arguments.role != kLead;
  std::error_code ignored;  // an empty program is an error of the spawn
  SpawnOptions options;
  options.name = arguments.name;
  options.command = {std::filesystem::read_symlink("/proc/self/exe", ignored).string(),
                     "demo-role",
                     arguments.role,
                     "--name",
                     arguments.name,
                     "--dir",
                     arguments.directory,
                     "--python",
                     arguments.python,
                     "--events",
                     arguments.events};
  options.role = is_worker ? "worker" : "lead";
  options.restart = is_worker ? "on-failure" : "never";
  options.ready_within = kPatience;
  return options;
}

Result<void> await_ends(Agent& agent, const std::vector<Pid>& children) {
  for (const Pid child : children) {
    const auto end = agent.processes().wait(child, kPatience);
    if (!end) return tl::unexpected(end.error());
    if (end->exit_code == 0) continue;
    return fail(ErrorCode::kClosed,
                fmt::format("pid {} ended with {}: {}", child, exit_text(*end), end->output));
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    auto told = agent.receive({.timeout = kPatience, .filter = {.type = kEndType}});
    if (!told) return tl::unexpected(std::move(told.error()));
    told->done();
  }
  return {};
}

Result<Agent> attach_role() {
  AttachOptions options;
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
  verb->callback([&context, arguments] { context.exit = demo::run_role(*arguments); });
}

}  // namespace beeline::cli
