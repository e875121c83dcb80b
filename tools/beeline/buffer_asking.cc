#include "tools/beeline/buffer_asking.h"

#include <cstdint>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "src/buffer/service/answer.h"
#include "src/buffer/service/request.h"
#include "src/buffer/service/view.h"
#include "tools/beeline/process_verbs.h"
#include "tools/beeline/session.h"

namespace beeline::cli {
namespace {

std::string request_text(const Json& request) {
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> checked_answer(const BufferCall& call, std::string_view text) {
  if (auto good = call.check(text); !good) return tl::unexpected(std::move(good.error()));
  return Json::parse(text, nullptr, false);
}

// The answer of a buffer that read the database of --db.
Result<std::string> answer_from(buffer::Queries& queries, const std::string& path,
                                const buffer::BufferRequest& request) {
  if (const auto* const list = std::get_if<buffer::ListRequest>(&request)) {
    return buffer::list_text(queries, *list);
  }
  if (const auto* const show = std::get_if<buffer::ShowRequest>(&request)) {
    return buffer::show_text(queries, *show);
  }
  return buffer::status_text(queries, {.database = path});
}

tl::unexpected<Error> not_asked(const Error& error, const std::string& name) {
  if (error.code != ErrorCode::kNoAgent) return tl::unexpected(error);
  return fail(ErrorCode::kNoAgent,
              fmt::format("{}; `beeline buffer run --name {}` starts it", error.text, name));
}

void take_messages(JsonAnswer& row) {
  std::vector<std::string> payloads;
  row.read_list("messages", payloads, [](JsonAnswer& message) {
    std::string payload;
    message.read("payload", payload);
    return payload;
  });
}

void take_history(JsonAnswer& row) {
  std::vector<std::string> states;
  row.read_list("history", states, [](JsonAnswer& step) {
    std::string status;
    step.read("status", status);
    return status;
  });
}

}  // namespace

CLI::Option* add_buffer_name(CLI::App& verb, BufferArguments& arguments) {
  return verb.add_option("--name", arguments.name, "Name of the agent that keeps the buffer")
      ->check(is_agent())
      ->capture_default_str();
}

void add_buffer_source(CLI::App& verb, BufferArguments& arguments) {
  auto* const name = add_buffer_name(verb, arguments);
  verb.add_option("--db", arguments.db, "Read this file, and ask no buffer")->excludes(name);
}

void take_row(JsonAnswer& from, const std::string& key) {
  if (!from.has(key.c_str())) {
    return from.adopt(fmt::format("\"{}\" must be an object, it is nothing", key));
  }
  JsonAnswer row = from.inner(key.c_str());
  std::int64_t id = 0;
  row.read("id", id);
  if (row.has("messages")) take_messages(row);
  if (row.has("history")) take_history(row);
  from.adopt(row.error());
}

Result<Json> ask_buffer(const Context& context, const BufferArguments& arguments,
                        const BufferCall& call) {
  auto agent = attach_asker(context);
  if (!agent) return tl::unexpected(std::move(agent.error()));
  SendOptions options;
  options.type = call.type;
  options.cancel_on_timeout = true;
  const Deadline deadline = after(context.timeout.value_or(kRequestPatience) + call.patience);
  const auto answer = agent->request(arguments.name, request_text(call.request), deadline, options);
  if (!answer) return not_asked(answer.error(), arguments.name);
  return checked_answer(call, std::string(answer->text()));
}

Result<Json> read_buffer(const Context& context, const BufferArguments& arguments,
                         const BufferCall& call) {
  if (arguments.db.empty()) return ask_buffer(context, arguments, call);
  const auto parsed = buffer::parse_request(call.type, request_text(call.request));
  if (!parsed) return tl::unexpected(parsed.error());
  const auto view = buffer::View::open(arguments.db);
  if (!view) return tl::unexpected(view.error());
  const auto text = answer_from((*view)->queries(), arguments.db, *parsed);
  if (!text) return tl::unexpected(text.error());
  auto answer = checked_answer(call, *text);
  if (!answer) return answer;
  for (const char* const of_a_life : {"commits", "threshold"}) answer->erase(of_a_life);
  return answer;
}

Result<BufferReceipt> put_entry(const Context& context, const std::string& name,
                                const BufferEntry& entry) {
  auto agent = attach_sender(context, {}, {"", "agent"});
  if (!agent) return tl::unexpected(std::move(agent.error()));
  const Deadline deadline = after(context.timeout.value_or(kRequestPatience));
  const auto there = agent->wait_for(name, deadline);
  if (!there) return not_asked(there.error(), name);
  auto receipt = Buffer(*agent, name).put(entry, deadline);
  if (!receipt) return not_asked(receipt.error(), name);
  return receipt;
}

}  // namespace beeline::cli
