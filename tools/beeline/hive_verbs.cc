// up, down.

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "shm/link.h"
#include "src/control/hive_paths.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/verbs.h"
#ifdef BEELINE_HAS_STEWARD
#include "tools/beeline/start_file_verbs.h"
#endif

namespace beeline::cli {
namespace {

using control::Client;
using control::ClientOptions;
using control::StatusAnswer;

ClientOptions client_options(const Context& context, bool start) {
  ClientOptions options;
  options.hive = context.hive;
  options.start = start;
  options.deadline = context.timeout.value_or(control::kDefaultDeadline);
  return options;
}

ExitCode say_running(const StatusAnswer& status, const std::string& socket) {
  return complain(
      ExitCode::kNoCoordinator,
      fmt::format("hive \"{}\" is already running: keeper {}, coordinator {}, since "
                  "{}, at {}; end it with `beeline down`",
                  status.hive, status.keeper_pid, status.coordinator_pid, status.since, socket));
}

struct UpArguments {
  std::uint64_t max_payload = 0;
  std::string group;
  std::string forget_empty_after;
  std::string check;   // a start file
  std::string config;  // a start file
};

ExitCode up(const Context& context, const UpArguments& arguments) {
  std::chrono::nanoseconds forget_after{0};
  if (!arguments.forget_empty_after.empty()) {
    const auto parsed = parse_duration(arguments.forget_empty_after);
    if (!parsed) return complain(parsed.error());
    forget_after = *parsed;
  }
  if (auto present = Client::connect(client_options(context, false))) {
    const auto status = present->status();
    if (status) return say_running(*status, present->socket_path());
    // A coordinator that was killed listens until its process is gone.
    if (status.error().code != ErrorCode::kClosed) return complain(status.error());
  }
  // The environment sets the limit, as for every coordinator that starts.
  if (arguments.max_payload != 0) {
    ::setenv("BEELINE_MAX_PAYLOAD", fmt::format("{}", arguments.max_payload).c_str(), 1);
  }
  if (!arguments.group.empty()) {
    if (const auto found = control::find_group(arguments.group); !found) {
      return complain(ExitCode::kUsage, found.error().text);
    }
    ::setenv("BEELINE_GROUP", arguments.group.c_str(), 1);
  }
  if (!arguments.forget_empty_after.empty()) {
    const auto limit = std::max<std::int64_t>(forget_after / std::chrono::milliseconds(1), 1);
    ::setenv("BEELINE_FORGET_EMPTY_AFTER", fmt::format("{}ms", limit).c_str(), 1);
  }
  auto client = Client::connect(client_options(context, true));
  if (!client) return complain(client.error());
  if (client->has_started()) tell_others(*client);
  const auto status = client->status();
  if (!status) return complain(status.error());
  if (context.json) {
    print_json(status_json(*status, client->socket_path()));
  } else {
    print(fmt::format("hive \"{}\" listens at {} (keeper {}, coordinator {})\n", status->hive,
                      client->socket_path(), status->keeper_pid, status->coordinator_pid));
  }
  return ExitCode::kOk;
}

#ifdef BEELINE_HAS_STEWARD
// `up` with a start file. Its mistakes are told before anything starts.
ExitCode up_by_file(const Context& context, const UpArguments& arguments) {
  const bool only_checks = !arguments.check.empty();
  const auto loaded = load_start_file(context, only_checks ? arguments.check : arguments.config);
  if (!loaded) return complain(loaded.error());
  if (only_checks) return show_start_file(context, *loaded);
  const Context of_file = context_of(context, *loaded);
  const ExitCode started = up(of_file, arguments);
  return started == ExitCode::kOk ? apply_start_file(of_file, *loaded) : started;
}

void add_start_file_options(CLI::App& verb, UpArguments& arguments) {
  // An unset shell variable would be empty.
  const auto is_path = [](const std::string& text) -> std::string {
    return text.empty() ? "the path is empty: give one, or see whether a variable is unset" : "";
  };
  auto* const check = verb.add_option(
      "--check", arguments.check, "Only say what is wrong with this start file, and show its tree");
  check->check(is_path);
  verb.add_option("--config", arguments.config,
                  "Start the agents of this start file as well; `beeline apply` does it later")
      ->check(is_path)
      ->excludes(check);
}
#endif

ExitCode down(const Context& context) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto status = client->status();
  if (!status) return complain(status.error());
  if (const auto ended = client->down(); !ended) return complain(ended.error());
  const std::string log = control::last_log(client->directory());
  if (context.json) {
    print_json({{"hive", status->hive},
                {"directory", client->directory()},
                {"down", true},
                {"log", log.empty() ? Json(nullptr) : Json(log)}});
  } else {
    print(fmt::format("hive \"{}\" in {} is down{}\n", status->hive, client->directory(),
                      log.empty() ? "" : ", its log is " + log));
  }
  return ExitCode::kOk;
}

}  // namespace

