// buffer put, next, ack, prune.

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/agent/buffer_json.h"
#include "tools/beeline/buffer_asking.h"
#include "tools/beeline/buffer_verbs.h"
#include "tools/beeline/buffer_view.h"
#include "tools/beeline/output.h"

namespace beeline::cli {
namespace {

struct BufferPutArguments {
  BufferArguments buffer;
  std::string channel;
  std::string sender;
  std::string conversation;
  std::optional<std::int32_t> priority;
  std::string key;
  std::string text;
};

struct BatchArguments {
  BufferArguments buffer;
  std::int64_t id = 0;
  bool gives_back = false;
};

struct BufferPruneArguments {
  BufferArguments buffer;
  std::optional<std::uint32_t> days;
};

ExitCode put_message(const Context& context, const BufferPutArguments& arguments) {
  auto text = read_body(arguments.text);
  if (!text) return complain(text.error());
  if (const auto good = check_text(*text); !good) return complain(good.error());
  const BufferEntry entry{.channel = arguments.channel,
                          .sender = arguments.sender,
                          .conversation = arguments.conversation,
                          .payload = std::move(*text),
                          .priority = arguments.priority,
                          .key = arguments.key};
  const auto receipt = put_entry(context, arguments.buffer.name, entry);
  if (!receipt) return complain(receipt.error());
  const bool printed = context.json
                           ? print_json({{"id", receipt->id}, {"repeated", receipt->repeated}})
                           : print(fmt::format("{}\n", receipt->id));
  return printed ? ExitCode::kOk : ExitCode::kError;
}

// Null is no batch.
Result<void> check_taken(std::string_view answer) {
  const Json json = Json::parse(answer, nullptr, false);
  if (json.is_object() && json.contains("batch") && json["batch"].is_null()) return {};
  const auto take = [](JsonAnswer& from) {
    take_row(from, "batch");
    if (!from.error().empty()) return;
    JsonAnswer batch = from.inner("batch");
    bool is_redelivered = false;
    batch.read("redelivered", is_redelivered);
    from.adopt(batch.error());
  };
  return taking("buffer.take", take)(answer);
}

ExitCode next_batch(const Context& context, const BufferArguments& arguments) {
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(
      context.timeout.value_or(std::chrono::seconds(0)));
  const auto answer = ask_buffer(context, arguments,
                                 {.type = "buffer.take",
                                  .request = {{"timeout_ms", timeout.count()}},
                                  .check = check_taken,
                                  .patience = kRequestPatience});
  if (!answer) return complain(answer.error());
  const Json& batch = answer->at("batch");
  if (batch.is_null()) {
    return complain(ExitCode::kTimeout,
                    fmt::format("no batch came within {} ms; wait longer with --timeout, and see "
                                "`beeline buffer status`",
                                timeout.count()));
  }
  return (context.json ? print_json(batch) : print(batch_text(batch))) ? ExitCode::kOk
                                                                       : ExitCode::kError;
}

ExitCode end_batch(const Context& context, const BatchArguments& arguments) {
  BufferCall call{.type = "buffer.ack",
                  .request = {{"batch", arguments.id}},
                  .check = read_by(read_acknowledged)};
  if (arguments.gives_back) {
    call.type = "buffer.give_back";
    call.check = taking(call.type, [](JsonAnswer&) {});  // an answer without an error is enough
  }
  const auto answer = ask_buffer(context, arguments.buffer, call);
  if (!answer) return complain(answer.error());
  if (context.json) return print_json(*answer) ? ExitCode::kOk : ExitCode::kError;
  if (!arguments.gives_back && !answer->at("was_open").get<bool>()) {
    remark(fmt::format("batch {} had ended before", arguments.id));
  }
  return ExitCode::kOk;
}

ExitCode prune_buffer(const Context& context, const BufferPruneArguments& arguments) {
  BufferCall call{.type = "buffer.prune", .check = taking("buffer.prune", [](JsonAnswer& from) {
                                            for (const char* const key : {"messages", "batches"}) {
                                              std::uint64_t removed = 0;
                                              from.read(key, removed);
                                            }
                                          })};
  if (arguments.days) call.request["days"] = *arguments.days;
  const auto answer = ask_buffer(context, arguments.buffer, call);
  if (!answer) return complain(answer.error());
  const bool printed = context.json
                           ? print_json(*answer)
                           : print(fmt::format("removed {} messages and {} batches\n",
                                               answer->at("messages").get<std::uint64_t>(),
                                               answer->at("batches").get<std::uint64_t>()));
  return printed ? ExitCode::kOk : ExitCode::kError;
}

void add_buffer_put(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferPutArguments>();
  auto* verb = buffer.add_subcommand("put", "Write a message to the disk and print its number");
  verb->add_option("TEXT", arguments->text, "The text itself, - for stdin, @FILE for a file")
      ->required();
  verb->add_option("--channel", arguments->channel, "Where it comes from, for example telegram")
      ->required();
  verb->add_option("--sender", arguments->sender,
                   "Its author; the name of this command if not given");
  verb->add_option("--conversation", arguments->conversation,
                   "Messages of one conversation and channel are one batch");
  verb->add_option("--priority", arguments->priority,
                   "Lower goes first; that of the route or the channel if not given, else 100");
  verb->add_option("--key", arguments->key,
                   "A second put of the channel with this key writes nothing");
  add_buffer_name(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer put --channel telegram --sender ann --conversation c1 --priority 10 hello\n"
      "  curl -s $URL | beeline buffer put --channel github --key \"$DELIVERY\" -\n"
      "The message is on the disk when this exits with 0, even after a kill -9 or a power loss.\n"
      "After any other end it may be: put it again with the same --key, which writes it once.\n"
      "Starts the hive if there is none. Waits up to 60 s, or --timeout, for a buffer that is "
      "about\n"
      "to start. Exits with 6 if the disk is full: nothing was written.");
  verb->callback([&context, arguments] { context.exit = put_message(context, *arguments); });
}

void add_buffer_next(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferArguments>();
  auto* verb = buffer.add_subcommand("next", "Take the best batch and print it");
  add_buffer_name(*verb, *arguments);
  verb->footer(
      "Examples:\n"
      "  beeline buffer next --timeout 10m --json | jq -r '.messages[].payload'\n"
      "  beeline buffer ack 7\n"
      "The best batch has the lowest priority, then the oldest message. It is handed out until\n"
      "`buffer ack` ends it, or until `buffer ack --give-back` or a restart of the buffer puts it\n"
      "back: then it comes again, flagged as redelivered. Without --timeout this does not wait.\n"
      "Exits with 5 if no batch came.");
  verb->callback([&context, arguments] { context.exit = next_batch(context, *arguments); });
}

void add_buffer_ack(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BatchArguments>();
  auto* verb = buffer.add_subcommand("ack", "End a batch that was handed out");
  verb->add_option("ID", arguments->id, "Number of the batch")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  verb->add_flag("--give-back", arguments->gives_back, "Put it back to its place instead");
  add_buffer_name(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer ack 7\n"
      "  beeline buffer ack 7 --give-back\n"
      "Any process may end a batch. To end it a second time is no error.");
  verb->callback([&context, arguments] { context.exit = end_batch(context, *arguments); });
}

void add_buffer_prune(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferPruneArguments>();
  auto* verb = buffer.add_subcommand("prune", "Remove what is done and old");
  verb->add_option("--days", arguments->days,
                   "Older than so many days; buffer.retentionDays of the configuration (7) if not "
                   "given");
  add_buffer_name(*verb, arguments->buffer);
  verb->footer(
      "Examples:\n"
      "  beeline buffer prune\n"
      "  beeline buffer prune --days 0\n"
      "The buffer does so at its start and each day. A message that is not routed, or is in a\n"
      "batch or a task that has not ended, is never removed.");
  verb->callback([&context, arguments] { context.exit = prune_buffer(context, *arguments); });
}

}  // namespace

void add_buffer_work_verbs(CLI::App& buffer, Context& context) {
  add_buffer_put(buffer, context);
  add_buffer_next(buffer, context);
  add_buffer_ack(buffer, context);
  add_buffer_prune(buffer, context);
}

}  // namespace beeline::cli
