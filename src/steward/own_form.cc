// The start file of Beeline: a map of agents, each with a map of its children.

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/steward/policy.h"
#include "src/steward/start_form.h"

namespace beeline::steward {
namespace {

constexpr std::uint64_t kHourMs = 3'600'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;

void read_command(const YamlNode* node, std::string_view agent, YamlMark mark, StartDraft& draft,
                  std::vector<std::string>& command) {
  Mistakes& mistakes = draft.mistakes();
  if (node == nullptr) {
    return mistakes.add(mark, fmt::format("\"{}\" has no command; write command: [PROGRAM, "
                                          "ARGUMENT]",
                                          agent));
  }
  if (node->kind != YamlNode::Kind::kList || node->items.empty()) {
    return mistakes.add(node->mark, "command is no list of words; write [PROGRAM, ARGUMENT]");
  }
  for (const YamlNode& item : node->items) {
    const auto word = yaml_text(item, "a word of the command", mistakes);
    if (word) command.push_back(draft.expand(item, *word));
  }
  if (!command.empty() && command.front().empty()) {
    mistakes.add(node->mark, "the program of the command is empty; write its name or path");
  }
}

void read_environment(const YamlNode& node, StartDraft& draft, SpawnOptions& options) {
  YamlFields fields(node, "environment", draft.mistakes());
  for (const auto& [key, at, value, is_taken] : fields.pairs()) {
    if (key.empty() || key.find('=') != std::string::npos) {
      draft.mistakes().add(at->mark, fmt::format("\"{}\" is no name of a variable; it must have a "
                                                 "character and no =",
                                                 key));
      continue;
    }
    if (key.starts_with("BEELINE_")) {
      draft.mistakes().add(at->mark,
                           fmt::format("{} is set by the hive for each agent; remove it", key));
      continue;
    }
    // An empty value could be meant as the text that removes the variable.
    if (value->kind == YamlNode::Kind::kNull) {
      draft.mistakes().add(at->mark, fmt::format("{} has no value; write \"\" to remove the "
                                                 "variable",
                                                 key));
      continue;
    }
    const auto text = yaml_text(*value, key, draft.mistakes());
    if (text) options.environment[key] = draft.expand(*value, *text);
  }
}

template <typename T>
void set(std::optional<std::uint64_t> value, T& to) {
  if (value) to = static_cast<T>(*value);
}

void read_limits(const YamlNode& node, Mistakes& mistakes, ChildLimits& limits) {
  YamlFields fields(node, "limits", mistakes);
  const auto size = [&](const char* key, YamlRange range, std::uint64_t& to) {
    if (const YamlNode* at = fields.take(key)) set(yaml_size(*at, key, range, mistakes), to);
  };
  const auto number = [&](const char* key, YamlRange range, auto& to) {
    if (const YamlNode* at = fields.take(key)) set(yaml_number(*at, key, range, mistakes), to);
  };
  size("memory", {1 << 20, kMostBytes}, limits.memory_bytes);
  if (const YamlNode* at = fields.take("cpu")) {
    constexpr std::uint64_t kYear = 365 * 24 * kHourMs;
    if (const auto time = yaml_duration(*at, "cpu", {1'000, kYear}, mistakes)) {
      limits.cpu_seconds = static_cast<std::uint64_t>(time->count()) / 1'000;
    }
  }
  number("open_files", {16, 1 << 20}, limits.open_files);
  number("processes", {1, 1 << 22}, limits.processes);
  number("max_children", {0, 1 << 20}, limits.max_children);
  size("output", {4 << 10, 1 << 30}, limits.output_bytes);
  fields.refuse_others();
}

void read_times(YamlFields& fields, Mistakes& mistakes, SpawnOptions& options) {
  if (const YamlNode* at = fields.take("ready_within")) {
    options.ready_within =
        yaml_duration(*at, "ready_within", {1, kHourMs}, mistakes).value_or(options.ready_within);
  }
  if (const YamlNode* at = fields.take("grace")) {
    options.grace = yaml_duration(*at, "grace", {0, kHourMs}, mistakes).value_or(options.grace);
  }
}

void read_words(YamlFields& fields, StartDraft& draft, SpawnOptions& options) {
  Mistakes& mistakes = draft.mistakes();
  const auto word = [&]<typename Enum>(const char* key, std::span<const std::string_view> words,
                                       std::string& to, Enum /*kind*/) {
    const YamlNode* at = fields.take(key);
    if (at == nullptr) return;
    if (const auto value = yaml_word<Enum>(*at, key, words, mistakes)) to = word_of(words, *value);
  };
  word("role", kChildRoleWords, options.role, std::size_t{});
  word("tier", kTierWords, options.tier, Tier{});
  word("restart", kRestartWords, options.restart, Restart{});
  if (const YamlNode* at = fields.take("model")) {
    options.model = yaml_text(*at, "model", mistakes).value_or("");
  }
  if (const YamlNode* at = fields.take("directory")) {
    if (const auto text = yaml_text(*at, "directory", mistakes)) {
      options.directory = draft.expand(*at, *text);
    }
  }
  if (const YamlNode* at = fields.take("uid")) {
    constexpr std::uint64_t kMostUid = std::numeric_limits<std::uint32_t>::max() - 1;
    if (const auto uid = yaml_number(*at, "uid", {0, kMostUid}, mistakes)) {
      options.uid = static_cast<std::uint32_t>(*uid);
    }
  }
}

void read_agent(const YamlFields::Pair& pair, const std::string& parent, StartDraft& draft) {
  StartAgent agent;
  SpawnOptions& options = agent.options;
  options.name = pair.key;
  options.parent = parent;
  Mistakes& mistakes = draft.mistakes();
  YamlFields fields(*pair.value, fmt::format("\"{}\"", pair.key), mistakes);
  if (pair.value->kind != YamlNode::Kind::kMap) return;
  read_command(fields.take("command"), pair.key, pair.at->mark, draft, options.command);
  read_words(fields, draft, options);
  if (const YamlNode* at = fields.take("environment")) read_environment(*at, draft, options);
  if (const YamlNode* at = fields.take("limits")) read_limits(*at, mistakes, options.limits);
  read_times(fields, mistakes, options);
  const YamlNode* children = fields.take("children");
  fields.refuse_others();
  draft.add(std::move(agent), *pair.at);
  if (children != nullptr) read_own_agents(*children, pair.key, draft);
}

}  // namespace

void read_own_agents(const YamlNode& agents, const std::string& parent, StartDraft& draft) {
  const std::string what = parent.empty() ? "agents" : "children";
  YamlFields fields(agents, what, draft.mistakes());
  for (const YamlFields::Pair& pair : fields.pairs()) read_agent(pair, parent, draft);
}

}  // namespace beeline::steward
