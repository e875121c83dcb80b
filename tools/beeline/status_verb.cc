// status.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/beeline/accounts_view.h"
#include "tools/beeline/letters_view.h"
#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

using control::Client;
using control::StatusAnswer;

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

void add_status_verb(CLI::App& app, Context& context) {
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
