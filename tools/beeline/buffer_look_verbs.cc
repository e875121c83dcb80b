// buffer status, ls, tasks, show.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/agent/buffer_json.h"
#include "tools/beeline/buffer_asking.h"
#include "tools/beeline/buffer_verbs.h"
#include "tools/beeline/buffer_view.h"
#include "tools/beeline/output.h"

namespace beeline::cli {
namespace {

constexpr std::uint32_t kMostListedRows = 10'000;

struct BufferLookArguments {
  BufferArguments buffer;
  std::string what;
  std::string status;
  std::int64_t id = 0;
  std::uint32_t most = 1000;
};

ExitCode show_status(const Context& context, const BufferLookArguments& arguments) {
  const auto status = read_buffer(context, arguments.buffer,
                                  {.type = "buffer.status", .check = read_by(read_status)});
  if (!status) return complain(status.error());
  return (context.json ? print_json(*status) : print(buffer_status_text(*status)))
             ? ExitCode::kOk
             : ExitCode::kError;
}

// The rows of messages or of batches.
AnswerCheck has_rows(const std::string& what) {
  return taking("buffer.list", [what](JsonAnswer& from) {
    std::vector<std::int64_t> ids;
    from.read_list(what.c_str(), ids, [](JsonAnswer& row) {
      std::int64_t id = 0;
      row.read("id", id);
      return id;
    });
  });
}

// The list of an answer.
Result<Json> list_rows(const Context& context, const BufferLookArguments& arguments,
                       const std::string& what) {
  BufferCall call{.type = "buffer.list",
                  .request = {{"what", what}, {"most", arguments.most}},
                  .check = what == "tasks" ? read_by(read_tasks) : has_rows(what)};
  if (!arguments.status.empty()) call.request["status"] = arguments.status;
  const auto answer = read_buffer(context, arguments.buffer, call);
  if (!answer) return tl::unexpected(answer.error());
  return answer->at(what);
}

ExitCode list_buffer(const Context& context, const BufferLookArguments& arguments) {
  Json lists = Json::object();
  std::string text;
  for (const char* const what : {"messages", "batches"}) {
    if (!arguments.what.empty() && arguments.what != what) continue;
    const auto rows = list_rows(context, arguments, what);
    if (!rows) return complain(rows.error());
    lists[what] = *rows;
    if (!text.empty()) text += '\n';
    text += std::string(what) == "batches" ? batch_table(*rows) : message_table(*rows);
  }
  return (context.json ? print_json(lists) : print(text)) ? ExitCode::kOk : ExitCode::kError;
}

ExitCode list_buffer_tasks(const Context& context, const BufferLookArguments& arguments) {
  const auto tasks = list_rows(context, arguments, "tasks");
  if (!tasks) return complain(tasks.error());
  return (context.json ? print_json(*tasks) : print(task_table(*tasks))) ? ExitCode::kOk
                                                                         : ExitCode::kError;
}

ExitCode show_row(const Context& context, const BufferLookArguments& arguments) {
  const auto take = [&what = arguments.what](JsonAnswer& from) { take_row(from, what); };
  const auto answer = read_buffer(context, arguments.buffer,
                                  {.type = "buffer.show",
                                   .request = {{arguments.what, arguments.id}},
                                   .check = taking("buffer.show", take)});
  if (!answer) return complain(answer.error());
  const Json& row = answer->at(arguments.what);
  return (context.json ? print_json(row) : print(row_text(row))) ? ExitCode::kOk : ExitCode::kError;
}

void add_most(CLI::App& verb, BufferLookArguments& arguments) {
  verb.add_option("--most", arguments.most, "Most rows of a list")
      ->check(CLI::Range(std::uint32_t{1}, kMostListedRows))
      ->capture_default_str();
}

void add_buffer_status(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferLookArguments>();
  auto* verb = buffer.add_subcommand("status", "Show how full the buffer is");
  add_buffer_source(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer status\n"
      "  beeline buffer status --json | jq .unrouted\n"
      "  beeline buffer status --db buffer.db\n"
      "Shows the messages that are not routed yet, by channel, with the age of the oldest; the\n"
      "batches for the main agent; and the tasks.");
  verb->callback([&context, arguments] { context.exit = show_status(context, *arguments); });
}

void add_buffer_ls(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferLookArguments>();
  auto* verb = buffer.add_subcommand("ls", "List messages and batches that are not done");
  verb->add_option("WHAT", arguments->what, "messages or batches; both if not given")
      ->check(CLI::IsMember(std::vector<std::string>{"messages", "batches"}));
  add_most(*verb, *arguments);
  add_buffer_source(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer ls\n"
      "  beeline buffer ls batches --json | jq '.batches[].id'\n"
      "Messages are those that the router has not sorted yet. Batches are those of the main "
      "agent,\n"
      "in the order in which they are handed out.");
  verb->callback([&context, arguments] { context.exit = list_buffer(context, *arguments); });
}

void add_buffer_tasks(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferLookArguments>();
  auto* verb = buffer.add_subcommand("tasks", "List the batches for which agents are spawned");
  verb->add_option("--status", arguments->status, "Only those of this status")
      ->check(CLI::IsMember(
          std::vector<std::string>{"waiting", "starting", "running", "completed", "failed"}));
  add_most(*verb, *arguments);
  add_buffer_source(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer tasks\n"
      "  beeline buffer tasks --status failed --json | jq -r '.[].result'\n"
      "The newest first. A task ends as completed or failed, with the output of its agent or the\n"
      "reason; the main agent is not told of it. `beeline buffer show task ID` has everything.");
  verb->callback([&context, arguments] { context.exit = list_buffer_tasks(context, *arguments); });
}

void add_buffer_show(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferLookArguments>();
  auto* verb = buffer.add_subcommand("show", "Show a message, a batch or a task whole");
  verb->add_option("WHAT", arguments->what, "message, batch or task")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"message", "batch", "task"}));
  verb->add_option("ID", arguments->id, "Its number")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  add_buffer_source(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer show task 7\n"
      "  beeline buffer show batch 12 --json | jq -r '.messages[].payload'\n"
      "Exits with 4 if there is no such row.");
  verb->callback([&context, arguments] { context.exit = show_row(context, *arguments); });
}

}  // namespace

void add_buffer_look_verbs(CLI::App& buffer, Context& context) {
  add_buffer_status(buffer, context);
  add_buffer_ls(buffer, context);
  add_buffer_tasks(buffer, context);
  add_buffer_show(buffer, context);
}

}  // namespace beeline::cli
