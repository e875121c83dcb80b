#pragma once

// Questions of a command to the agent that keeps a buffer, or to its database.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <beeline/buffer.h>
#include <beeline/result.h>

#include "src/agent/json_answer.h"
#include "tools/beeline/options.h"
#include "tools/beeline/output.h"

namespace beeline::cli {

struct BufferArguments {
  std::string name = "buffer";  // of the agent
  std::string db;               // a file to read without a buffer; empty: ask the agent
};

CLI::Option* add_buffer_name(CLI::App& verb, BufferArguments& arguments);
// Adds --name and --db, of which one may be given.
void add_buffer_source(CLI::App& verb, BufferArguments& arguments);

// Errors: the one that the buffer answered; kProtocol (the answer lacks a value that the verb
// shows: another program may have the name).
using AnswerCheck = std::function<Result<void>(std::string_view answer)>;

// The check of an answer that the library reads as well.
template <typename Read>
AnswerCheck read_by(Read read) {
  return [read](std::string_view answer) -> Result<void> {
    const auto found = read(answer);
    if (!found) return tl::unexpected(found.error());
    return {};
  };
}
// Takes the values that the verb shows out of the answer.
template <typename Take>
AnswerCheck taking(std::string_view type, Take take) {
  return read_by([type, take](std::string_view answer) {
    return read_answer({"the buffer", type}, answer, [&take](JsonAnswer& from) {
      take(from);
      return true;
    });
  });
}
// The row of an answer that has `key`, with its messages and its history if it has them.
void take_row(JsonAnswer& from, const std::string& key);

struct BufferCall {
  std::string_view type{};
  Json request = Json::object();
  AnswerCheck check{};
  std::chrono::nanoseconds patience{};  // beyond --timeout
};

// Sends a request as a temporary agent and returns the answer. It starts no hive. Errors: those of
// the check, those of Agent::request().
[[nodiscard]] Result<Json> ask_buffer(const Context& context, const BufferArguments& arguments,
                                      const BufferCall& call);

// The same for a request that only reads: from the file of --db where that is given.
[[nodiscard]] Result<Json> read_buffer(const Context& context, const BufferArguments& arguments,
                                       const BufferCall& call);

// Starts the hive if there is none, and waits for a buffer that is about to attach. Errors: those
// of Buffer::put().
[[nodiscard]] Result<BufferReceipt> put_entry(const Context& context, const std::string& name,
                                              const BufferEntry& entry);

}  // namespace beeline::cli
