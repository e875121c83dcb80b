#pragma once

// The options that all verbs share, and the conversion of their texts into values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <beeline/result.h>
#include <beeline/types.h>

#include "src/os/fd.h"
#include "tools/beeline/exit_codes.h"

namespace beeline::cli {

// The global options, and the outcome of the verb that ran.
struct Context {
  std::string hive;
  bool json = false;
  bool no_start = false;
  std::optional<std::chrono::nanoseconds> timeout;
  ExitCode exit = ExitCode::kOk;
};

// How a verb becomes an agent.
struct AttachArguments {
  std::string parent;
  std::string role = "worker";
};

// The agent that a verb acts as when it sends.
struct SenderArguments {
  std::string as;     // empty: a temporary agent without a name of its own
  bool keep = false;  // the name stays after the command, with the messages that come for it
};

// The fields of a message beside its body.
struct MessageArguments {
  std::string rank = "normal";
  std::string type;
  std::string channel;
  std::string ttl;

  // The views refer to this object. Errors: kInvalid (a rank or a duration).
  [[nodiscard]] Result<SendOptions> options() const;
};

// Checks an argument that names an agent or gives its pid. It must be UTF-8 and not empty: an
// unset shell variable would be empty.
[[nodiscard]] CLI::Validator is_agent();
// Checks an option that names a role.
[[nodiscard]] CLI::Validator is_agent_role();
// Checks that an option is the id of a message, as this program prints it.
[[nodiscard]] CLI::Validator is_message_id();
// Checks that a type or a channel fits into a message. The argument is its name in errors.
[[nodiscard]] CLI::Validator is_label(const char* what);
void add_attach_options(CLI::App& verb, AttachArguments& arguments);
void add_sender_options(CLI::App& verb, SenderArguments& arguments);
void add_message_options(CLI::App& verb, MessageArguments& arguments);

// "500ms", "2s", "1m", "1h", "20us"; a bare number is seconds. Errors: kInvalid.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// The ranks that have a word.
[[nodiscard]] std::vector<std::string_view> rank_words();
// One of these words, or any int32. Errors: kInvalid.
[[nodiscard]] Result<std::int32_t> parse_rank(std::string_view text);

// The file of a body. Errors: kSystem.
[[nodiscard]] Result<os::UniqueFd> open_body(const std::string& path);

// The body that an argument names: the text itself, "-" for stdin, "@file" for a file. Errors:
// kSystem.
[[nodiscard]] Result<std::string> read_body(const std::string& argument);

}  // namespace beeline::cli
