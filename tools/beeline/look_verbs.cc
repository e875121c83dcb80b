// tree, route, inbox.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shm/identity.h"
#include "src/control/agent_info.h"
#include "src/look/inbox.h"
#include "tools/beeline/inbox_view.h"
#include "tools/beeline/output.h"
#include "tools/beeline/survey.h"
#include "tools/beeline/tree_view.h"
#include "tools/beeline/verbs.h"
#include "tools/beeline/watch.h"

namespace beeline::cli {
namespace {

// The tree shows a single look: its figures need not add up.
constexpr Patience kOneLook{1, std::chrono::milliseconds(200)};

ExitCode tree(const Context& context, const Watch& watch) {
  return look_on(context, watch, [&context](control::Client& client) -> Result<std::string> {
    const auto survey = Survey::take(client, context.hive, kOneLook);
    if (!survey) return tl::unexpected(survey.error());
    return context.json ? json_line(tree_json(*survey)) : draw_tree(*survey);
  });
}

// "PID 6" becomes "PID 6 "worker"": the number is a pid of the hive, not an OS pid.
std::string with_names(const std::string& text, const std::vector<AgentInfo>& all) {
  std::string named;
  constexpr std::string_view kWord = "PID ";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find(kWord, at), text.size());
    named += text.substr(at, next - at);
    const std::size_t digits = std::min(next + kWord.size(), text.size());
    const std::size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
    const std::string number = text.substr(digits, end - digits);
    const auto agent = std::find_if(all.begin(), all.end(), [&number](const AgentInfo& each) {
      return std::to_string(each.pid) == number;
    });
    named += agent == all.end() ? text.substr(next, end - next)
                                : fmt::format("PID {} \"{}\"", number, agent->name);
    at = end;
  }
  return named;
}

ExitCode route(const Context& context, const std::string& from, const std::string& to) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto answer = client->route(from, to);
  if (!answer) return complain(answer.error());
  if (context.json) {
    print_json({{"allowed", answer->allowed},
                {"rule", answer->rule},
                {"text", answer->text},
                {"from", answer->from},
                {"to", answer->to},
                {"via", answer->via != 0 ? Json(answer->via) : Json(nullptr)}});
  } else {
    const auto listed = client->list_all();
    const auto all = listed ? control::infos_of(*listed) : std::vector<AgentInfo>();
    print(fmt::format("{}: {} ({})\n", answer->allowed ? "allowed" : "denied", answer->rule,
                      with_names(answer->text, all)));
  }
  if (answer->allowed) return ExitCode::kOk;
  // The exit code is that of a send.
  constexpr std::array<std::string_view, 5> kNobody = {"no_target", "no_sender", "no_agent",
                                                       "dead_sender", "dead"};
  const bool nobody = std::find(kNobody.begin(), kNobody.end(), answer->rule) != kNobody.end();
  return nobody ? ExitCode::kNoAgent : ExitCode::kDenied;
}

std::string inbox_text(const std::vector<InboxLine>& lines) {
  Table table({"place", "id", "from", ">rank", "type", ">attempts", ">age", ">bytes", "body"});
  for (const InboxLine& line : lines) {
    table.add({line.place + (line.reason.empty() ? "" : ": " + line.reason), id_text(line.id),
               line.from, fmt::format("{}", line.rank), line.type, fmt::format("{}", line.attempts),
               fmt::format("{:.1f} s", static_cast<double>(line.age_ms) / 1e3),
               fmt::format("{}", line.bytes), line.preview});
  }
  return table.text();
}

Json inbox_json(const std::vector<InboxLine>& lines) {
  Json list = Json::array();
  for (const InboxLine& line : lines) {
    list.push_back({{"place", line.place},
                    {"id", id_text(line.id)},
                    {"from", shm::pid_of_message(line.id)},
                    {"from_name", line.from},
                    {"type", line.type},
                    {"channel", line.channel},
                    {"rank", line.rank},
                    {"attempts", line.attempts},
                    {"age_ms", line.age_ms},
                    {"bytes", line.bytes},
                    {"reply_to", line.reply_to != 0 ? Json(id_text(line.reply_to)) : Json(nullptr)},
                    {"reason", line.reason.empty() ? Json(nullptr) : Json(line.reason)},
                    {"preview", line.preview}});
  }
  return list;
}

