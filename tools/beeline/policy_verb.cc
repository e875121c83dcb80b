// policy: the rules by role.

#include "tools/beeline/policy_verb.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "src/steward/policy.h"
#include "tools/beeline/output.h"

namespace beeline::cli {
namespace {

using steward::Action;
using steward::Capability;
using steward::Role;
using steward::Rule;

Json role_json(Role role) {
  Json actions = Json::array();
  for (std::size_t i = 0; i < steward::kActionWords.size(); ++i) {
    if (may(role, static_cast<Action>(i))) actions.push_back(steward::kActionWords[i]);
  }
  Json capabilities = Json::array();
  for (std::size_t i = 0; i < steward::kCapabilityWords.size(); ++i) {
    if (has(role, static_cast<Capability>(i))) {
      capabilities.push_back(steward::kCapabilityWords[i]);
    }
  }
  const auto tier = steward::default_tier(role);
  return {{"role", to_string(role)},
          {"tier", to_string(tier)},
          {"model", steward::model_of(tier)},
          {"restart", to_string(steward::default_restart(role))},
          {"max_children", steward::default_limits(role).max_children},
          {"actions", actions},
          {"capabilities", capabilities}};
}

// A row for each word, a column for each role; `cell` gives its text.
template <typename Words, typename Cell>
std::string matrix(const char* heading, const Words& words, Cell cell) {
  std::vector<std::string> headings = {heading};
  for (const std::string_view role : steward::kRoleWords) headings.emplace_back(role);
  Table table(headings);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::vector<std::string> cells = {std::string(words[i])};
    for (std::size_t role = 0; role < steward::kRoleWords.size(); ++role) {
      cells.emplace_back(cell(static_cast<Role>(role), i));
    }
    table.add(cells);
  }
  return table.text();
}

std::string policy_text() {
  Table defaults({"ROLE", "TIER", "MODEL", "RESTART", ">MAX CHILDREN"});
  for (std::size_t i = 0; i < steward::kRoleWords.size(); ++i) {
    const auto role = static_cast<Role>(i);
    const auto tier = steward::default_tier(role);
    defaults.add({std::string(to_string(role)), std::string(to_string(tier)),
                  std::string(steward::model_of(tier)),
                  std::string(to_string(steward::default_restart(role))),
                  fmt::format("{}", steward::default_limits(role).max_children)});
  }
  return defaults.text() + '\n' +
         matrix("ACTION", steward::kActionWords,
                [](Role role, std::size_t i) {
                  const Rule rule = rule_of(role, static_cast<Action>(i));
                  return rule == Rule::kAllow ? "yes" : rule == Rule::kDeny ? "denied" : "-";
                }) +
         '\n' + matrix("CAPABILITY", steward::kCapabilityWords, [](Role role, std::size_t i) {
           return has(role, static_cast<Capability>(i)) ? "yes" : "-";
         });
}

ExitCode show_policy(const Context& context) {
  if (!context.json) {
    print(policy_text());
    return ExitCode::kOk;
  }
  Json roles = Json::array();
  for (std::size_t i = 0; i < steward::kRoleWords.size(); ++i) {
    roles.push_back(role_json(static_cast<Role>(i)));
  }
  print_json({{"roles", roles}});
  return ExitCode::kOk;
}

}  // namespace

void add_policy_verb(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("policy", "Show the rules of the hive by role");
  verb->footer(
      "Examples:\n"
      "  beeline policy\n"
      "  beeline policy --json | jq -r '.roles[] | select(.role == \"lead\") | .actions[]'\n"
      "Shows the defaults of each role, the actions that it may take, and its capabilities. An\n"
      "action with - has no rule, and is denied as well. The steward checks them when an agent\n"
      "spawns or ends a child. Only pid 1 has the role kernel. A tier by default is never above\n"
      "that of the parent. Needs no hive.");
  verb->callback([&context] { context.exit = show_policy(context); });
}

}  // namespace beeline::cli
