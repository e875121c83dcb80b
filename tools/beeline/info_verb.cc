// info: the hive's facts about its agents.

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
#include "tools/beeline/survey.h"
#include "tools/beeline/survey_view.h"
#include "tools/beeline/times.h"
#include "tools/beeline/verbs.h"
#include "tools/beeline/watch.h"

namespace beeline::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// RFC 3339 in UTC, to the second.
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

std::string age_text(std::uint64_t count, std::optional<std::int64_t> age_ns) {
  if (!age_ns) return grouped(count);
  return fmt::format("{}, the oldest sent {} ago", grouped(count), duration_text(*age_ns));
}

void add_account(const Survey& survey, const Account& account, Table& table) {
  if (!account.is_readable()) {
    const std::string& hidden = survey.accounts().hidden;
    table.add({"accounts", hidden.empty() ? fmt::format("{}: {}", kUnreadable, account.unreadable)
                                          : std::string(kUnreadable)});
    return;
  }
  table.add({"waiting", age_text(account.waiting(), survey.age_ns(account.oldest_waiting_ns))});
  table.add({"in hand", age_text(account.leased, survey.age_ns(account.oldest_in_hand_ns))});
  table.add({"accepted", grouped(account.accepted)});
  table.add({"in lanes", grouped(account.in_lanes)});
  table.add({"queued", grouped(account.queued)});
  table.add({"tasks", grouped(account.tasks)});
  table.add({"leased", grouped(account.leased)});
  table.add({"done", grouped(account.done)});
  table.add(
      {"dead", fmt::format("{} kept, {} purged", grouped(account.dead), grouped(account.purged))});
  table.add({"balance", balance_text(account)});
}

// An agent as the coordinator lists it, and as the public interface describes it.
struct Shown {
  const control::ListedAgent& listed;
  const AgentInfo& info;
};

std::string info_text(const Survey& survey, const Shown& shown, const std::vector<AgentInfo>& all) {
  const AgentInfo& agent = shown.info;
  const std::string said(to_string(agent.state));
  const std::string state(survey.state_word(shown.listed));
  const auto up = survey.up_ns(shown.listed);
  const auto memory = survey.memory_bytes(agent.pid);
  Table table({"", ""});
  table.add({"name", agent.name});
  table.add({"pid", fmt::format("{}", agent.pid)});
  table.add({"parent", agent.parent != 0 ? name_of(all, agent.parent) : "-"});
  table.add({"role", agent.role});
  table.add({"state", state == said ? state : fmt::format("{}, it said {}", state, said)});
  table.add({"children", fmt::format("{}", agent.children)});
  table.add({"started", time_text(agent.started_unix_ns)});
  table.add({"up", up ? duration_text(*up) : "-"});
  table.add({"os pid", agent.os_pid != 0 ? fmt::format("{}", agent.os_pid) : "-"});
  table.add({"process", process_text(survey, shown.listed)});
  table.add({"uid", fmt::format("{}", agent.uid)});
  table.add({"restarts", fmt::format("{}", agent.restarts)});
  table.add({"temporary", agent.temporary ? "yes" : "no"});
  table.add({"memory",
             memory ? fmt::format("{} KiB", grouped(*memory / 1024)) : std::string(kUnreadable)});
  const Account* account = survey.accounts().find(agent.pid);
  if (account != nullptr) add_account(survey, *account, table);
  if (!memory) table.add({std::string(kUnreadable), survey.accounts().hidden});
  const std::string text = table.text();
  return text.substr(text.find('\n') + 1);  // it has no headings
}

Json info_json(const Survey& survey, const Shown& shown) {
  const AgentInfo& agent = shown.info;
  const Account* account = survey.accounts().find(agent.pid);
  Json json;
  json["name"] = agent.name;
  json["pid"] = agent.pid;
  json["parent"] = agent.parent != 0 ? Json(agent.parent) : Json(nullptr);
  json["role"] = agent.role;
  json["state"] = to_string(agent.state);
  json["children"] = agent.children;
  json["started_unix_ms"] = milliseconds(std::chrono::nanoseconds(agent.started_unix_ns));
  json["os_pid"] = agent.os_pid != 0 ? Json(agent.os_pid) : Json(nullptr);
  json["uid"] = agent.uid;
  json["temporary"] = agent.temporary;
  add_vitals(survey, shown.listed, json);
  json["inbox"] =
      account != nullptr && account->is_readable() ? account_json(*account) : Json(nullptr);
  return json;
}

// All agents, or the one that the user named.
Result<std::string> look(const Context& context, control::Client& client,
                         const std::string& asked) {
  const auto survey = Survey::take(client, context.hive);
  if (!survey) return tl::unexpected(survey.error());
  const std::vector<AgentInfo> all = control::infos_of(survey->agents());
  const AgentInfo* found = asked.empty() ? nullptr : control::find_agent(all, asked, ::geteuid());
  if (found == nullptr && !asked.empty()) {
    return tl::unexpected(control::nobody_named(asked, client.hive(), client.directory()));
  }
  std::string text;
  Json list = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Shown shown{survey->agents()[i], all[i]};  // in the same order
    if (found != nullptr && found != &all[i]) continue;
    if (context.json) {
      list.push_back(info_json(*survey, shown));
    } else {
      text += (text.empty() ? "" : "\n") + info_text(*survey, shown, all);
    }
  }
  if (!context.json) return text;
  return json_line(found == nullptr ? list : list.front());
}

ExitCode info(const Context& context, const std::string& asked, const Watch& watch) {
  return look_on(context, watch,
                 [&](control::Client& client) { return look(context, client, asked); });
}

}  // namespace

void add_info_verb(CLI::App& app, Context& context) {
  struct Arguments {
    std::string name;
    Watch watch;
  };
  auto arguments = std::make_shared<Arguments>();
  auto* verb = app.add_subcommand("info", "Show all facts about an agent, or about all agents");
  verb->add_option("AGENT", arguments->name, "Name or pid of the agent; all if it is not given")
      ->check(is_agent());
  // In `info --watch worker` the next word is no duration, but the agent.
  add_watch_option(*verb, arguments->watch, [arguments](std::string text) {
    const bool is_free = arguments->name.empty() && is_agent()(text).empty();
    if (is_free) arguments->name = std::move(text);
    return is_free;
  });
  verb->footer(
      "Examples:\n"
      "  beeline info worker\n"
      "  beeline info 7 --json | jq .inbox.queued\n"
      "  beeline info --json | jq -r '.[] | select(.state == \"zombie\") | .name'\n"
      "  beeline info --watch worker\n"
      "The state is idle, running (holds a message), blocked (waits for an answer or for\n"
      "space), sleeping (said so), zombie (no process; its inbox waits for the next attach) or\n"
      "dead; stopped or stuck if its process is. The letter of the process comes from the\n"
      "kernel: T stopped, D waits in the kernel, Z has ended. No segment records when a\n"
      "message was handed out, so the age of a message in hand counts from its send. A dead\n"
      "agent is listed for a minute. Exits with 4 if there is no such agent.");
  verb->callback(
      [&context, arguments] { context.exit = info(context, arguments->name, arguments->watch); });
}

}  // namespace beeline::cli
