// spool feed: a folder as a source of work for an agent.

#include <signal.h>

#include <memory>
#include <string>

#include <fmt/format.h>

#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/spool_feed.h"
#include "tools/beeline/spool_options.h"
#include "tools/beeline/spool_verbs.h"

namespace beeline::cli {
namespace {

// So many answers find room in the agent's link while no feeder takes them.
constexpr std::size_t kMostParallel = 100;

struct VerbArguments {
  FeedArguments feed;
  SpoolArguments folder;
  std::string as = "spool";
};

ExitCode feed(const Context& context, const VerbArguments& arguments) {
  auto signals = Signals::block({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  AttachOptions attaching;
  attaching.hive = context.hive;
  attaching.name = arguments.as;
  attaching.role = "daemon";
  // Each kill costs the answers in hand an attempt; none of them may become a dead letter.
  attaching.max_attempts = 255;
  attaching.start_coordinator = !context.no_start;
  auto agent = attach(context, attaching);
  if (!agent) return complain(agent.error());
  auto options = arguments.folder.options();
  if (!options) return complain(options.error());
  // The claims belong to the agent of this name, not to this process: its next life goes on with
  // them.
  options->process = -1;
  options->worker =
      fmt::format("{}@{}", arguments.as, context.hive.empty() ? "default" : context.hive);
  auto spool = spool::Spool::open(*options);
  if (!spool) return complain(spool.error());
  return SpoolFeed(context, arguments.feed, *agent, *spool, *signals).run();
}

}  // namespace

void add_spool_feed_verb(CLI::App& spool, Context& context) {
  auto arguments = std::make_shared<VerbArguments>();
  auto* verb = spool.add_subcommand("feed", "Give the tasks of a folder to an agent");
  verb->add_option("DIR", arguments->folder.dir,
                   "The task folder; $DROVER_MAILBOX_DIR, else " + spool::Environment().dir);
  verb->add_option("--to", arguments->feed.to, "The agent that does the tasks")
      ->check(is_agent())
      ->required();
  verb->add_option("--as", arguments->as,
                   "Name of the feeder in the hive; feeders of one folder need different ones")
      ->check(is_agent())
      ->capture_default_str();
  verb->add_option("--parallel", arguments->feed.parallel, "Most tasks that the agent has at once")
      ->check(CLI::Range(std::size_t{1}, kMostParallel))
      ->capture_default_str();
  verb->add_option_function<std::string>(
      "--task-timeout",
      [arguments](const std::string& text) {
        const auto parsed = parse_duration(text);
        if (!parsed) throw CLI::ValidationError("--task-timeout", parsed.error().text);
        arguments->feed.task_timeout = *parsed;
      },
      "Takes a task back that was not answered in this time, like 30s or 5m");
  verb->add_flag("--once", arguments->feed.once, "End when no task is left");
  add_spool_sync(*verb, arguments->folder);
  add_spool_fifo(*verb, arguments->folder);
  verb->add_flag("--shared", arguments->folder.shared,
                 "Other hosts use the folder, too: look once a second");
  verb->footer(
      "Examples:\n"
      "  beeline reply worker --command ./do-task &\n"
      "  beeline spool feed /srv/tasks --to worker\n"
      "The agent gets each task as a request of type task_request, with the JSON of the task as\n"
      "its body. Its answer is the output of the result. An answer that is a JSON object may have\n"
      "output, verdict and verdict_reason, or error (or status \"failed\"): then the task fails. "
      "A\n"
      "request that becomes a dead letter fails its task; one that ends without an answer is a\n"
      "result without output. Prints each task that has ended.\n"
      "A feeder that was killed goes on when it is started again under its name: no task that was\n"
      "done is given again. While the agent is not there, no task is claimed.");
  verb->callback([&context, arguments] { context.exit = feed(context, *arguments); });
}

}  // namespace beeline::cli
