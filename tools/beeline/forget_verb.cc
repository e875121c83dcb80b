// forget: removes agents that will not come back.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

struct ForgetArguments {
  std::vector<std::string> names;
  bool purge = false;
};

ExitCode forget(const Context& context, const ForgetArguments& arguments) {
  auto client = connect_to_look(context);
  if (!client) return complain(client.error());
  ExitCode exit = ExitCode::kOk;
  Json json = Json::array();
  for (const std::string& name : arguments.names) {
    const auto messages = client->forget(name, arguments.purge);
    if (!messages) {
      exit = complain(messages.error());
      if (client->closed()) break;
      continue;
    }
    const std::uint64_t kept = arguments.purge ? 0 : *messages;
    if (context.json) {
      json.push_back({{"name", name}, {"dead_letters", kept}, {"purged", *messages - kept}});
    } else if (arguments.purge) {
      print(fmt::format("{} is forgotten, with {} messages\n", name, *messages));
    } else {
      print(fmt::format("{} is forgotten, {} messages are dead letters\n", name, kept));
    }
  }
  if (context.json) print_json(json);
  return exit;
}

}  // namespace

void add_forget_verb(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("forget", "Let agents go that are away for good");
  auto arguments = std::make_shared<ForgetArguments>();
  verb->add_option("names", arguments->names, "Agents, by name or pid")
      ->required()
      ->check(is_agent());
  verb->add_flag("--purge", arguments->purge, "Let the messages go, too, that wait for them");
  verb->footer(
      "Examples:\n"
      "  beeline forget old-worker\n"
      "  beeline forget job-1 job-2 job-3 --purge\n"
      "Makes room: an agent that is away keeps its name, its messages and a place of the hive.\n"
      "What waits for it becomes dead letters of the coordinator (`beeline dlq ls`), and senders\n"
      "find that it is dead. The next agent of that name is a new one. One that has a process is\n"
      "refused: end it first. For the user of the agent, the user of the hive and root.");
  verb->callback([&context, arguments] { context.exit = forget(context, *arguments); });
}

}  // namespace beeline::cli
