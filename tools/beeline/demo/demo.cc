// The demo itself: it starts the queen, kills a worker, measures, and checks the result.

#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "tools/beeline/demo/crew.h"
#include "tools/beeline/demo/python_worker.h"
#include "tools/beeline/demo/report.h"
#include "tools/beeline/demo/role.h"
#include "tools/beeline/output.h"
#include "tools/beeline/scratch_hive.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli::demo {
namespace {

constexpr std::chrono::nanoseconds kWatchdog = std::chrono::seconds(60);
constexpr std::chrono::nanoseconds kReapTime = std::chrono::seconds(5);
constexpr std::size_t kRoundTrips = 10'000;
constexpr std::size_t kWarmUp = 500;
constexpr std::chrono::nanoseconds kMeasureTime = std::chrono::seconds(5);

Result<Story> read_texts(const Context& context, const std::string& directory) {
  Story story;
  story.quiet = context.json;
  story.directory = directory;
  auto files = list_files(directory);
  if (!files) return tl::unexpected(std::move(files.error()));
  story.files = std::move(*files);
  const auto tasks = cut_into_tasks(story.files);
  if (!tasks) return tl::unexpected(tasks.error());
  story.tasks = tasks->size();
  const auto direct = count_directly(story.files);
  if (!direct) return tl::unexpected(direct.error());
  story.direct = *direct;
  return story;
}

Result<RoundTrips> measure(Agent& agent, Signals& signals) {
  const auto worker = agent.peer(worker_name(0));
  if (!worker) return tl::unexpected(worker.error());
  const std::string body(64, 'x');
  SendOptions options;
  options.type = kEchoType;
  RoundTrips trips;
  const Deadline end = after(kMeasureTime);
  for (std::size_t i = 0; i < kWarmUp + kRoundTrips; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    auto reply = agent.request(*worker, body, after(kMeasureTime), options);
    const auto finish = std::chrono::steady_clock::now();
    if (!reply) return tl::unexpected(std::move(reply.error()));
    reply->done();
    if (i >= kWarmUp) trips.sorted_ns.push_back((finish - begin).count());
    if (finish > end && !trips.sorted_ns.empty()) break;
    if (i % 256 == 0 && signals.take()) return fail(ErrorCode::kClosed, "interrupted");
  }
  std::sort(trips.sorted_ns.begin(), trips.sorted_ns.end());
  return trips;
}

// A visitor, as `beeline spawn` would be: it may start children for pid 1.
Result<Agent> attach_visitor() {
  AttachOptions options;
  options.role = "agent";
  options.temporary = true;
  options.start_coordinator = false;
  options.use_ticket = false;
  return Agent::attach(options);
}

// Measures round trips, then asks the queen to end the work.
Result<void> visit(Agent& agent, Story& story, Signals& signals) {
  auto trips = measure(agent, signals);
  if (!trips) return tl::unexpected(std::move(trips.error()));
  story.round_trips = std::move(*trips);

  control::ClientOptions looking;
  looking.start = false;
  auto client = control::Client::connect(looking);
  if (!client) return tl::unexpected(std::move(client.error()));
  auto agents = client->list_all();
  if (!agents) return tl::unexpected(std::move(agents.error()));
  std::erase_if(*agents, [&](const auto& listed) { return listed.pid == agent.pid(); });
  story.agents = std::move(*agents);

  SendOptions finish;
  finish.type = kFinishType;
  const auto queen = agent.peer(kQueen);
  if (!queen) return tl::unexpected(queen.error());
  return deliver(agent, *queen, "", finish);
}

Result<void> work(const ScratchHive& hive, Story& story, Signals& signals, Deadline deadline) {
  auto agent = attach_visitor();
  if (!agent) return tl::unexpected(std::move(agent.error()));
  RoleArguments queen;
  queen.directory = std::filesystem::absolute(story.directory).string();
  queen.python = story.python;
  queen.events = hive.place() + "/events";
  auto crew = Crew::start(*agent, std::move(queen));
  if (!crew) return tl::unexpected(std::move(crew.error()));
  if (auto done = crew->follow_work(story, signals, deadline); !done) return done;
  if (auto visited = visit(*agent, story, signals); !visited) return visited;
  if (auto ended = crew->follow_end(story, signals, deadline); !ended) return ended;
  (void)agent->detach(after(kReapTime));
  return {};
}

ExitCode run(const Context& context, const std::string& directory) {
  const Deadline deadline = after(context.timeout.value_or(kWatchdog));
  auto story = read_texts(context, directory);
  if (!story) return complain(story.error());
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  if (!signals) return complain(signals.error());
  // Orphans become our children, so nothing is left once we have no child left.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto hive = ScratchHive::start("demo");
  if (!hive) return complain(hive.error());

  story->python = find_python_package();
  if (!story->quiet) print(opening_text(*story));
  const auto worked = work(*hive, *story, *signals, deadline);
  const auto closed = hive->close();
  story->clean = reap_all(kReapTime) && closed;
  if (!closed) (void)complain(closed.error());

  if (story->quiet) {
    print_json(report_json(*story));
  } else if (worked) {
    print(result_text(*story) + checks_text(*story));
  }
  if (!worked) {
    return complain(
        worked.error().code == ErrorCode::kTimeout ? ExitCode::kTimeout : ExitCode::kError,
        fmt::format("the demo failed: {}", worked.error().text));
  }
  const auto verdicts = checks(*story);
  const bool passed = std::all_of(verdicts.begin(), verdicts.end(),
                                  [](const Check& check) { return check.passed; });
  return passed ? ExitCode::kOk : ExitCode::kError;
}

}  // namespace
}  // namespace beeline::cli::demo

namespace beeline::cli {

void add_demo_verb(CLI::App& app, Context& context) {
  auto directory = std::make_shared<std::string>("/usr/share/common-licenses");
  auto* verb = app.add_subcommand("demo", "Show a tree of processes at work, one of them killed");
  verb->add_option("DIR", *directory, "Texts to count")->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  beeline demo\n"
      "  beeline demo src --json\n"
      "In a hive of its own a queen cuts the texts of DIR into tasks, and the lead that she "
      "spawns\n"
      "hands them to the four workers that it spawns. One worker is killed in the middle; 5 s "
      "later\n"
      "the steward starts it again, and its task is done by the new process. One worker is in\n"
      "Python if python3 can load the package. Takes some 10 seconds, 60 at the most or "
      "--timeout;\n"
      "leaves no process and no file.");
  verb->callback([&context, directory] { context.exit = demo::run(context, *directory); });
}

}  // namespace beeline::cli
