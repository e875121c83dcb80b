#pragma once

// The two forms of a start file, and the checks that both share.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "src/steward/default_limits.h"
#include "src/steward/start_file.h"
#include "src/yaml/fields.h"
#include "src/yaml/mistakes.h"

namespace beeline::steward {

using yaml::Mistakes;
using yaml::YamlFields;
using yaml::YamlMark;
using yaml::YamlNode;
using yaml::YamlRange;

// A start file while it is read.
class StartDraft {
 public:
  StartDraft(const StartFileSource& source, Mistakes& mistakes)
      : source_(source), mistakes_(mistakes) {}

  [[nodiscard]] Mistakes& mistakes() noexcept { return mistakes_; }
  // Replaces each ${NAME}; $${ stands for ${ itself. Notes a variable that is not set.
  [[nodiscard]] std::string expand(const YamlNode& node, const std::string& text);
  // A directory as it is for the steward.
  [[nodiscard]] std::string place(const std::string& directory) const;
  // Completes the agent, checks it against its parent and the agents before it, and keeps it.
  void add(StartAgent agent, const YamlNode& at);
  [[nodiscard]] StartFile& file() noexcept { return file_; }

 private:
  struct Known {
    int line = 0;
    Role role = Role::kKernel;
    Tier tier = Tier::kStrategic;
    std::uint32_t max_children = kKingMaxChildren;
    std::uint32_t children = 0;
  };

  void check_name(const std::string& name, YamlMark mark);
  void check_parent(const StartAgent& agent, const Known& child, YamlMark mark);

  const StartFileSource& source_;
  Mistakes& mistakes_;
  StartFile file_;
  Known king_{};
  std::unordered_map<std::string, Known> known_;
};

// A word of a table; notes any other.
template <typename Enum>
std::optional<Enum> yaml_word(const YamlNode& node, std::string_view what,
                              std::span<const std::string_view> words, Mistakes& mistakes) {
  const auto text = yaml_text(node, what, mistakes);
  if (!text) return std::nullopt;
  if (const auto value = value_of<Enum>(words, *text)) return value;
  mistakes.add(node.mark, fmt::format("{} is \"{}\"; take one of {}", what, *text, listed(words)));
  return std::nullopt;
}

// The map of `agents` with their children.
void read_own_agents(const YamlNode& agents, const std::string& parent, StartDraft& draft);
// The list of `agents` of HiveKernel.
void read_foreign_agents(const YamlNode& agents, StartDraft& draft);

}  // namespace beeline::steward
