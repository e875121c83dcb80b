#include "src/buffer/config.h"

#include <utility>

#include <fmt/format.h>

#include "src/buffer/secrets.h"
#include "src/yaml/fields.h"
#include "src/yaml/mistakes.h"
#include "src/yaml/reader.h"

namespace beeline::buffer {
namespace {

using yaml::Mistakes;
using yaml::YamlFields;
using yaml::YamlNode;

constexpr std::uint64_t kMostDays = 36'500;
constexpr std::uint64_t kMostWindowMs = 3'600'000;
constexpr std::uint64_t kMostThreshold = 1'000'000'000'000;
constexpr std::uint64_t kMostBatchMessages = 10'000;
constexpr std::uint64_t kMostBatchBytes = 32 << 20;
constexpr std::uint64_t kMostTasks = 1000;

bool is_given(const YamlNode* node) {
  return node != nullptr && node->kind != YamlNode::Kind::kNull;
}

template <typename Number>
void read_number(YamlFields& fields, std::string_view key, yaml::YamlRange range,
                 Mistakes& mistakes, Number& to) {
  const YamlNode* at = fields.take(key);
  if (!is_given(at)) return;
  if (const auto value = yaml_number(*at, key, range, mistakes)) to = static_cast<Number>(*value);
}

void read_buffer(const YamlNode& node, Mistakes& mistakes, Config& config) {
  YamlFields fields(node, "buffer", mistakes);
  read_number(fields, "retentionDays", {0, kMostDays}, mistakes, config.retention_days);
  std::uint64_t window_ms = static_cast<std::uint64_t>(kDefaultBatchWindow.count());
  read_number(fields, "batchWindowMs", {1, kMostWindowMs}, mistakes, window_ms);
  config.batch_window = std::chrono::milliseconds(window_ms);
  read_number(fields, "warnThreshold", {1, kMostThreshold}, mistakes, config.warn_threshold);
  read_number(fields, "maxBatchMessages", {1, kMostBatchMessages}, mistakes,
              config.batch_limits.messages);
  read_number(fields, "maxTasks", {1, kMostTasks}, mistakes, config.max_tasks);
  const YamlNode* templates = fields.take("templates");
  if (is_given(templates)) config.templates = read_agent_templates(*templates, mistakes);
  const YamlNode* bytes = fields.take("maxBatchBytes");
  if (is_given(bytes)) {
    config.batch_limits.bytes =
        yaml_size(*bytes, "maxBatchBytes", {1, kMostBatchBytes}, mistakes).value_or(1);
  }
  fields.warn_of_others();
}

// The other keys of a plugin are the plugin's own.
void read_plugins(const YamlNode& node, Mistakes& mistakes, Config& config) {
  if (node.kind != YamlNode::Kind::kList) {
    return mistakes.add(node.mark, "plugins must be a list; write - name: NAME");
  }
  for (const YamlNode& item : node.items) {
    if (item.kind == YamlNode::Kind::kText) continue;  // a name alone
    YamlFields fields(item, "a plugin", mistakes);
    const YamlNode* name = fields.take("name");
    const YamlNode* priority = fields.take("priority");
    if (!is_given(priority)) continue;
    if (!is_given(name)) {
      mistakes.add(item.mark, "a plugin with a priority has no name; give it one");
      continue;
    }
    const auto text = yaml_text(*name, "name", mistakes);
    const auto value = yaml_integer(*priority, "priority", mistakes);
    if (text && value) config.channels.add(*text, *value);
  }
}

void read_text(YamlFields& fields, std::string_view key, Mistakes& mistakes,
               std::optional<std::string>& to) {
  const YamlNode* at = fields.take(key);
  if (is_given(at)) to = yaml_text(*at, key, mistakes);
}

void read_match(const YamlNode& node, Mistakes& mistakes, Match& match) {
  YamlFields fields(node, "match", mistakes);
  read_text(fields, "channel", mistakes, match.channel);
  read_text(fields, "event", mistakes, match.event);
  read_text(fields, "action", mistakes, match.action);
  read_text(fields, "from", mistakes, match.from);
  fields.warn_of_others();
}

void read_spawn(const YamlNode& node, Mistakes& mistakes, Action& action) {
  action.destination = Destination::kSpawn;
  YamlFields fields(node, "spawn", mistakes);
  if (node.kind != YamlNode::Kind::kMap) return;
  // The documents of Koshi call the template a skill.
  const YamlNode* name = fields.take("template");
  const YamlNode* skill = fields.take("skill");
  if (!is_given(name)) name = skill;
  if (is_given(name)) {
    action.agent_template = yaml_text(*name, "template", mistakes).value_or("");
  } else {
    mistakes.add(node.mark, "spawn has no template; name the agent that is to be started");
  }
  const YamlNode* task = fields.take("task");
  if (is_given(task)) action.task = yaml_text(*task, "task", mistakes).value_or("");
  fields.warn_of_others();
}

void read_action(const YamlNode& node, Mistakes& mistakes, Action& action) {
  YamlFields fields(node, "action", mistakes);
  if (node.kind != YamlNode::Kind::kMap) return;
  const YamlNode* forward = fields.take("forward");
  const YamlNode* spawn = fields.take("spawn");
  const YamlNode* drop = fields.take("drop");
  fields.warn_of_others();
  if (is_given(forward) + is_given(spawn) + is_given(drop) != 1) {
    return mistakes.add(node.mark,
                        "an action is one of forward: main-agent, spawn: {template, task}, "
                        "drop: true; write one of them");
  }
  if (is_given(forward)) {
    (void)yaml_text(*forward, "forward", mistakes);  // there is one main agent, whatever its name
  } else if (is_given(spawn)) {
    read_spawn(*spawn, mistakes, action);
  } else {
    action.destination = Destination::kDrop;
    if (!yaml_flag(*drop, "drop", mistakes).value_or(true)) {
      mistakes.add(drop->mark, "drop is false; write true, or another action");
    }
  }
}

void read_routes(const YamlNode& node, Mistakes& mistakes, Config& config) {
  if (node.kind != YamlNode::Kind::kList) {
    return mistakes.add(node.mark, "routes must be a list; write - match: ... action: ...");
  }
  for (const YamlNode& item : node.items) {
    YamlFields fields(item, "a route", mistakes);
    if (item.kind != YamlNode::Kind::kMap) continue;
    Route route;
    const YamlNode* match = fields.take("match");
    if (is_given(match)) read_match(*match, mistakes, route.match);
    const YamlNode* action = fields.take("action");
    if (is_given(action)) {
      read_action(*action, mistakes, route.action);
    } else {
      mistakes.add(item.mark, "a route has no action; write forward, spawn or drop");
    }
    const YamlNode* priority = fields.take("priority");
    if (is_given(priority)) route.priority = yaml_integer(*priority, "priority", mistakes);
    fields.warn_of_others();
    config.rules.routes.push_back(std::move(route));
  }
}

void read_fallback(const YamlNode& node, Mistakes& mistakes, Config& config) {
  const auto text = yaml_text(node, "defaultRoute", mistakes);
  if (!text) return;
  const auto destination = destination_from(*text);
  if (destination && *destination != Destination::kSpawn) {
    config.rules.fallback = *destination;
  } else {
    mistakes.add(node.mark, fmt::format("defaultRoute is \"{}\"; write main or drop", *text));
  }
}

void read_root(const YamlNode& root, Mistakes& mistakes, Config& config) {
  if (!is_given(&root)) return;
  YamlFields fields(root, "the file", mistakes);
  const YamlNode* buffer = fields.take("buffer");
  if (is_given(buffer)) read_buffer(*buffer, mistakes, config);
  const YamlNode* plugins = fields.take("plugins");
  if (is_given(plugins)) read_plugins(*plugins, mistakes, config);
  const YamlNode* routes = fields.take("routes");
  if (is_given(routes)) read_routes(*routes, mistakes, config);
  const YamlNode* fallback = fields.take("defaultRoute");
  if (is_given(fallback)) read_fallback(*fallback, mistakes, config);
}

}  // namespace

void ChannelPriorities::add(const std::string& plugin, std::int32_t priority) {
  priorities_[plugin] = priority;
  const std::size_t slash = plugin.rfind('/');
  if (slash != std::string::npos) priorities_[plugin.substr(slash + 1)] = priority;
}

std::int32_t ChannelPriorities::of(const std::string& channel) const {
  const auto found = priorities_.find(channel);
  return found == priorities_.end() ? kDefaultPriority : found->second;
}

Result<Config> read_config(const ConfigSource& source) {
  Secrets secrets;
  if (source.secrets_text) {
    auto read = read_secrets(*source.secrets_text, source.secrets_name);
    if (!read) return tl::unexpected(std::move(read.error()));
    secrets = std::move(*read);
  }
  Mistakes mistakes(source.name);
  const Expansion expansion(source.text, source.lookup, secrets, mistakes);
  if (mistakes.any()) return fail(ErrorCode::kInvalid, mistakes.text());
  auto root = yaml::read_yaml(expansion.text());
  if (!root) {
    mistakes.add(expansion.original_mark(root.error().mark), root.error().text);
    return fail(ErrorCode::kInvalid, mistakes.text());
  }
  expansion.restore_marks(*root);
  Config config;
  read_root(*root, mistakes, config);
  if (mistakes.any()) return fail(ErrorCode::kInvalid, mistakes.text());
  config.warnings = mistakes.take_warnings();
  return config;
}

}  // namespace beeline::buffer
