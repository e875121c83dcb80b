// buffer run: the agent that keeps a buffer.

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/config.h"
#include "src/buffer/service/service.h"
#include "tools/beeline/buffer_verbs.h"
#include "tools/beeline/output.h"
#include "tools/beeline/receive_arguments.h"
#include "tools/beeline/session.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

constexpr const char* kBufferConfig = "koshi.yaml";
constexpr const char* kBufferSecrets = "secrets.yaml";

struct BufferRunArguments {
  std::string db = "buffer.db";
  std::string config;  // empty: koshi.yaml of this directory, if it is there
  std::string name = "buffer";
};

std::optional<std::string> variable_for_config(const std::string& name) {
  const char* const value = ::secure_getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

Result<buffer::Config> load_buffer_config(std::string path) {
  std::error_code ignored;
  if (path.empty() && !std::filesystem::exists(kBufferConfig, ignored)) return buffer::Config();
  if (path.empty()) path = kBufferConfig;
  const auto text = read_body('@' + path);
  if (!text) return tl::unexpected(text.error());
  const std::string secrets = std::filesystem::path(path).replace_filename(kBufferSecrets).string();
  Result<std::string> secrets_text;
  const bool has_secrets = std::filesystem::exists(secrets, ignored);
  if (has_secrets) secrets_text = read_body('@' + secrets);
  if (!secrets_text) return tl::unexpected(secrets_text.error());
  buffer::ConfigSource source;
  source.text = *text;
  source.name = path;
  if (has_secrets) source.secrets_text = *secrets_text;
  source.secrets_name = secrets;
  source.lookup = variable_for_config;
  auto config = buffer::read_config(source);
  if (!config) return config;
  for (const std::string& warning : config->warnings) remark(warning);
  return config;
}

ExitCode run_buffer(const Context& context, const BufferRunArguments& arguments) {
  auto signals = stop_signals();
  if (!signals) return complain(signals.error());
  auto config = load_buffer_config(arguments.config);
  if (!config) return complain(config.error());
  auto store = buffer::Store::open(arguments.db, std::move(*config));
  if (!store) return complain(store.error());
  AttachOptions options = buffer::buffer_attach_options();
  const AttachOptions shared = attach_options(context);
  options.hive = shared.hive;
  options.start_coordinator = shared.start_coordinator;
  options.control_timeout = shared.control_timeout;
  options.name = arguments.name;
  auto agent = attach(context, options);
  if (!agent) return complain(agent.error());
  auto service = buffer::Service::start(std::move(*agent), std::move(*store), signals->fd());
  if (!service) return complain(service.error());
  const auto end = (*service)->run();
  return end == buffer::Service::End::kStopped
             ? ExitCode::kOk
             : complain(ExitCode::kNoCoordinator, went_down(context.hive));
}

}  // namespace

void add_buffer_run_verb(CLI::App& buffer, Context& context) {
  auto arguments = std::make_shared<BufferRunArguments>();
  auto* verb = buffer.add_subcommand("run", "Be the agent that keeps the messages");
  verb->add_option("--db", arguments->db, "The SQLite file; it is made if it is not there")
      ->capture_default_str();
  verb->add_option("--config", arguments->config,
                   "Routes and limits; koshi.yaml of this directory, if it is there");
  verb->add_option("--name", arguments->name, "Name of the agent")
      ->check(is_agent())
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  beeline buffer run &\n"
      "  beeline buffer run --db /var/lib/koshi/buffer.db --config /etc/koshi/koshi.yaml\n"
      "Every message for NAME is written to the disk, and then acknowledged if its sender wants\n"
      "that. Ends after a signal, when everything that it took is on the disk. After a kill -9 "
      "the\n"
      "next `buffer run` goes on; nothing is lost, and no message is written twice. One process\n"
      "keeps a file. Its log is stderr. ${NAME} and ${secrets.a.b} in the configuration are\n"
      "replaced; secrets.yaml is beside it. Exits with 2 if the configuration has mistakes, with "
      "3\n"
      "if another buffer has the name or the file.");
  verb->callback([&context, arguments] { context.exit = run_buffer(context, *arguments); });
}

}  // namespace beeline::cli
