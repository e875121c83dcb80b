// HiveKernel's startup*.json: a list of agents below pid 1.

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/steward/policy.h"
#include "src/steward/start_form.h"

namespace beeline::steward {
namespace {

// The value of a key; null, too, if it is null or the empty text: HiveKernel takes its default
// then.
const YamlNode* given(YamlFields& fields, std::string_view key) {
  const YamlNode* at = fields.take(key);
  if (at == nullptr || at->kind == YamlNode::Kind::kNull) return nullptr;
  return at->kind == YamlNode::Kind::kText && at->text.empty() ? nullptr : at;
}

// The runtime without its prefix, in small letters.
std::string runtime_word(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kPrefix = "runtime_";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return text;
}

void read_runtime(YamlFields& fields, const YamlNode& node, Mistakes& mistakes,
                  SpawnOptions& options) {
  std::string runtime = "python";
  const YamlNode* type = given(fields, "runtime_type");
  if (type != nullptr) {
    const auto text = yaml_text(*type, "runtime_type", mistakes);
    if (!text) return;
    runtime = runtime_word(*text);
  }
  const YamlNode* image = given(fields, "runtime_image");
  if (image == nullptr) {
    return mistakes.add(node.mark,
                        fmt::format("\"{}\" has no runtime_image; write its module:Class, or its "
                                    "program",
                                    options.name));
  }
  const auto text = yaml_text(*image, "runtime_image", mistakes);
  if (!text) return;
  if (runtime == "python") {
    options.command = {"python3", "-m", "beeline.hive.runner", "--agent", *text};
  } else if (runtime == "claw" || runtime == "custom") {
    options.command = {*text};
    mistakes.warn(image->mark, fmt::format("the program {} must attach to the hive by itself, as "
                                           "an agent of Beeline",
                                           *text));
  } else {
    mistakes.add(type->mark,
                 fmt::format("runtime_type is \"{}\"; take one of python, claw, custom", runtime));
  }
}

void read_words(YamlFields& fields, Mistakes& mistakes, SpawnOptions& options) {
  options.role = "daemon";
  if (const YamlNode* at = given(fields, "role")) {
    if (const auto index = yaml_word<std::size_t>(*at, "role", kChildRoleWords, mistakes)) {
      options.role = kChildRoleWords[*index];
    }
  }
  options.tier = to_string(Tier::kOperational);
  if (const YamlNode* at = given(fields, "cognitive_tier")) {
    if (const auto tier = yaml_word<Tier>(*at, "cognitive_tier", kTierWords, mistakes)) {
      options.tier = to_string(*tier);
    }
  }
  if (const YamlNode* at = given(fields, "model")) {
    options.model = yaml_text(*at, "model", mistakes).value_or("");
  }
}

}  // namespace

void read_foreign_agents(const YamlNode& agents, StartDraft& draft) {
  Mistakes& mistakes = draft.mistakes();
  for (const YamlNode& node : agents.items) {
    YamlFields fields(node, "an agent", mistakes);
    if (node.kind != YamlNode::Kind::kMap) continue;
    StartAgent agent;
    const YamlNode* name = given(fields, "name");
    if (name == nullptr) {
      mistakes.add(node.mark, "an agent has no name; give it one");
    } else {
      agent.options.name = yaml_text(*name, "name", mistakes).value_or("");
    }
    read_words(fields, mistakes, agent.options);
    read_runtime(fields, node, mistakes, agent.options);
    fields.warn_of_others();
    if (!agent.options.name.empty()) draft.add(std::move(agent), *name);
  }
}

}  // namespace beeline::steward