ExitCode inbox(const Context& context, const std::string& name) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  const auto pid = find_agent(*client, name);
  if (!pid) return complain(pid.error());
  const auto inbox = look::read_inbox(*client, context.hive, *pid);
  if (!inbox) return complain(inbox.error());
  const std::vector<InboxLine> lines = lines_of(*inbox);
  if (context.json) {
    print_json(inbox_json(lines));
  } else {
    print(inbox_text(lines));
  }
  if (inbox->damaged_links != 0 && !context.json) {
    remark(fmt::format(
        "{} damaged: what lies in their lanes is not listed, see `shm-dump --verify`",
        inbox->damaged_links == 1 ? "1 link to it is"
                                  : fmt::format("{} links to it are", inbox->damaged_links)));
  }
  return ExitCode::kOk;
}

}  // namespace

Result<control::Pid> find_agent(control::Client& client, const std::string& name) {
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  const std::vector<AgentInfo> all = control::infos_of(*agents);
  const AgentInfo* found = control::find_agent(all, name, ::geteuid());
  if (found != nullptr && found->state != State::kDead) return found->pid;
  return tl::unexpected(control::nobody_named(name, client.hive(), client.directory()));
}

void add_look_verbs(CLI::App& app, Context& context) {
  auto* tree_verb = app.add_subcommand("tree", "Show the tree of agents");
  tree_verb->footer(
      "Examples:\n"
      "  beeline tree\n"
      "  beeline tree --watch\n"
      "  beeline tree --json | jq '.[0].children[].name'\n"
      "States: idle, running, blocked, sleeping, and zombie: it has no process, its inbox waits\n"
      "for the next attach under its name. Instead of these: stopped (its process was stopped by\n"
      "a signal or a debugger) and stuck (it waits in the kernel, or has ended and nobody saw "
      "it).\n"
      "Waiting: messages that nobody was handed yet. In hand: handed out and not finished. Beside\n"
      "each of the two stands how long ago the oldest of them was sent. Memory: of the inbox and\n"
      "of the links that the agent owns. Restarts: lives before this one. Up: age of this life.\n"
      "unreadable, ?: it cannot be read from here; the last lines say why.\n"
      "With --watch it ends with 0 at Ctrl-C and with 3 when the hive goes down; with --json each\n"
      "look is one line. `beeline info` tells more.");
  auto watch = std::make_shared<Watch>();
  add_watch_option(*tree_verb, *watch);
  tree_verb->callback([&context, watch] { context.exit = tree(context, *watch); });

  struct RouteArguments {
    std::string from;
    std::string to;
  };
  auto arguments = std::make_shared<RouteArguments>();
  auto* route_verb = app.add_subcommand("route", "May A send to B, and which rule says so");
  route_verb->add_option("A", arguments->from, "Name or pid of the sender")
      ->required()
      ->check(is_agent());
  route_verb->add_option("B", arguments->to, "Name or pid of the receiver")
      ->required()
      ->check(is_agent());
  route_verb->footer(
      "Examples:\n"
      "  beeline route queen worker-1\n"
      "  beeline route 7 1\n"
      "Exits with 0 if it is allowed, with 7 if it is denied, with 4 if there is no such "
      "agent, or it\nhas ended for good.");
  route_verb->callback(
      [&context, arguments] { context.exit = route(context, arguments->from, arguments->to); });

  auto name = std::make_shared<std::string>();
  auto* inbox_verb = app.add_subcommand("inbox", "List the messages of an agent; takes none");
  inbox_verb->add_option("NAME", *name, "Name or pid of the agent")->required()->check(is_agent());
  inbox_verb->footer(
      "Examples:\n"
      "  beeline inbox worker\n"
      "  beeline inbox worker --json | jq 'map(select(.place == \"dead\"))'\n"
      "First, in delivery order, messages that wait in the inbox (queued) or in a lane (lane).\n"
      "Then messages that lie aside: answers to a request that waits (awaited) or to none\n"
      "(stashed), orders to cancel a message that has not come (order), copies that the agent\n"
      "drops at its next look (unwanted). Then messages in hand (leased), then dead letters\n"
      "with the reason. Works for an agent that is away, too. Exits with 4 if there is no such\n"
      "agent, with 7 if its inbox cannot be read from here.");
  inbox_verb->callback([&context, name] { context.exit = inbox(context, *name); });
}

}  // namespace beeline::cli
