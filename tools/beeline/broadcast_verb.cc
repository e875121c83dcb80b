// bcast: one message for all agents, or for the children, the subtree or a role.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "tools/beeline/message_json.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

struct BroadcastArguments {
  std::string body;
  SenderArguments sender;
  std::string role;
  bool children = false;
  bool subtree = false;
  MessageArguments message;

  [[nodiscard]] Group group() const {
    if (children) return Group::children();
    if (subtree) return Group::subtree();
    return role.empty() ? Group::all() : Group::role(role);
  }
};

bool print_deliveries(const Context& context, const std::vector<Delivery>& deliveries) {
  if (!context.json) {
    if (deliveries.empty()) return print("nobody is in that group\n");
    Table table({">PID", "NAME", "RESULT"});
    for (const Delivery& to : deliveries) {
      table.add({fmt::format("{}", to.pid), to.name, std::string(to_string(to.result.status))});
    }
    return print(table.text());
  }
  return print_json(deliveries_json(deliveries));
}

ExitCode broadcast(const Context& context, const BroadcastArguments& arguments) {
  const auto options = arguments.message.options();
  if (!options) return complain(options.error());
  const auto body = read_body(arguments.body);
  if (!body) return complain(body.error());
  auto agent = attach_sender(context, arguments.sender, {"", "agent"});
  if (!agent) return complain(agent.error());
  const LastWords last_words(*agent, arguments.sender.as);
  const std::vector<Delivery> deliveries = agent->broadcast(arguments.group(), *body, *options);
  if (!print_deliveries(context, deliveries)) return ExitCode::kError;
  const auto failed = std::find_if(deliveries.begin(), deliveries.end(),
                                   [](const Delivery& to) { return !to.result; });
  if (failed == deliveries.end()) return ExitCode::kOk;
  return complain(failed->result, failed->name);
}

}  // namespace

void add_broadcast_verb(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<BroadcastArguments>();
  auto* verb =
      app.add_subcommand("bcast", "Send a message to many agents and print the outcome for each");
  verb->add_option("BODY", arguments->body, "The text itself, - for stdin, @FILE for a file")
      ->required();
  auto* group = verb->add_option_group("group", "The receivers; all agents if not given");
  group->add_flag("--children", arguments->children, "The children of the sender, see --as");
  group->add_flag("--subtree", arguments->subtree, "Its children, their children, and so on");
  group->add_option("--role", arguments->role, "All agents of this role")->check(is_agent_role());
  group->require_option(0, 1);
  add_sender_options(*verb, arguments->sender);
  add_message_options(*verb, arguments->message);
  verb->footer(
      "Examples:\n"
      "  beeline bcast \"wrap up\"\n"
      "  beeline bcast --role worker - < orders.txt\n"
      "  beeline bcast --subtree --as lead-1 @plan.json --json\n"
      "All get the same message id. It never waits: an agent without room gets nothing and is\n"
      "listed as full. A body of more than 64 KiB is cut to 64 KiB. Exits with 0 if all agents\n"
      "got it. Otherwise the first agent that did not decides: 4 if it has ended, 6 if it is\n"
      "full, 7 if a rule denies it.");
  verb->callback([&context, arguments] { context.exit = broadcast(context, *arguments); });
}

}  // namespace beeline::cli
