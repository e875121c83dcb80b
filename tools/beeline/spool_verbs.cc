#include "tools/beeline/spool_verbs.h"

#include <memory>

#include "tools/beeline/spool_options.h"
#include "tools/beeline/spool_view.h"

namespace beeline::cli {
namespace {

ExitCode sweep_folder(const Context& context, const SpoolArguments& arguments) {
  auto spool = arguments.open_existing();
  if (!spool) return complain(spool.error());
  const auto swept = spool->sweep();
  tell_remarks(*spool);
  if (!swept) return complain(swept.error());
  print(context.json ? json_line(swept_json(*swept)) : swept_text(*swept));
  return ExitCode::kOk;
}

void add_sweep(CLI::App& spool, Context& context) {
  auto arguments = std::make_shared<SpoolArguments>();
  auto* verb = spool.add_subcommand("sweep", "Take back lost claims and remove old files");
  add_spool_dir(*verb, *arguments);
  add_spool_sync(*verb, *arguments);
  verb->footer(
      "Examples:\n"
      "  beeline spool sweep\n"
      "  @hourly beeline spool sweep --dir /srv/tasks    a line of a crontab\n"
      "Tasks whose workers have ended wait again, or fail if their attempts are used up. Results\n"
      "go after $DROVER_MAILBOX_OUTBOX_RETENTION days (7), errors after\n"
      "$DROVER_MAILBOX_FAILED_RETENTION days (30), temporary files after an hour. `claim` takes\n"
      "back claims, too; it removes nothing.");
  verb->callback([&context, arguments] { context.exit = sweep_folder(context, *arguments); });
}

}  // namespace

void add_spool_verbs(CLI::App& app, Context& context) {
  auto* spool = app.add_subcommand("spool", "Tasks as files in a folder: put, claim, done, ...");
  spool->require_subcommand(1);
  add_spool_put_verb(*spool, context);
  add_spool_work_verbs(*spool, context);
  add_spool_look_verbs(*spool, context);
  add_sweep(*spool, context);
  add_spool_feed_verb(*spool, context);
  spool->footer(
      "Examples:\n"
      "  beeline spool put \"Fix the parser\"\n"
      "  task=$(beeline spool claim)\n"
      "  beeline spool done \"$(jq -r .id <<< \"$task\")\" --verdict pass\n"
      "A task is a JSON file that is moved: inbox/ (it waits), processing/ (a worker has it), "
      "then\n"
      "outbox/ (its result) or failed/ (its error). No hive is needed, and producers and workers\n"
      "need not run at the same time. Each task goes to one worker; if that ends without a "
      "result,\n"
      "the task waits again, three runs at most. The folder is --dir, $DROVER_MAILBOX_DIR or\n"
      "/tmp/drover/mailbox. Exits with 5 if no task waits, with 4 if there is no such task or\n"
      "another worker has it, with 3 if the id is in use; --json errors have the codes of the\n"
      "format, for example ErrNoTasks.");
}

}  // namespace beeline::cli
