// spool claim, done, fail, retry, heartbeat: a worker of the task folder that is a script.

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "tools/beeline/output.h"
#include "tools/beeline/receive_arguments.h"
#include "tools/beeline/spool_options.h"
#include "tools/beeline/spool_verbs.h"

namespace beeline::cli {
namespace {

struct WorkArguments {
  SpoolArguments spool;
  std::string id;
  std::string error;
  spool::Completion completion;
  bool wait = false;
};

// ---- claim --------------------------------------------------------------------------------------

// Signals are blocked meanwhile, so none of them comes between a claim and its print.
spool::Outcome<std::optional<spool::Claim>> next_claim(spool::Spool& spool, Signals& signals,
                                                       Deadline deadline) {
  for (;;) {
    auto claim = spool.try_claim();
    tell_remarks(spool);
    if (claim) return std::move(*claim);
    const auto now = std::chrono::steady_clock::now();
    if (claim.error().code != spool::Code::kNoTasks || now >= deadline) {
      return tl::unexpected(std::move(claim.error()));
    }
    // Some ends of claims make no descriptor readable, so look now and then.
    const std::array fds{spool.fd(), signals.fd()};
    (void)os::poll_readable(
        fds, std::min<std::chrono::nanoseconds>(deadline - now, spool.options().poll_every));
    if (signals.take()) return std::nullopt;
  }
}

ExitCode claim_task(const Context& context, const WorkArguments& arguments) {
  auto signals = stop_signals();
  if (!signals) return complain(signals.error());
  auto spool = arguments.spool.open();
  if (!spool) return complain(spool.error());
  Deadline deadline = Deadline::min();
  if (context.timeout) {
    deadline = after(*context.timeout);
  } else if (arguments.wait) {
    deadline = Deadline::max();
  }
  auto claimed = next_claim(*spool, *signals, deadline);
  if (!claimed) return complain(claimed.error());
  if (!*claimed) return complain(ExitCode::kError, "stopped by a signal before a task came");
  const std::string json = to_json((**claimed).task());
  if (!print(context.json ? json_line(Json::parse(json)) : json)) {
    (void)(**claimed).retry("nobody read the task when it was claimed");
    return ExitCode::kError;
  }
  (**claimed).keep();
  return ExitCode::kOk;
}

// ---- The ends of a claim ------------------------------------------------------------------------

void tell_end(const Context& context, std::string_view id, std::string_view what,
              spool::Folder folder) {
  if (context.json) {
    print_json({{"id", id}, {"folder", to_string(folder)}});
  } else {
    print(fmt::format("{} {}\n", what, safe_text(id)));
  }
}

// Runs `end(claim)` with the claim of this worker. The claim stays if it fails.
template <typename End>
ExitCode with_claim(const WorkArguments& arguments, const End& end) {
  auto spool = arguments.spool.open_existing();
  if (!spool) return complain(spool.error());
  auto held = spool->held(arguments.id);
  if (!held) return complain(held.error());
  const auto ended = end(*held);
  held->keep();
  tell_remarks(*spool);
  return ended ? ExitCode::kOk : complain(ended.error());
}

ExitCode finish_task(const Context& context, const WorkArguments& arguments) {
  auto output = read_body(arguments.completion.output);
  if (!output) return complain(output.error());
  return with_claim(arguments, [&](spool::Claim& claim) {
    spool::Completion completion = arguments.completion;
    completion.output = std::move(*output);
    auto completed = claim.complete(std::move(completion));
    if (completed) tell_end(context, arguments.id, "completed", spool::Folder::kOutbox);
    return completed;
  });
}

ExitCode fail_task(const Context& context, const WorkArguments& arguments) {
  return with_claim(arguments, [&](spool::Claim& claim) {
    auto failed = claim.fail(arguments.error);
    if (failed) tell_end(context, arguments.id, "failed", spool::Folder::kFailed);
    return failed;
  });
}

ExitCode retry_task(const Context& context, const WorkArguments& arguments) {
  return with_claim(arguments, [&](spool::Claim& claim) {
    auto waits = claim.retry(arguments.error);
    if (waits && *waits) tell_end(context, arguments.id, "put back", spool::Folder::kInbox);
    if (waits && !*waits) tell_end(context, arguments.id, "failed", spool::Folder::kFailed);
    return waits;
  });
}

ExitCode beat_task(const Context& context, const WorkArguments& arguments) {
  return with_claim(arguments, [&](spool::Claim& claim) {
    auto beaten = claim.heartbeat();
    if (beaten && context.json) tell_end(context, arguments.id, "", spool::Folder::kProcessing);
    return beaten;
  });
}

// ---- The command line ---------------------------------------------------------------------------

constexpr auto kWhoseClaim =
    "Only the worker that claimed it may: call both from one shell, where its name is the same, "
    "or\n"
    "give both the same --worker or --pid. Exits with 4 if the task is not this worker's, and\n"
    "nothing is written then.";

using WorkVerb = ExitCode (*)(const Context&, const WorkArguments&);

struct NewVerb {
  CLI::App& app;
  WorkArguments& arguments;
};

NewVerb add_work_verb(CLI::App& spool, Context& context, const char* name, const char* about,
                      WorkVerb run) {
  auto arguments = std::make_shared<WorkArguments>();
  auto* verb = spool.add_subcommand(name, about);
  verb->callback([&context, run, arguments] { context.exit = run(context, *arguments); });
  if (run != claim_task) add_spool_id(*verb, arguments->id, "Id of the task");
  return {*verb, *arguments};
}

void add_place(const NewVerb& verb, std::string footer) {
  add_spool_dir(verb.app, verb.arguments.spool);
  add_spool_worker(verb.app, verb.arguments.spool);
  verb.app.footer(std::move(footer));
}

void add_claim(CLI::App& spool, Context& context) {
  const auto verb =
      add_work_verb(spool, context, "claim", "Claim the next task and print it", claim_task);
  verb.app.add_flag("--wait", verb.arguments.wait, "Wait for a task; so does --timeout");
  add_spool_fifo(verb.app, verb.arguments.spool);
  verb.app.add_flag("--shared", verb.arguments.spool.shared,
                    "Processes of other hosts use the folder: look once a second while waiting");
  add_spool_sync(verb.app, verb.arguments.spool);
  add_place(
      verb,
      "Examples:\n"
      "  beeline spool claim\n"
      "  while task=$(beeline spool claim --wait --timeout 1m); do\n"
      "    id=$(jq -r .id <<< \"$task\")\n"
      "    if make test; then beeline spool done \"$id\"; else beeline spool retry \"$id\"; fi\n"
      "  done\n"
      "  id=$(beeline spool claim --pid $$ | jq -r .id)    behind a pipe in $(), or timeout\n"
      "  beeline spool claim --worker night --pid none    no process: it stays claimed for\n"
      "                                                   15 minutes after a heartbeat\n"
      "Prints the task as its file has it; --json in one line. The claim belongs to the\n"
      "parent of this command, usually a shell. When that ends, the task waits again, or\n"
      "fails if its attempts are used up. Order: priority, then age. A file that is no task\n"
      "is moved to failed/ with the reason. Exits with 5 if there is no task, at once or\n"
      "within --timeout; with 1 after a signal.");
}

}  // namespace

void add_spool_work_verbs(CLI::App& spool, Context& context) {
  add_claim(spool, context);

  const auto end = add_work_verb(spool, context, "done", "Write the result of a task", finish_task);
  spool::Completion& completion = end.arguments.completion;
  end.app.add_option("--verdict", completion.verdict, "pass, fail, blocked or unknown")
      ->capture_default_str();
  end.app.add_option("--reason", completion.verdict_reason, "Why this verdict");
  end.app.add_option("--output", completion.output, "The output; - for stdin, @file for a file");
  add_spool_sync(end.app, end.arguments.spool);
  add_place(end, fmt::format("Examples:\n"
                             "  beeline spool done task_17 --verdict pass --output @log\n"
                             "  make test 2>&1 | beeline spool done task_17 --output -\n"
                             "An older result of the id is replaced.\n{}",
                             kWhoseClaim));

  const auto lost = add_work_verb(spool, context, "fail", "End a task for good", fail_task);
  lost.app.add_option("ERROR", lost.arguments.error, "The reason")->required();
  add_spool_sync(lost.app, lost.arguments.spool);
  add_place(lost, fmt::format("Examples:\n"
                              "  beeline spool fail task_17 \"no such branch\"\n"
                              "The attempts that are left do not count; `retry` uses them.\n{}",
                              kWhoseClaim));

  const auto again =
      add_work_verb(spool, context, "retry", "Put a task back to be run again", retry_task);
  again.app.add_option("ERROR", again.arguments.error, "The reason, kept in last_error");
  add_spool_sync(again.app, again.arguments.spool);
  add_place(again, fmt::format("Examples:\n"
                               "  beeline spool retry task_17 \"the network was away\"\n"
                               "Fails the task if its attempts are used up, and says so.\n{}",
                               kWhoseClaim));

  const auto beat =
      add_work_verb(spool, context, "heartbeat", "Say that the worker lives", beat_task);
  add_place(beat, fmt::format("Examples:\n"
                              "  beeline spool heartbeat task_17 --worker night\n"
                              "Needed where others cannot look at the process of the claim: it is\n"
                              "on another host, in another container, or there is none. The task\n"
                              "goes back 15 minutes after the last one. Prints nothing.\n{}",
                              kWhoseClaim));
}

}  // namespace beeline::cli