Json status_json(const StatusAnswer& status, const std::string& socket) {
  Json json;
  json["hive"] = status.hive;
  json["socket"] = socket;
  json["version"] = status.version;
  json["keeper_pid"] = status.keeper_pid;
  json["coordinator_pid"] = status.coordinator_pid;
  json["since"] = status.since;
  return json;
}

Result<Client> connect_to_look(const Context& context) {
  return Client::connect(client_options(context, false));
}

AttachOptions attach_options(const Context& context) {
  AttachOptions options;
  options.hive = context.hive;
  options.start_coordinator = !context.no_start;
  // Shorter timeouts are meant for messages: an attach takes several calls, and may start the
  // coordinator.
  constexpr std::chrono::nanoseconds kShortest = std::chrono::milliseconds(500);
  if (context.timeout) {
    options.control_timeout = std::clamp(*context.timeout, kShortest, options.control_timeout);
  }
  return options;
}

void add_hive_verbs(CLI::App& app, Context& context) {
  auto* up_verb = app.add_subcommand("up", "Start the coordinator of a hive");
  auto arguments = std::make_shared<UpArguments>();
  up_verb
      ->add_option("--max-payload", arguments->max_payload,
                   "Largest payload of a message in bytes; $BEELINE_MAX_PAYLOAD, else 64 MiB")
      ->check(CLI::Range(shm::kMinMaxPayload, shm::kMaxMaxPayload));
  up_verb->add_option("--group", arguments->group,
                      "Group whose members may join beside yourself; $BEELINE_GROUP, else nobody");
  up_verb->add_option("--forget-empty-after", arguments->forget_empty_after,
                      "Let an agent go that has been away for so long and for which nothing waits; "
                      "$BEELINE_FORGET_EMPTY_AFTER, else never");
  up_verb->footer(
      "Examples:\n"
      "  beeline up                  start the hive \"default\"\n"
      "  beeline up --hive build     start another one beside it\n"
      "  beeline up --max-payload 1073741824\n"
      "  BEELINE_DIR=/srv/hive beeline up --group agents   for the users of that group\n"
      "  beeline up --forget-empty-after 12h   no zombie without messages stays longer\n"
#ifdef BEELINE_HAS_STEWARD
      "  beeline up --config hive.yaml   with its agents; `--check` looks for mistakes only\n"
#endif
      "Prints the path of its socket. If the hive runs already, prints its user and its start\n"
      "time, and exits with 3. The other verbs start the hive by themselves.");
#ifdef BEELINE_HAS_STEWARD
  add_start_file_options(*up_verb, *arguments);
#endif
  up_verb->callback([&context, arguments] {
#ifdef BEELINE_HAS_STEWARD
    if (!arguments->check.empty() || !arguments->config.empty()) {
      context.exit = up_by_file(context, *arguments);
      return;
    }
#endif
    context.exit = up(context, *arguments);
  });

  auto* down_verb = app.add_subcommand("down", "End a hive and all messages in it");
  down_verb->footer(
      "Examples:\n"
      "  beeline down\n"
      "  beeline down --hive build --timeout 2s\n"
      "Agents learn of it as a notice. The log of the hive stays in its directory as\n"
      "beelined.last.log, until the next hive there ends. Exits with 3 if no coordinator runs.");
  down_verb->callback([&context] { context.exit = down(context); });
}

}  // namespace beeline::cli
