// status.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/accounts_view.h"
#include "tools/beeline/letters_view.h"
#include "tools/beeline/output.h"
#include "tools/beeline/survey.h"
#include "tools/beeline/survey_view.h"
#include "tools/beeline/verbs.h"
#include "tools/beeline/watch.h"

namespace beeline::cli {
namespace {

using control::Client;
using control::StatusAnswer;

Json inboxes_json(const Survey& survey) {
  Json inboxes = Json::array();
  for (const control::ListedAgent& agent : survey.agents()) {
    const Account* account = survey.accounts().find(agent.pid);
    if (account == nullptr) continue;
    Json inbox{{"name", account->name}, {"pid", account->pid}};
    add_vitals(survey, agent, inbox);
    inbox.update(account_json(*account));
    inboxes.push_back(std::move(inbox));
  }
  return inboxes;
}

// The coordinator is the root of the tree and the agent of no user.
std::uint64_t without_coordinator(std::uint64_t agents) { return agents == 0 ? 0 : agents - 1; }

// Pids of agents are never reused, so they can run out.
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

std::string letters_text(const StatusAnswer& status, const Result<Letters>& letters) {
  if (!letters) return fmt::format("{}: {}", kUnreadable, letters.error().text);
  std::string text =
      fmt::format("{} in `beeline dlq ls`; of agents that ended: {} taken over, {} kept",
                  letters->list.size(), status.dead_letters, status.dead_letters_kept);
  if (letters->unreadable != 0) {
    text += fmt::format("; {}: those of {} agents", kUnreadable, letters->unreadable);
  }
  return text;
}

std::string memory_text(const HiveAccounts& accounts) {
  if (!accounts.hidden.empty()) return std::string(kUnreadable);
  return fmt::format("{} KiB in {} segments", grouped(accounts.segment_bytes / 1024),
                     accounts.segments);
}

// Every agent but the coordinator that has not ended for good, with its stuck and slow messages.
std::string agents_text(const Survey& survey) {
  std::vector<std::string> headings = {"agent", ">pid", "state"};
  const auto more = vitals_headings();
  headings.insert(headings.end(), more.begin(), more.end());
  Table table(headings);
  bool is_empty = true;
  for (const control::ListedAgent& agent : survey.agents()) {
    if (agent.pid == control::kKingPid || agent.state == shm::AgentState::kDead) continue;
    std::vector<std::string> cells = {agent.name, fmt::format("{}", agent.pid),
                                      std::string(survey.state_word(agent))};
    const auto vitals = vitals_cells(survey, agent);
    cells.insert(cells.end(), vitals.begin(), vitals.end());
    table.add(std::move(cells));
    is_empty = false;
  }
  return is_empty ? "" : table.text();
}

std::string status_text(const Survey& survey, const std::string& socket,
                        const Result<Letters>& letters) {
  const StatusAnswer& status = survey.status();
  Table table({"", ""});
  table.add({"hive", status.hive});
  table.add({"socket", socket});
  table.add({"version", status.version});
  table.add({"since", status.since});
  table.add({"processes", fmt::format("keeper {}, coordinator {} (restarted {} times)",
                                      status.keeper_pid, status.coordinator_pid, status.restarts)});
  const auto& agents = survey.agents();
  const auto stuck = std::count_if(agents.begin(), agents.end(),
                                   [&](const auto& agent) { return survey.is_stuck(agent); });
  table.add({"agents", fmt::format("{} attached, {} zombies, {} stopped or stuck",
                                   without_coordinator(status.running), status.away, stuck)});
  table.add({"numbers", numbers_text(status)});
  table.add({"links", fmt::format("{}, {} quarantined", status.links, status.quarantined_links)});
  table.add({"clients", fmt::format("{}, {} dropped", status.clients, status.dropped_clients)});
  table.add({"dead letters", letters_text(status, letters)});
  table.add({"memory", memory_text(survey.accounts())});
  for (const std::string& gap : survey.gaps()) table.add({std::string(kUnreadable), gap});
  std::string text = table.text();
  text.erase(0, text.find('\n') + 1);  // it has no headings
  for (const std::string& part : {agents_text(survey), accounts_text(survey.accounts())}) {
    if (!part.empty()) text += '\n' + part;
  }
  return text;
}

Json whole_json(const Survey& survey, const std::string& socket, const Result<Letters>& letters) {
  const StatusAnswer& status = survey.status();
  const HiveAccounts& accounts = survey.accounts();
  const bool has_segments = accounts.hidden.empty();
  const std::size_t unreadable = accounts.unreadable();
  const std::string reason = accounts.why_unreadable();
  Json json = status_json(status, socket);
  json["restarts"] = status.restarts;
  json["agents"] = without_coordinator(status.agents);
  json["running"] = without_coordinator(status.running);
  json["away"] = status.away;
  json["numbers_used"] = status.pids_used;
  json["numbers_left"] = status.pids_left;
  json["numbers_run_out"] = numbers_run_out(status);
  json["links"] = status.links;
  json["quarantined_links"] = status.quarantined_links;
  json["clients"] = status.clients;
  json["dropped_clients"] = status.dropped_clients;
  json["dead_letters_listed"] = letters ? Json(letters->list.size()) : Json(nullptr);
  json["dead_letters"] = status.dead_letters;
  json["dead_letters_kept"] = status.dead_letters_kept;
  json["segments"] = has_segments ? Json(accounts.segments) : Json(nullptr);
  json["segment_bytes"] = has_segments ? Json(accounts.segment_bytes) : Json(nullptr);
  json["unreadable_agents"] = unreadable;
  json["inboxes"] = inboxes_json(survey);
  json["accounts_error"] = reason.empty() ? Json(nullptr) : Json(reason);
  return json;
}

Result<std::string> look(const Context& context, Client& client) {
  const auto survey = Survey::take(client, context.hive);
  if (!survey) return tl::unexpected(survey.error());
  const auto letters = find_letters(client, context.hive, "", survey->accounts());
  return context.json ? json_line(whole_json(*survey, client.socket_path(), letters))
                      : status_text(*survey, client.socket_path(), letters);
}

}  // namespace

void add_status_verb(CLI::App& app, Context& context) {
  auto* status_verb = app.add_subcommand("status", "Show a hive: processes, agents, accounts");
  status_verb->footer(
      "Examples:\n"
      "  beeline status\n"
      "  beeline status --watch 5s\n"
      "  beeline status --json | jq .dead_letters\n"
      "  beeline status --json | jq '.inboxes[] | select(.oldest_waiting_ms > 10000) | .name'\n"
      "The columns of the first table are those of `beeline tree`. The second one has the account\n"
      "of each inbox: accepted = in lanes + queued + tasks + leased + done + dead. \"moving\":\n"
      "it changed during each of many looks. Only the user of the hive and root may read the\n"
      "accounts, and only in the pid namespace of the hive or one above; elsewhere they are\n"
      "unreadable, with the reason, and JSON has null. Never starts a coordinator; exits with 3\n"
      "if none runs.");
  auto watch = std::make_shared<Watch>();
  add_watch_option(*status_verb, *watch);
  status_verb->callback([&context, watch] {
    context.exit =
        look_on(context, *watch, [&context](Client& client) { return look(context, client); });
  });
}

}  // namespace beeline::cli
