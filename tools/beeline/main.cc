// The command line of Beeline.

#include <signal.h>

#include <clocale>
#include <exception>
#include <string>

#include <fmt/format.h>

#include <beeline/result.h>
#include <beeline/version.h>

#include "src/os/process.h"
#include "tools/beeline/output.h"
#include "tools/beeline/process_verbs.h"
#include "tools/beeline/usage.h"
#include "tools/beeline/verbs.h"
#ifdef BEELINE_HAS_BUFFER
#include "tools/beeline/buffer_verbs.h"
#endif
#ifdef BEELINE_HAS_SPOOL
#include "tools/beeline/spool_verbs.h"
#endif
#ifdef BEELINE_HAS_STEWARD
#include "tools/beeline/policy_verb.h"
#include "tools/beeline/start_file_verbs.h"
#endif

namespace beeline::cli {
namespace {

constexpr auto kExamples =
    "Examples:\n"
    "  beeline reply worker --echo &      an agent; starts the coordinator by itself\n"
    "  beeline request worker hello\n"
    "  beeline tree\n"
    "  beeline down\n"
    "  beeline run -- ./my-tests          a hive of its own around a command\n"
    "  beeline demo                       a tree of processes at work, one of them killed\n"
    "`beeline VERB -h` has examples for each verb.\n\n";

void add_global_options(CLI::App& app, Context& context) {
  app.add_option("--hive", context.hive, "Name of the hive; $BEELINE_HIVE, else \"default\"")
      ->check(is_agent(), "hive");
  app.add_flag("--json", context.json, "Results and errors as JSON");
  app.add_option_function<std::string>(
      "--timeout",
      [&context](const std::string& text) {
        const auto parsed = parse_duration(text);
        if (!parsed) throw CLI::ValidationError("--timeout", parsed.error().text);
        context.timeout = *parsed;
      },
      "Longest wait, like 500ms, 2s or 1m");
  app.add_flag("--no-start", context.no_start, "Do not start a coordinator where none runs");
  app.set_version_flag("--version", fmt::format("beeline {}", kVersion));
}

int run(int argc, char** argv) {
  if (wants_json(argc, argv)) complain_in_json();
  Context context;
  CLI::App app("Beeline: messages for trees of agent processes on one host", "beeline");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kExamples + exit_codes_text() +
             "Results go to stdout, diagnostics to stderr; with --json both are JSON.");
  add_global_options(app, context);
  add_hive_verbs(app, context);
  add_ls_verb(app, context);
  add_status_verb(app, context);
  add_look_verbs(app, context);
  add_forget_verb(app, context);
  add_help_verbs(app, context);
  add_completion_verbs(app, context);
  add_info_verb(app, context);
  add_doctor_verb(app, context);
  add_send_verbs(app, context);
  add_broadcast_verb(app, context);
  add_exec_verb(app, context);
  add_spawn_verb(app, context);
  add_process_verbs(app, context);
#ifdef BEELINE_HAS_STEWARD
  add_apply_verb(app, context);
  add_policy_verb(app, context);
#endif
  add_receive_verbs(app, context);
  add_pipe_verb(app, context);
  add_reply_verb(app, context);
  add_letters_verbs(app, context);
  add_history_verbs(app, context);
#ifdef BEELINE_HAS_BUFFER
  add_buffer_verbs(app, context);
#endif
#ifdef BEELINE_HAS_SPOOL
  add_spool_verbs(app, context);
#endif
  add_run_verb(app, context);
  add_demo_verb(app, context);
  add_demo_role_verb(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return static_cast<int>(end_unparsed(app, error));
  }
  return static_cast<int>(finish_output(context.exit));
}

}  // namespace
}  // namespace beeline::cli

int main(int argc, char** argv) {
  // If the reader of our output has gone, write() must return an error; the signal must not end us.
  ::signal(SIGPIPE, SIG_IGN);
  // A file at its limit (ulimit -f) must be an error of write(), too.
  ::signal(SIGXFSZ, SIG_IGN);
  (void)std::setlocale(LC_CTYPE, "");
  if (const auto filled = beeline::os::fill_standard_streams(); !filled) {
    return static_cast<int>(beeline::cli::ExitCode::kError);  // maybe there is no stderr to print a
                                                              // reason to
  }
  try {
    return beeline::cli::run(argc, argv);
  } catch (const std::exception& error) {
    return static_cast<int>(beeline::cli::complain(beeline::cli::ExitCode::kError, error.what()));
  }
}
