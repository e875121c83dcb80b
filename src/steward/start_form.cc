#include "src/steward/start_form.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/control/names.h"
#include "src/steward/policy.h"

namespace beeline::steward {
namespace {

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kFirst = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view kDigits = "0123456789";
  return !name.empty() && kDigits.find(name.front()) == kDigits.npos &&
         std::ranges::all_of(name, [&](char c) {
           return kFirst.find(c) != kFirst.npos || kDigits.find(c) != kDigits.npos;
         });
}

}  // namespace

std::string StartDraft::expand(const YamlNode& node, const std::string& text) {
  std::string expanded;
  std::size_t at = 0;
  for (;;) {
    const std::size_t found = text.find("${", at);
    expanded.append(text, at, found - at);
    if (found == std::string::npos) return expanded;
    if (found > at && text[found - 1] == '$') {  // it stands for itself, without the first $
      expanded += '{';
      at = found + 2;
      continue;
    }
    const std::size_t end = std::min(text.find('}', found), text.size());
    const std::string name = text.substr(found + 2, end - found - 2);
    at = std::min(end + 1, text.size());
    if (end == text.size() || !is_variable_name(name)) {
      mistakes_.add(node.mark, fmt::format("\"{}\" names no variable; write ${{NAME}}, or $${{ for "
                                           "the text itself",
                                           text.substr(found, end + 1 - found)));
      continue;
    }
    const auto value = source_.lookup ? source_.lookup(name) : std::nullopt;
    if (!value) {
      mistakes_.add(node.mark,
                    fmt::format("the variable {} is not set; set it, or write its value", name));
      continue;
    }
    file_.variables[name] = *value;
    expanded += *value;
  }
}

std::string StartDraft::place(const std::string& directory) const {
  const std::string& base = source_.directory;
  if (directory.empty() || directory == ".") return base.empty() ? directory : base;
  if (directory.front() == '/' || base.empty()) return directory;
  return fmt::format("{}/{}", base, directory);
}

void StartDraft::check_name(const std::string& name, YamlMark mark) {
  if (const auto valid = control::check_agent_name(name); !valid) {
    return mistakes_.add(mark, valid.error().text);
  }
  if (name == "king") return mistakes_.add(mark, "\"king\" is the name of pid 1; take another");
  const auto same = known_.find(name);
  if (same == known_.end()) return;
  mistakes_.add(mark, fmt::format("an agent \"{}\" stands in line {} already; take another name",
                                  name, same->second.line));
}

void StartDraft::check_parent(const StartAgent& agent, const Known& child, YamlMark mark) {
  const std::string& name = agent.options.name;
  const auto found = known_.find(agent.options.parent);
  Known& parent = found == known_.end() ? king_ : found->second;
  const std::string above = agent.options.parent.empty() ? "pid 1" : agent.options.parent;
  if (!may(parent.role, Action::kSpawn)) {
    mistakes_.add(mark, fmt::format("\"{}\" is a child of \"{}\", but the role {} may not have "
                                    "children; give {} another role",
                                    name, above, to_string(parent.role), above));
  }
  if (child.tier < parent.tier) {
    mistakes_.add(mark,
                  fmt::format("the tier {} of \"{}\" exceeds {}, that of {}; lower it, or "
                              "raise that of {}",
                              to_string(child.tier), name, to_string(parent.tier), above, above));
  }
  ++parent.children;
  if (parent.max_children != 0 && parent.children == parent.max_children + 1) {
    mistakes_.add(mark, fmt::format("\"{}\" is child {} of {}, at most {}; {}", name,
                                    parent.children, above, parent.max_children,
                                    found == known_.end() ? "put some below another agent"
                                                          : "raise its limit max_children"));
  }
}

void StartDraft::add(StartAgent agent, const YamlNode& at) {
  SpawnOptions& options = agent.options;
  agent.line = at.mark.line;
  check_name(options.name, at.mark);
  Known known{.line = at.mark.line, .max_children = options.limits.max_children};
  known.role = role_from(options.role).value_or(Role::kWorker);
  const auto found = known_.find(options.parent);
  const Tier above = found == known_.end() ? king_.tier : found->second.tier;
  known.tier = tier_from(options.tier).value_or(default_tier(known.role, above));
  if (known.role == Role::kTask && known.tier == Tier::kStrategic) {
    mistakes_.add(at.mark, fmt::format("\"{}\" is a task of the tier strategic; take tactical or "
                                       "operational",
                                       options.name));
  }
  check_parent(agent, known, at.mark);
  options.tier = to_string(known.tier);
  if (options.model.empty()) options.model = model_of(known.tier);
  if (options.restart.empty()) options.restart = to_string(default_restart(known.role));
  options.directory = place(options.directory);
  known_.emplace(options.name, known);
  file_.agents.push_back(std::move(agent));
}

}  // namespace beeline::steward
