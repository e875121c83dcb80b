// info: what the hive knows of its agents.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/control/agent_info.h"
#include "tools/beeline/accounts_view.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// RFC 3339 in UTC, to the second.
std::string time_text(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / kSecond;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return fmt::format("{}", seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string name_of(const std::vector<AgentInfo>& all, Pid pid) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [pid](const AgentInfo& agent) { return agent.pid == pid; });
  return found == all.end() ? fmt::format("pid {}", pid)
                            : fmt::format("{} (pid {})", found->name, pid);
}

std::string info_text(const AgentInfo& agent, const std::vector<AgentInfo>& all,
                      const Account* account) {
  Table table({"", ""});
  table.add({"name", agent.name});
  table.add({"pid", fmt::format("{}", agent.pid)});
  table.add({"parent", agent.parent != 0 ? name_of(all, agent.parent) : "-"});
  table.add({"role", agent.role});
  table.add({"state", std::string(to_string(agent.state))});
  table.add({"children", fmt::format("{}", agent.children)});
  table.add({"started", time_text(agent.started_unix_ns)});
  table.add({"os pid", agent.os_pid != 0 ? fmt::format("{}", agent.os_pid) : "-"});
  table.add({"uid", fmt::format("{}", agent.uid)});
  table.add({"restarts", fmt::format("{}", agent.restarts)});
  table.add({"temporary", agent.temporary ? "yes" : "no"});
  if (account != nullptr) {
    table.add({"accepted", grouped(account->accepted)});
    table.add({"in lanes", grouped(account->in_lanes)});
    table.add({"queued", grouped(account->queued)});
    table.add({"leased", grouped(account->leased)});
    table.add({"done", grouped(account->done)});
    table.add({"dead", fmt::format("{} kept, {} purged", grouped(account->dead),
                                   grouped(account->purged))});
    table.add({"balance", balance_text(*account)});
  }
  const std::string text = table.text();
  return text.substr(text.find('\n') + 1);  // it has no headings
}

Json info_json(const AgentInfo& agent, const Account* account) {
  Json json;
  json["name"] = agent.name;
  json["pid"] = agent.pid;
  json["parent"] = agent.parent != 0 ? Json(agent.parent) : Json(nullptr);
  json["role"] = agent.role;
  json["state"] = to_string(agent.state);
  json["children"] = agent.children;
  json["started_unix_ns"] = agent.started_unix_ns;
  json["os_pid"] = agent.os_pid != 0 ? Json(agent.os_pid) : Json(nullptr);
  json["uid"] = agent.uid;
  json["restarts"] = agent.restarts;
  json["temporary"] = agent.temporary;
  json["inbox"] = account != nullptr ? account_json(*account) : Json(nullptr);
  return json;
}

ExitCode info(const Context& context, const std::string& asked) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto listed = client->list_all();
  if (!listed) return complain(listed.error());
  const std::vector<AgentInfo> all = control::infos_of(*listed);
  std::vector<const AgentInfo*> shown;
  if (asked.empty()) {
    for (const AgentInfo& agent : all) shown.push_back(&agent);
  } else if (const AgentInfo* found = control::find_agent(all, asked, ::geteuid())) {
    shown.push_back(found);
  } else {
    return complain(control::nobody_named(asked, client->hive(), client->directory()));
  }
  // Segments of another user cannot be read; who is there can be told all the same.
  const auto accounts = read_accounts(*client, context.hive);
  const auto account_of = [&](const AgentInfo* agent) {
    return accounts ? accounts->find(agent->pid) : nullptr;
  };
  if (!context.json) {
    std::string text;
    for (const AgentInfo* agent : shown) {
      text += (text.empty() ? "" : "\n") + info_text(*agent, all, account_of(agent));
    }
    print(text);
    return ExitCode::kOk;
  }
  Json list = Json::array();
  for (const AgentInfo* agent : shown) list.push_back(info_json(*agent, account_of(agent)));
  print_json(asked.empty() ? list : list.front());
  return ExitCode::kOk;
}

}  // namespace

void add_info_verb(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("info", "Show what is known of an agent, or of all");
  verb->add_option("AGENT", *name, "Name or pid of the agent; all if it is not given")
      ->check(is_agent());
  verb->footer(
      "Examples:\n"
      "  beeline info worker\n"
      "  beeline info 7 --json | jq .inbox.queued\n"
      "  beeline info --json | jq -r '.[] | select(.state == \"zombie\") | .name'\n"
      "The state is idle, running (holds a message), blocked (waits for an answer or for space),\n"
      "sleeping (said so), zombie (no process; its inbox waits for the next attach) or dead.\n"
      "The dead are known for a minute. Exits with 4 if there is no such agent.");
  verb->callback([&context, name] { context.exit = info(context, *name); });
}

}  // namespace beeline::cli
