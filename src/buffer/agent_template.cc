#include "src/buffer/agent_template.h"

#include <utility>

#include <fmt/format.h>

#include "src/yaml/fields.h"

namespace beeline::buffer {
namespace {

using yaml::YamlNode;

constexpr std::uint64_t kMostTimeoutSeconds = 7 * 24 * 3600;

void read_command(const YamlNode& node, yaml::Mistakes& mistakes, AgentTemplate& agent) {
  if (node.kind != YamlNode::Kind::kList || node.items.empty()) {
    return mistakes.add(node.mark, "command must be a list; write [PROGRAM, ARGUMENT...]");
  }
  for (const YamlNode& word : node.items) {
    if (auto text = yaml_text(word, "a word of command", mistakes)) {
      agent.command.push_back(std::move(*text));
    }
  }
}

void read_environment(const YamlNode& node, yaml::Mistakes& mistakes, AgentTemplate& agent) {
  const yaml::YamlFields fields(node, "environment", mistakes);
  for (const auto& pair : fields.pairs()) {
    if (auto text = yaml_text(*pair.value, pair.key, mistakes)) {
      agent.environment[pair.key] = std::move(*text);
    }
  }
}

AgentTemplate read_agent_template(const YamlNode& node, const std::string& name,
                                  yaml::Mistakes& mistakes) {
  AgentTemplate agent;
  yaml::YamlFields fields(node, fmt::format("the template {}", name), mistakes);
  if (node.kind != YamlNode::Kind::kMap) return agent;
  if (const YamlNode* at = fields.take("command")) {
    read_command(*at, mistakes, agent);
  } else {
    mistakes.add(node.mark, fmt::format("the template {} has no command; write [PROGRAM, "
                                        "ARGUMENT...]",
                                        name));
  }
  if (const YamlNode* at = fields.take("role")) {
    agent.role = yaml_text(*at, "role", mistakes).value_or("");
  }
  if (const YamlNode* at = fields.take("directory")) {
    agent.directory = yaml_text(*at, "directory", mistakes).value_or("");
  }
  if (const YamlNode* at = fields.take("environment")) read_environment(*at, mistakes, agent);
  if (const YamlNode* at = fields.take("timeoutSeconds")) {
    const auto seconds = yaml_number(*at, "timeoutSeconds", {1, kMostTimeoutSeconds}, mistakes);
    agent.timeout = std::chrono::seconds(seconds.value_or(1));
  }
  fields.refuse_others();
  return agent;
}

}  // namespace

AgentTemplates read_agent_templates(const YamlNode& node, yaml::Mistakes& mistakes) {
  AgentTemplates templates;
  const yaml::YamlFields fields(node, "templates", mistakes);
  for (const auto& pair : fields.pairs()) {
    templates.emplace(pair.key, read_agent_template(*pair.value, pair.key, mistakes));
  }
  return templates;
}

}  // namespace beeline::buffer
