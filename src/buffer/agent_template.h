#pragma once

// The agents that spawn routes name: `buffer.templates` of the configuration.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "src/yaml/mistakes.h"
#include "src/yaml/node.h"

namespace beeline::buffer {

struct AgentTemplate {
  std::vector<std::string> command{};  // a program and its arguments
  std::string role = "task";
  std::string directory{};  // empty: that of the buffer
  std::map<std::string, std::string> environment{};
  std::chrono::seconds timeout{600};  // of a task
};

using AgentTemplates = std::map<std::string, AgentTemplate>;

// The map NAME: {command, role, directory, environment, timeoutSeconds}. Notes unknown keys as
// mistakes, since these keys are ours.
[[nodiscard]] AgentTemplates read_agent_templates(const yaml::YamlNode& node,
                                                  yaml::Mistakes& mistakes);

}  // namespace beeline::buffer
