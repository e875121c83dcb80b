// spool ls, show, watch: what is in the task folder.

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "tools/beeline/receive_arguments.h"
#include "tools/beeline/spool_options.h"
#include "tools/beeline/spool_verbs.h"
#include "tools/beeline/spool_view.h"

namespace beeline::cli {
namespace {

constexpr std::array kAllFolders = {spool::Folder::kInbox, spool::Folder::kProcessing,
                                    spool::Folder::kOutbox, spool::Folder::kFailed};

struct SpoolLookArguments {
  SpoolArguments spool;
  std::string folder;
  std::string id;
};

ExitCode list_tasks(const Context& context, const SpoolLookArguments& arguments) {
  auto spool = arguments.spool.open_existing();
  if (!spool) return complain(spool.error());
  std::vector<spool::Listed> all;
  for (const spool::Folder folder : kAllFolders) {
    if (!arguments.folder.empty() && arguments.folder != to_string(folder)) continue;
    auto listed = spool->list(folder);
    if (!listed) return complain(listed.error());
    std::move(listed->begin(), listed->end(), std::back_inserter(all));
  }
  tell_remarks(*spool);
  if (context.json) {
    Json json = Json::array();
    for (const spool::Listed& listed : all) json.push_back(listed_json(listed));
    print_json(json);
  } else {
    print(listed_table(all));
  }
  return ExitCode::kOk;
}

// Looks into the folder. Errors: kMailboxDir.
spool::Outcome<void> survey_folder(spool::Spool& spool, SpoolSurvey& survey) {
  for (const spool::Folder folder : kAllFolders) {
    const auto listed = spool.list(folder);
    if (!listed) return tl::unexpected(listed.error());
    SpoolSurvey::Count count{folder, listed->size(), 0};
    for (const spool::Listed& each : *listed) {
      if (!each.problem.empty()) ++count.problems;
      if (folder != spool::Folder::kProcessing || !each.task) continue;
      survey.add_work(each.task->claimed_by, each.id);
    }
    survey.counts.push_back(count);
  }
  return {};
}

ExitCode show_folder(const Context& context, const SpoolArguments& arguments) {
  const auto options = arguments.options();
  if (!options) return complain(options.error());
  SpoolSurvey survey;
  survey.environment = spool::Environment::read();
  survey.dir = options->dir.empty() ? survey.environment.dir : options->dir;
  if (check_is_there(*options)) {
    auto spool = spool::Spool::open(*options);
    if (!spool) return complain(spool.error());
    survey.dir = spool->options().dir;
    survey.is_there = true;
    if (auto looked = survey_folder(*spool, survey); !looked) return complain(looked.error());
  }
  print(context.json ? json_line(survey_json(survey)) : survey_text(survey));
  return ExitCode::kOk;
}

ExitCode show_task(const Context& context, const SpoolLookArguments& arguments) {
  if (arguments.id.empty()) return show_folder(context, arguments.spool);
  auto spool = arguments.spool.open_existing();
  if (!spool) return complain(spool.error());
  const auto found = spool->find(arguments.id);
  if (!found) return complain(found.error());
  print(context.json ? json_line(listed_json(*found)) : listed_text(*found));
  return ExitCode::kOk;
}

bool print_change(const Context& context, const spool::Change& change) {
  if (change.id.empty()) {
    remark(
        "changes were lost: there were more than the kernel keeps; `beeline spool ls` shows all");
    return true;
  }
  if (context.json) {
    return print_json({{"change", change.came ? "came" : "went"},
                       {"folder", to_string(change.folder)},
                       {"id", change.id}});
  }
  return print(fmt::format("{}  {:<10}  {}\n", change.came ? "came" : "went",
                           to_string(change.folder), safe_text(change.id)));
}

ExitCode watch_folder(const Context& context, const SpoolLookArguments& arguments) {
  auto signals = stop_signals();
  if (!signals) return complain(signals.error());
  const auto options = arguments.spool.options();
  if (!options) return complain(options.error());
  if (auto there = check_is_there(*options); !there) return complain(there.error());
  auto watch = spool::Watch::open(*options);
  if (!watch) return complain(watch.error());
  const Deadline deadline = context.timeout ? after(*context.timeout) : Deadline::max();
  for (;;) {
    while (const auto change = watch->next()) {
      if (!print_change(context, *change)) return ExitCode::kError;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline || signals->take()) return ExitCode::kOk;
    (void)os::poll_readable(std::array{watch->fd(), signals->fd()}, deadline - now);
  }
}

}  // namespace

void add_spool_look_verbs(CLI::App& spool, Context& context) {
  auto to_list = std::make_shared<SpoolLookArguments>();
  auto* ls = spool.add_subcommand("ls", "List tasks, results and errors");
  ls->add_option("FOLDER", to_list->folder, "inbox, processing, outbox or failed; all if not given")
      ->check(CLI::IsMember(std::vector<std::string>{"inbox", "processing", "outbox", "failed"}));
  add_spool_dir(*ls, to_list->spool);
  add_spool_fifo(*ls, to_list->spool);
  ls->footer(
      "Examples:\n"
      "  beeline spool ls\n"
      "  beeline spool ls inbox --json | jq -r '.[].file.title'\n"
      "  beeline spool ls failed --json | jq -r '.[].id'\n"
      "Tasks come in the order of their claims, results and errors by age. The age is the time\n"
      "since the last change of the file. A file that cannot be read is listed as broken, with\n"
      "the reason.");
  ls->callback([&context, to_list] { context.exit = list_tasks(context, *to_list); });

  auto to_show = std::make_shared<SpoolLookArguments>();
  auto* show = spool.add_subcommand("show", "Show a task whole, or the folder and its settings");
  show->add_option("ID", to_show->id, "Id of the task; the folder if not given");
  add_spool_dir(*show, to_show->spool);
  show->footer(
      "Examples:\n"
      "  beeline spool show task_17\n"
      "  beeline spool show task_17 --json | jq -r .file.output\n"
      "  beeline spool show\n"
      "Shows a task where it is now: being worked on, waiting, or as the newer of its result and\n"
      "its error. Without an ID: the folder, the variables in effect, the number of files in each\n"
      "folder, and which worker has which tasks. Exits with 4 if there is no such task.");
  show->callback([&context, to_show] { context.exit = show_task(context, *to_show); });

  auto to_watch = std::make_shared<SpoolLookArguments>();
  auto* watch = spool.add_subcommand("watch", "Print each file that comes or goes, as it does");
  add_spool_dir(*watch, to_watch->spool);
  watch->footer(
      "Examples:\n"
      "  beeline spool watch\n"
      "  beeline spool watch --json --timeout 1h | jq -r 'select(.folder == \"failed\").id'\n"
      "Prints a line for each: came or went, the folder, the id. Ends with 0 after a signal or\n"
      "--timeout. The changes of other hosts are not seen.");
  watch->callback([&context, to_watch] { context.exit = watch_folder(context, *to_watch); });
}

}  // namespace beeline::cli
