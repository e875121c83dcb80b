// up, down, status.

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shm/link.h"
#include "src/control/hive_paths.h"
#include "tools/beeline/accounts_view.h"
#include "tools/beeline/letters_view.h"
#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

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
    // One that was killed listens until all of it is gone.
    if (status.error().code != ErrorCode::kClosed) return complain(status.error());
  }
  // As for every coordinator that starts: the environment says what its limit is.
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

ExitCode down(const Context& context) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto status = client->status();
  if (!status) return complain(status.error());
  if (const auto ended = client->down(); !ended) return complain(ended.error());
  if (context.json) {
    print_json({{"hive", status->hive}, {"down", true}});
  } else {
    print(fmt::format("hive \"{}\" is down\n", status->hive));
  }
  return ExitCode::kOk;
}

/// What only the segments know, which another user may not read.
using Accounts = Result<HiveAccounts>;

Json accounts_json(const HiveAccounts& accounts) {
  Json inboxes = Json::array();
  for (const Account& account : accounts.inboxes) {
    Json inbox{{"name", account.name}, {"pid", account.pid}, {"state", to_string(account.state)}};
    inbox.update(account_json(account));
    inboxes.push_back(std::move(inbox));
  }
  return inboxes;
}

/// The coordinator is the root of the tree, and no agent of anybody.
std::uint64_t without_coordinator(std::uint64_t agents) { return agents == 0 ? 0 : agents - 1; }

/// As many as `beeline dlq ls` lists.
Result<std::size_t> count_letters(Client& client, std::string_view hive) {
  const auto letters = find_letters(client, hive, "");
  if (!letters) return tl::unexpected(letters.error());
  return letters->size();
}

/// Agents have numbers that are never given out again.
bool numbers_run_out(const StatusAnswer& status) {
  return status.pids_left < (status.pids_left + status.pids_used) / 8;
}

std::string numbers_text(const StatusAnswer& status) {
  std::string text =
      fmt::format("{} used, {} left", grouped(status.pids_used), grouped(status.pids_left));
  if (numbers_run_out(status)) {
    text += "; when none is left only known names can attach: start another hive in time";
  }
  return text;
}

std::string status_text(const StatusAnswer& status, const std::string& socket,
                        const Accounts& accounts, const Result<std::size_t>& letters) {
  Table table({"", ""});
  table.add({"hive", status.hive});
  table.add({"socket", socket});
  table.add({"version", status.version});
  table.add({"since", status.since});
  table.add({"processes", fmt::format("keeper {}, coordinator {} (restarted {} times)",
                                      status.keeper_pid, status.coordinator_pid, status.restarts)});
  table.add({"agents", fmt::format("{} attached, {} zombies", without_coordinator(status.running),
                                   status.away)});
  table.add({"numbers", numbers_text(status)});
  table.add({"links", fmt::format("{}, {} quarantined", status.links, status.quarantined_links)});
  table.add({"clients", fmt::format("{}, {} dropped", status.clients, status.dropped_clients)});
  table.add({"dead letters",
             letters
                 ? fmt::format("{} in `beeline dlq ls`; of agents that ended: {} taken over, {} "
                               "kept",
                               *letters, status.dead_letters, status.dead_letters_kept)
                 : fmt::format("not readable: {}", letters.error().text)});
  if (accounts) {
    table.add({"memory", fmt::format("{} KiB in {} segments",
                                     grouped(accounts->segment_bytes / 1024), accounts->segments)});
  } else {
    table.add({"accounts", fmt::format("not readable: {}", accounts.error().text)});
  }
  std::string text = table.text();
  text.erase(0, text.find('\n') + 1);  // it has no headings
  if (accounts && !accounts->inboxes.empty()) text += '\n' + accounts_text(*accounts);
  return text;
}

ExitCode status(const Context& context) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto status = client->status();
  if (!status) return complain(status.error());
  const Accounts accounts = read_accounts(*client, context.hive);
  const Result<std::size_t> letters = count_letters(*client, context.hive);
  if (!context.json) {
    print(status_text(*status, client->socket_path(), accounts, letters));
    return ExitCode::kOk;
  }
  Json json = status_json(*status, client->socket_path());
  json["restarts"] = status->restarts;
  json["agents"] = without_coordinator(status->agents);
  json["running"] = without_coordinator(status->running);
  json["away"] = status->away;
  json["numbers_used"] = status->pids_used;
  json["numbers_left"] = status->pids_left;
  json["numbers_run_out"] = numbers_run_out(*status);
  json["links"] = status->links;
  json["quarantined_links"] = status->quarantined_links;
  json["clients"] = status->clients;
  json["dropped_clients"] = status->dropped_clients;
  json["dead_letters_listed"] = letters ? Json(*letters) : Json(nullptr);
  json["dead_letters"] = status->dead_letters;
  json["dead_letters_kept"] = status->dead_letters_kept;
  json["segments"] = accounts ? Json(accounts->segments) : Json(nullptr);
  json["segment_bytes"] = accounts ? Json(accounts->segment_bytes) : Json(nullptr);
  json["inboxes"] = accounts ? accounts_json(*accounts) : Json(nullptr);
  json["accounts_error"] = accounts ? Json(nullptr) : Json(accounts.error().text);
  print_json(json);
  return ExitCode::kOk;
}

}  // namespace

Result<Client> connect_to_look(const Context& context) {
  return Client::connect(client_options(context, false));
}

AttachOptions attach_options(const Context& context) {
  AttachOptions options;
  options.hive = context.hive;
  options.start_coordinator = !context.no_start;
  // Shorter ones are about messages: an attach takes several calls, and may start the coordinator.
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
      "Says where it listens. If the hive runs already, says who runs it and since when, and exits "
      "with 3.\nThe other verbs start it by themselves.");
  up_verb->callback([&context, arguments] { context.exit = up(context, *arguments); });

  auto* down_verb = app.add_subcommand("down", "End a hive and all messages in it");
  down_verb->footer(
      "Examples:\n"
      "  beeline down\n"
      "  beeline down --hive build --timeout 2s\n"
      "Agents learn of it as a notice. Exits with 3 if no coordinator runs.");
  down_verb->callback([&context] { context.exit = down(context); });

  auto* status_verb = app.add_subcommand("status", "Show a hive: processes, agents, accounts");
  status_verb->footer(
      "Examples:\n"
      "  beeline status\n"
      "  beeline status --json | jq .dead_letters\n"
      "For each inbox: accepted = in lanes + queued + leased + done + dead. \"moving\": it "
      "changed\n"
      "during each of many looks. Only the user of the hive and root may read the accounts; to "
      "others "
      "it\nsays so. Never starts a coordinator; exits with 3 if none runs.");
  status_verb->callback([&context] { context.exit = status(context); });
}

}  // namespace beeline::cli
